// An ENIConfig beside what EC2 says of its subnet and groups, so that a mistake shows where it was made.

import type { SecurityGroupId, SubnetId, VpcId } from '../ids.ts';
import type { EniConfig, EniConfigView, SubnetFacts } from './eni-config.ts';

/** What EC2 answered of an object: it is as said, it does not exist, or there is no answer yet. */
export type Ec2Answer<T> =
  | { readonly kind: 'Known'; readonly value: T }
  | { readonly kind: 'Gone' }
  | { readonly kind: 'Unanswered' };

export interface Ec2Answers {
  readonly subnet: (id: SubnetId) => Ec2Answer<SubnetFacts>;
  /** The VPC of a group. */
  readonly groupVpc: (id: SecurityGroupId) => Ec2Answer<VpcId>;
}

/** An ENIConfig object: a well-formed one, or the reason why it is not. */
export interface EniConfigObject {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly spec:
    | { readonly kind: 'Parsed'; readonly eniConfig: EniConfig }
    | { readonly kind: 'Malformed'; readonly message: string; readonly fix: string };
}

export function resolveEniConfig(object: EniConfigObject, ec2: Ec2Answers): EniConfigView {
  const { name, labels, spec } = object;
  if (spec.kind === 'Malformed')
    return { kind: 'Invalid', name, labels, message: spec.message, fix: spec.fix };
  return resolve(spec.eniConfig, ec2);
}

function resolve(eniConfig: EniConfig, ec2: Ec2Answers): EniConfigView {
  const { name, labels, subnetId } = eniConfig;
  const invalid = (message: string, fix: string): EniConfigView => ({
    kind: 'Invalid',
    name,
    labels,
    message,
    fix,
  });
  const unresolved = (what: string): EniConfigView => ({
    kind: 'Unresolved',
    name,
    labels,
    message: `EC2 has not yet answered for ${what} of ENIConfig "${name}"`,
  });
  const subnet = ec2.subnet(subnetId);
  if (subnet.kind === 'Unanswered') return unresolved(`subnet ${subnetId}`);
  if (subnet.kind === 'Gone')
    return invalid(
      `ENIConfig "${name}": spec.subnet ${subnetId} does not exist in this account and Region`,
      `set spec.subnet of ENIConfig "${name}" to an existing subnet`,
    );
  for (const groupId of eniConfig.securityGroupIds) {
    const vpc = ec2.groupVpc(groupId);
    if (vpc.kind === 'Unanswered') return unresolved(`security group ${groupId}`);
    if (vpc.kind === 'Gone')
      return invalid(
        `ENIConfig "${name}": security group ${groupId} does not exist`,
        `remove ${groupId} from spec.securityGroups of ENIConfig "${name}", or name an existing group`,
      );
    if (vpc.value !== subnet.value.vpcId)
      return invalid(
        `ENIConfig "${name}": security group ${groupId} is in ${vpc.value}, its subnet ${subnetId} in ${subnet.value.vpcId}`,
        `use security groups of ${subnet.value.vpcId} in ENIConfig "${name}"`,
      );
  }
  return { kind: 'Valid', eniConfig, subnet: subnet.value };
}
