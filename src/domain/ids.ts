// Typed identifiers. Only the parsers here make them from text, so a value of one of these types is well formed.

import { err, ok, type Result } from './result.ts';

type Branded<Name extends string> = string & { readonly __brand: Name };

export type EniId = Branded<'EniId'>;
export type SubnetId = Branded<'SubnetId'>;
export type SecurityGroupId = Branded<'SecurityGroupId'>;
export type InstanceId = Branded<'InstanceId'>;
export type VpcId = Branded<'VpcId'>;
export type AttachmentId = Branded<'AttachmentId'>;
/** A recorded intent's id: the client token and the tag of the ENI that the intent creates. */
export type IntentId = Branded<'IntentId'>;
export type NodeName = Branded<'NodeName'>;
/** `namespace/name` of a pod. */
export type PodKey = Branded<'PodKey'>;

/** AWS resource ids: a type word, a dash, and 8 (old) or 17 (new) lower-case hex digits. */
function awsId<Id extends string>(prefix: string, what: string): (text: string) => Result<Id, string> {
  const pattern = new RegExp(`^${prefix}-(?:[0-9a-f]{8}|[0-9a-f]{17})$`);
  return (text) =>
    pattern.test(text)
      ? ok(text as Id)
      : err(`"${text}" is not ${what} id: expected ${prefix}- followed by 8 or 17 lower-case hex digits`);
}

export const parseSubnetId: (text: string) => Result<SubnetId, string> = awsId('subnet', 'a subnet');
export const parseSecurityGroupId: (text: string) => Result<SecurityGroupId, string> = awsId(
  'sg',
  'a security group',
);
export const parseInstanceId: (text: string) => Result<InstanceId, string> = awsId('i', 'an instance');
export const parseVpcId: (text: string) => Result<VpcId, string> = awsId('vpc', 'a VPC');

/** A Kubernetes object name: RFC 1123 subdomain, at most 253 characters. */
export function parseNodeName(text: string): Result<NodeName, string> {
  return text.length <= 253 && /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(text)
    ? ok(text as NodeName)
    : err(`"${text}" is not a node name (lower-case letters, digits, "-" and ".")`);
}

export const podKey = (namespace: string, name: string): PodKey => `${namespace}/${name}` as PodKey;

export const intentId = (text: string): IntentId => text as IntentId;
