// The node that selection decides for.

import type { Ip } from '../address/ip.ts';
import type { NodeName, SecurityGroupId, SubnetId, VpcId } from '../ids.ts';

/** A node with its EC2 facts. The zone is EC2's, so a node without a zone label has one too. */
export interface SelectionNode {
  readonly name: NodeName;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly zone: string;
  readonly vpcId: VpcId;
  readonly instanceType: string;
  /** Of the primary ENI, IPv4. */
  readonly primaryAddress: Ip;
  readonly primarySubnetId: SubnetId;
  readonly primarySecurityGroupIds: readonly SecurityGroupId[];
}
