// What the fabric reads of the simulated EC2: one VPC as it really is, and word of every change.

import { type Cidr, familyOf, type Ip, type IpFamily } from '../../domain/address/ip.ts';
import type { SubnetFacts } from '../../domain/eniconfig/eni-config.ts';
import type { VpcId } from '../../domain/ids.ts';
import type { Subscription } from '../../ports/cluster.ts';
import type { Ec2Eni, Ec2Instance, EniAttachment } from '../../ports/ec2.ts';
import type { SimSecurityGroup } from '../ec2/security-group.ts';

export type SubnetTruth = Pick<SubnetFacts, 'subnetId' | 'zone' | 'cidr' | 'ipv6Cidr'>;

export type InstanceTruth = Pick<
  Ec2Instance,
  'instanceId' | 'instanceType' | 'zone' | 'state' | 'primaryEniId' | 'primaryAddress'
>;

export type AttachmentTruth = Pick<
  EniAttachment,
  'attachmentId' | 'instanceId' | 'deviceIndex' | 'networkCardIndex' | 'status'
>;

export type EniTruth = Pick<
  Ec2Eni,
  | 'eniId'
  | 'mac'
  | 'subnetId'
  | 'securityGroupIds'
  | 'primaryAddress'
  | 'addresses'
  | 'prefixes'
  | 'ipv6Prefixes'
> & { readonly attachment?: AttachmentTruth };

export type SecurityGroupTruth = Pick<SimSecurityGroup, 'securityGroupId' | 'ingress' | 'egress'>;

export interface VpcView {
  readonly vpcId: VpcId;
  /** The VPC's blocks, in the order in which it got them. */
  readonly cidrs: readonly Cidr[];
  readonly subnets: readonly SubnetTruth[];
  readonly securityGroups: readonly SecurityGroupTruth[];
  /** Only `pending` and `running` ones have a network; others may be listed. */
  readonly instances: readonly InstanceTruth[];
  /** Attached or not. */
  readonly enis: readonly EniTruth[];
}

export interface VpcTruth {
  /** Everything as it is now. */
  read(): VpcView;
  /** Calls back after any change, in the same turn or later. */
  onChange(notify: () => void): Subscription;
}

/** Whether the instance's machine is there, and so its network. */
export const isAlive = (instance: InstanceTruth): boolean =>
  instance.state === 'pending' || instance.state === 'running';

/** Every address and block of the family that the ENI holds: what is delivered to it, and what it may send as. */
export const heldBy = (eni: EniTruth, family: IpFamily): readonly (Ip | Cidr)[] =>
  [eni.primaryAddress, ...eni.addresses, ...eni.prefixes, ...eni.ipv6Prefixes].filter(
    (held) => familyOf(held) === family,
  );

/** Whether the VPC has an IPv6 block. */
export const hasIpv6 = ({ cidrs }: Pick<VpcView, 'cidrs'>): boolean =>
  cidrs.some((cidr) => familyOf(cidr) === 6);
