// Puts what EC2 says beside each ENIConfig, so that a mistake shows where it was made.

import type { EniConfig, EniConfigView } from '../domain/eniconfig/eni-config.ts';
import type { EniConfigRecord } from '../ports/cluster.ts';
import { type Ec2View, knownValue } from './ec2-view.ts';

/** Resolves one ENIConfig against the view. */
export function resolveEniConfig(record: EniConfigRecord, view: Ec2View): EniConfigView {
  if (record.spec.kind === 'Malformed') {
    return { kind: 'Invalid', name: record.name, message: record.spec.message, fix: record.spec.fix };
  }
  return resolve(record.spec.eniConfig, view);
}

function resolve(eniConfig: EniConfig, view: Ec2View): EniConfigView {
  const { name, subnetId } = eniConfig;
  const invalid = (message: string, fix: string): EniConfigView => ({ kind: 'Invalid', name, message, fix });
  if (!view.subnets.has(subnetId)) {
    return {
      kind: 'Unresolved',
      name,
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
