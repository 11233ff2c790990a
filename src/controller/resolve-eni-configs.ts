// Puts what EC2 says beside each ENIConfig, so that a mistake shows where it was made.

import type { EniConfig, EniConfigView } from '../domain/eniconfig/eni-config.ts';
import type { EniConfigRecord } from '../ports/cluster.ts';
import type { ClusterView } from './cluster-view.ts';
import { type Ec2View, knownValue } from './ec2-view.ts';

/** Every ENIConfig of the cluster by name, with what EC2 says of it. */
export const resolveEniConfigs = (cluster: ClusterView, view: Ec2View): ReadonlyMap<string, EniConfigView> =>
  new Map([...cluster.eniConfigs.values()].map((record) => [record.name, resolveEniConfig(record, view)]));

/** Resolves one ENIConfig against the view. */
export function resolveEniConfig(record: EniConfigRecord, view: Ec2View): EniConfigView {
  if (record.spec.kind === 'Malformed') {
    return {
      kind: 'Invalid',
      name: record.name,
      labels: record.labels,
      message: record.spec.message,
      fix: record.spec.fix,
    };
  }
  return resolve(record.spec.eniConfig, view);
}

function resolve(eniConfig: EniConfig, view: Ec2View): EniConfigView {
  const { name, labels, subnetId } = eniConfig;
  const invalid = (message: string, fix: string): EniConfigView => ({
    kind: 'Invalid',
    name,
    labels,
    message,
    fix,
  });
  if (!view.subnets.has(subnetId)) {
    return {
      kind: 'Unresolved',
      name,
      labels,
      message: `EC2 has not yet answered for subnet ${subnetId} of ENIConfig "${name}"`,
    };
  }
  const subnet = knownValue(view.subnets, subnetId);
  if (subnet === undefined) {
    return invalid(
      `ENIConfig "${name}": spec.subnet ${subnetId} does not exist in this account and Region`,
      `set spec.subnet of ENIConfig "${name}" to an existing subnet`,
    );
  }
  for (const groupId of eniConfig.securityGroupIds) {
    if (!view.groups.has(groupId)) {
      return {
        kind: 'Unresolved',
        name,
        labels,
        message: `EC2 has not yet answered for security group ${groupId} of ENIConfig "${name}"`,
      };
    }
    const group = knownValue(view.groups, groupId);
    if (group === undefined) {
      return invalid(
        `ENIConfig "${name}": security group ${groupId} does not exist`,
        `remove ${groupId} from spec.securityGroups of ENIConfig "${name}", or name an existing group`,
      );
    }
    if (group.vpcId !== subnet.vpcId) {
      return invalid(
        `ENIConfig "${name}": security group ${groupId} is in ${group.vpcId}, its subnet ${subnetId} in ${subnet.vpcId}`,
        `use security groups of ${subnet.vpcId} in ENIConfig "${name}"`,
      );
    }
  }
  return { kind: 'Valid', eniConfig, subnet };
}
