// The small VPC of a seeded run: two zones, tight pod subnets, so that exhaustion and wrong zones really happen.

import { parseCidr } from '../../../domain/address/cidr.ts';
import type { Cidr } from '../../../domain/address/ip.ts';
import type { SecurityGroupId, SubnetId, VpcId } from '../../../domain/ids.ts';
import type { InstanceLimits } from '../../../domain/instance/instance-limits.ts';
import type { Mode } from '../../../domain/ipam/mode.ts';
import { assert, type Result } from '../../../domain/result.ts';
import type { SimCluster } from '../../cluster/sim-cluster.ts';
import type { SimEc2 } from '../../ec2/sim-ec2.ts';
import { makeStrangers, type Strangers } from './sim-mistakes.ts';

export const ZONES = ['z-a', 'z-b'] as const;
export type Zone = (typeof ZONES)[number];

export interface PodSubnet {
  readonly zone: Zone;
  readonly subnetId: SubnetId;
  /** ENIConfig that names it at the start. */
  readonly eniConfig: string;
}

/** What a subnet is of. */
export interface SubnetPlace {
  readonly zone: string;
  readonly vpcId: VpcId;
}

export interface SimVpcPlan {
  readonly vpcId: VpcId;
  readonly nodeSubnets: ReadonlyMap<Zone, SubnetId>;
  readonly podSubnets: readonly PodSubnet[];
  readonly nodesGroup: SecurityGroupId;
  /** What the first ENIConfigs name. */
  readonly podsGroup: SecurityGroupId;
  /** What later ones may name, too. */
  readonly otherPodsGroup: SecurityGroupId;
  /** All subnets that there are. */
  readonly subnets: ReadonlyMap<SubnetId, SubnetPlace>;
  /** All groups that there are at the start, and their VPCs. */
  readonly groups: ReadonlyMap<SecurityGroupId, VpcId>;
  /** Where people make mistakes. */
  readonly strangers?: Strangers;
}

const VPC = 'vpc-00000000' as VpcId;
const NODES_GROUP = 'sg-0000000a' as SecurityGroupId;
const PODS_GROUP = 'sg-0000000b' as SecurityGroupId;
const OTHER_PODS_GROUP = 'sg-0000000c' as SecurityGroupId;
export const INSTANCE_TYPE = 'm5.large';

const LIMITS: InstanceLimits = {
  instanceType: INSTANCE_TYPE,
  eniMax: 3,
  ipv4PerEniMax: 10,
  ipv6PerEniMax: 10,
  networkCardCount: 1,
  hypervisor: 'nitro',
  vcpuCount: 2,
};

function must<T, E>(result: Result<T, E>): T {
  assert(result.ok, result.ok ? '' : `the lab's VPC cannot be made: ${JSON.stringify(result.error)}`);
  return result.value;
}

/** Name, digit of the id, prefix length: with room for a few blocks, not for all that are asked for. */
const POD_SUBNETS = {
  SecondaryIP: [
    ['', 1, 26],
    ['-extra', 2, 27],
  ],
  Prefix: [
    ['', 1, 25],
    ['-extra', 2, 26],
  ],
} as const;

const cidr = (text: string): Cidr => must(parseCidr(text));

const IPV6_BLOCK = '2600:1f14:0:ab00::/56';
const OTHER_BLOCKS_FROM = 50;

/** The /64 that a subnet has at first, or another one that is its alone. */
export const ipv6BlockOf = (subnetId: SubnetId, other = false): Cidr => {
  const number = Number(subnetId.slice(-2)) + (other ? OTHER_BLOCKS_FROM : 0);
  return cidr(`2600:1f14:0:ab${String(number).padStart(2, '0')}::/64`);
};

export interface VpcWish {
  readonly mode: Mode;
  /** There is a second VPC, and there are groups to get wrong. */
  readonly withStrangers: boolean;
  readonly hasIpv6Block: (subnetId: SubnetId) => boolean;
}

const PLAIN: VpcWish = { mode: 'SecondaryIP', withStrangers: false, hasIpv6Block: () => true };

/** Makes VPC, subnets and groups in EC2, and the ENIConfigs in the cluster: per zone one of its name and one more. */
export function makeSimVpc(
  ec2: SimEc2,
  cluster: SimCluster,
  { mode, withStrangers, hasIpv6Block }: VpcWish = PLAIN,
): SimVpcPlan {
  const { admin } = ec2;
  const blocks = (subnetId: SubnetId, block: string) => ({
    subnetId,
    cidr: cidr(block),
    ...(hasIpv6Block(subnetId) ? { ipv6Cidr: ipv6BlockOf(subnetId) } : {}),
  });
  admin.setInstanceLimits([LIMITS]);
  must(admin.createVpc({ vpcId: VPC, cidrs: ['10.0.0.0/16', IPV6_BLOCK].map(cidr) }));
  must(admin.createSecurityGroup({ vpcId: VPC, name: 'nodes', securityGroupId: NODES_GROUP }));
  must(admin.createSecurityGroup({ vpcId: VPC, name: 'pods', securityGroupId: PODS_GROUP }));
  must(admin.createSecurityGroup({ vpcId: VPC, name: 'others', securityGroupId: OTHER_PODS_GROUP }));
  const nodeSubnets = new Map<Zone, SubnetId>();
  const podSubnets: PodSubnet[] = [];
  ZONES.forEach((zone, n) => {
    const nodeSubnet = `subnet-0000000${n}` as SubnetId;
    must(admin.createSubnet({ vpcId: VPC, zone, ...blocks(nodeSubnet, `10.0.${n}.0/24`) }));
    nodeSubnets.set(zone, nodeSubnet);
    for (const [kind, digit, size] of POD_SUBNETS[mode]) {
      const subnetId = `subnet-000000${digit}${n}` as SubnetId;
      const number = 10 * digit + n;
      must(admin.createSubnet({ vpcId: VPC, zone, ...blocks(subnetId, `10.0.${number}.0/${size}`) }));
      podSubnets.push({ zone, subnetId, eniConfig: `${zone}${kind}` });
    }
  });
  const strangers = withStrangers ? makeStrangers(admin, { vpcId: VPC, zones: ZONES }, cidr) : undefined;
  const plan: SimVpcPlan = {
    vpcId: VPC,
    ...inventoryOf({ nodeSubnets, podSubnets }, strangers),
    ...(strangers === undefined ? {} : { strangers }),
    nodeSubnets,
    podSubnets,
    nodesGroup: NODES_GROUP,
    podsGroup: PODS_GROUP,
    otherPodsGroup: OTHER_PODS_GROUP,
  };
  for (const subnet of podSubnets) applyEniConfig(cluster, plan, subnet);
  return plan;
}

/** All subnets and groups of the account. */
function inventoryOf(
  { nodeSubnets, podSubnets }: Pick<SimVpcPlan, 'nodeSubnets' | 'podSubnets'>,
  strangers: Strangers | undefined,
): Pick<SimVpcPlan, 'subnets' | 'groups'> {
  const own = [...podSubnets, ...[...nodeSubnets].map(([zone, subnetId]) => ({ zone, subnetId }))];
  const others = strangers?.subnets ?? [];
  const subnets = new Map([
    ...own.map(({ subnetId, zone }) => [subnetId, { zone, vpcId: VPC }] as const),
    ...others.map(({ subnetId, zone }) => [subnetId, { zone, vpcId: strangers?.vpcId ?? VPC }] as const),
  ]);
  const groups = new Map([NODES_GROUP, PODS_GROUP, OTHER_PODS_GROUP].map((id) => [id, VPC]));
  if (strangers === undefined) return { subnets, groups };
  for (const id of [strangers.passingGroupId, ...strangers.moreGroupIds]) groups.set(id, VPC);
  groups.set(strangers.groupId, strangers.vpcId);
  return { subnets, groups };
}

/** Creates the ENIConfig of a pod subnet as it is at the start. */
export function applyEniConfig(cluster: SimCluster, plan: SimVpcPlan, subnet: PodSubnet): void {
  const { eniConfig: name, subnetId } = subnet;
  const securityGroupIds = [plan.podsGroup];
  cluster.admin.applyEniConfig({
    name,
    spec: { kind: 'Parsed', eniConfig: { name, labels: {}, subnetId, securityGroupIds } },
  });
}
