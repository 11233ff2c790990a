// Security groups as the simulated EC2 keeps them: what may come in and go out.

import type { Cidr } from '../../domain/address/ip.ts';
import type { SecurityGroupId, VpcId } from '../../domain/ids.ts';

export interface GroupRule {
  readonly protocol: 'all' | 'tcp' | 'udp' | 'icmp' | 'icmpv6';
  /** Both ends included; all ports when absent. Of tcp and udp only. */
  readonly ports?: { readonly from: number; readonly to: number };
  /** Where traffic comes from (ingress) or goes to (egress). */
  readonly peer:
    | { readonly kind: 'Cidr'; readonly cidr: Cidr }
    /** Every ENI that has this group. */
    | { readonly kind: 'Group'; readonly securityGroupId: SecurityGroupId };
}

export interface SimSecurityGroup {
  readonly securityGroupId: SecurityGroupId;
  readonly vpcId: VpcId;
  readonly name: string;
  readonly ingress: readonly GroupRule[];
  readonly egress: readonly GroupRule[];
}

/** What AWS gives every new group of a VPC with IPv6: everything may go out. Without IPv6 the second says nothing. */
export const EGRESS_ALL: readonly GroupRule[] = [
  { protocol: 'all', peer: { kind: 'Cidr', cidr: '0.0.0.0/0' as Cidr } },
  { protocol: 'all', peer: { kind: 'Cidr', cidr: '::/0' as Cidr } },
];

/** Groups per ENI, AWS's default quota. https://docs.aws.amazon.com/vpc/latest/userguide/amazon-vpc-limits.html */
export const GROUPS_PER_ENI_MAX = 5;
