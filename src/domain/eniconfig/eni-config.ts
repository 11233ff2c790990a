// An ENIConfig as the decisions see it: what the person wrote, and what EC2 says of it.

import type { Cidr } from '../address/ip.ts';
import type { SecurityGroupId, SubnetId, VpcId } from '../ids.ts';

export interface EniConfig {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly subnetId: SubnetId;
  /** Empty means: the groups of the node's primary ENI. */
  readonly securityGroupIds: readonly SecurityGroupId[];
}

/** What EC2 says about a subnet. */
export interface SubnetFacts {
  readonly subnetId: SubnetId;
  readonly vpcId: VpcId;
  readonly zone: string;
  readonly cidr: Cidr;
  /** Its IPv6 block, a /64; absent when it has none. */
  readonly ipv6Cidr?: Cidr;
  readonly freeAddressCount: number;
}

/** An ENIConfig that can be used, or why it cannot; `message` names the field and the value, `fix` says what to do. */
export type EniConfigView =
  | { readonly kind: 'Valid'; readonly eniConfig: EniConfig; readonly subnet: SubnetFacts }
  | {
      readonly kind: 'Invalid';
      readonly name: string;
      readonly labels: Readonly<Record<string, string>>;
      readonly message: string;
      readonly fix: string;
    }
  /** EC2 has not answered yet, so nothing is known: wait, never choose another. */
  | {
      readonly kind: 'Unresolved';
      readonly name: string;
      readonly labels: Readonly<Record<string, string>>;
      readonly message: string;
    };

/** The object's labels, by which selectors find it, whether or not it can be used. */
export const labelsOf = (view: EniConfigView): Readonly<Record<string, string>> =>
  view.kind === 'Valid' ? view.eniConfig.labels : view.labels;

/** An ENIConfig's status, as the controller keeps it. */
export interface EniConfigStatus {
  readonly ready: boolean;
  readonly message: string;
  readonly zone?: string;
  readonly cidr?: string;
  readonly ipv6Cidr?: string;
  readonly freeAddressCount?: number;
}
