// What pods with IPv6 need of a subnet and an instance: where it is missing, nothing is chosen rather than half of it.

import type { AddressFamily } from '../address/families.ts';
import type { InstanceLimits } from '../instance/instance-limits.ts';
import { hasPrefixes } from '../instance/slots.ts';
import type { EniConfigView, SubnetFacts } from './eni-config.ts';
import type { Selection } from './selection.ts';
import { none } from './selection-problem.ts';

type Views = ReadonlyMap<string, EniConfigView>;

/** The ENIConfigs as nodes see them whose pods get the families: one whose subnet lacks IPv6 cannot be used where it is wanted. */
export function viewsForFamilies(views: Views, families: readonly AddressFamily[]): Views {
  if (!families.includes('IPv6')) return views;
  return new Map([...views].map(([name, view]) => [name, withIpv6(view)]));
}

function withIpv6(view: EniConfigView): EniConfigView {
  if (view.kind !== 'Valid' || view.subnet.ipv6Cidr !== undefined) return view;
  const { name, labels, subnetId } = view.eniConfig;
  return {
    kind: 'Invalid',
    name,
    labels,
    message: `ENIConfig "${name}": its subnet ${subnetId} has no IPv6 block, and pods of the node are to get IPv6 addresses`,
    fix: associate(view.subnet),
  };
}

const associate = ({ subnetId, vpcId }: SubnetFacts): string =>
  `give the subnet a /64 of the IPv6 block of ${vpcId}: aws ec2 associate-subnet-cidr-block --subnet-id ${subnetId} --ipv6-cidr-block BLOCK; or take IPv6 out of spec.addressFamilies of the node's NodeNetworkClass (ENABLE_IPv6 of the cluster)`;

export interface FamilyNeeds {
  readonly families: readonly AddressFamily[];
  readonly limits: InstanceLimits;
  /** The node's own subnet, as far as EC2 has told. */
  readonly nodeSubnet: SubnetFacts | undefined;
}

/** The selection, unless the instance, or the node's own subnet where pods get that, cannot have IPv6 and is to. */
export function checkedForFamilies(
  selection: Selection,
  { families, limits, nodeSubnet }: FamilyNeeds,
): Selection {
  if (selection.kind === 'None' || !families.includes('IPv6')) return selection;
  const { source, reason } = selection;
  if (!hasPrefixes(limits) || limits.ipv6PerEniMax === 0)
    return none(source, 'InstanceWithoutIpv6', {
      reason,
      message: `pods of the node are to get IPv6 addresses, and instance type ${limits.instanceType} has no IPv6 prefixes: it is not built on Nitro`,
      fix: "use a Nitro instance type, or take IPv6 out of spec.addressFamilies of the node's NodeNetworkClass (ENABLE_IPv6 of the cluster)",
    });
  if (selection.kind === 'EniConfig' || nodeSubnet === undefined || nodeSubnet.ipv6Cidr !== undefined)
    return selection;
  return none(source, 'SubnetWithoutIpv6', {
    reason,
    message: `pods of the node are to get IPv6 addresses, and the node's own subnet ${nodeSubnet.subnetId}, which they get, has no IPv6 block`,
    fix: associate(nodeSubnet),
  });
}
