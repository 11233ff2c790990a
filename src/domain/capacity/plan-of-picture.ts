// A cluster as it is, in the form of a plan's file: its subnets, and groups of like nodes.

import { firstAddress } from '../address/cidr.ts';
import { isCidr } from '../address/free-blocks.ts';
import { type Cidr, familyOf, type Ip } from '../address/ip.ts';
import {
  freeBlocksFor,
  isReserved,
  type SubnetReservations,
  unreservedCount,
} from '../address/subnet-reservations.ts';
import type { SubnetFacts } from '../eniconfig/eni-config.ts';
import {
  instanceOf,
  networkOf,
  type Picture,
  type PictureNode,
  podsOn,
  reservationsOf,
  usedOf,
} from '../explain/picture.ts';
import { replaySelection } from '../explain/replay-selection.ts';
import type { Mode } from '../ipam/mode.ts';
import type { InstanceFacts } from '../ipam/node-network.ts';

/** Fields as docs/plan.md names them. */
export interface WrittenPlan {
  readonly subnets: readonly WrittenSubnet[];
  readonly groups: readonly WrittenGroup[];
}

interface WrittenSubnet {
  readonly name: string;
  readonly zone: string;
  readonly cidr: string;
  readonly for: 'pods' | 'nodes';
  /** Outside what is reserved. */
  readonly used: number;
  readonly reservedForPrefixes?: readonly string[];
  readonly reserved?: readonly string[];
  readonly usedBlocks?: number;
}

interface WrittenGroup {
  readonly name: string;
  readonly instanceType: string;
  readonly zones: readonly string[];
  readonly eniConfigs: readonly string[];
  readonly mode: Mode;
  readonly nodes: number;
  readonly podsPerNode: number;
  readonly targets: Readonly<Record<string, number>>;
}

/** Labels that name a node's group, the first that is there. */
const GROUP_LABELS = ['eks.amazonaws.com/nodegroup', 'karpenter.sh/nodepool'] as const;

/** Nodes without a selection are left out: what they would take, nobody knows. */
export function planOfPicture(picture: Picture): WrittenPlan {
  const names = podSubnetNames(picture);
  return {
    subnets: [...podSubnets(picture, names), ...nodeSubnets(picture, names)],
    groups: groupsOf(picture, names),
  };
}

/** subnet -> the name of its ENIConfig; of several, the first by name */
function podSubnetNames(picture: Picture): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const [name, view] of [...picture.index.views].sort(([a], [b]) => (a < b ? -1 : 1)))
    if (view.kind === 'Valid' && !names.has(view.subnet.subnetId)) names.set(view.subnet.subnetId, name);
  return names;
}

function podSubnets(picture: Picture, names: ReadonlyMap<string, string>): readonly WrittenSubnet[] {
  const subnets = picture.index.subnets;
  return [...subnets.values()].flatMap((subnet) => {
    const name = names.get(subnet.subnetId);
    if (name === undefined) return [];
    const ours = picture.networks
      .flatMap(({ spec }) => spec.enis)
      .filter((eni) => !eni.primary && eni.subnetId === subnet.subnetId)
      .flatMap((eni) => [eni.primaryAddress, ...eni.addresses.filter((ip) => familyOf(ip) === 4)]);
    return [
      {
        name,
        zone: subnet.zone,
        cidr: subnet.cidr,
        for: 'pods' as const,
        ...others(picture, subnet, ours),
      },
    ];
  });
}

/** Only where EC2 could be asked: how much of them is free, the cluster does not know. */
function nodeSubnets(picture: Picture, names: ReadonlyMap<string, string>): readonly WrittenSubnet[] {
  const { ec2 } = picture;
  if (typeof ec2 === 'string') return [];
  const instances = instancesOf(picture);
  const homes = new Set(instances.map(({ instance }) => instance.primarySubnetId));
  return [...homes].sort().flatMap((subnetId) => {
    const subnet = ec2.subnets.get(subnetId);
    if (subnet === undefined || names.has(subnetId)) return [];
    const ours = instances
      .filter(({ instance }) => instance.primarySubnetId === subnetId)
      .map(({ instance }) => instance.primaryAddress);
    return [
      {
        name: subnetId,
        zone: subnet.zone,
        cidr: subnet.cidr,
        for: 'nodes' as const,
        ...others(picture, subnet, ours),
      },
    ];
  });
}

/** What others than `ours` have of the subnet, and what is reserved there. */
function others(
  picture: Picture,
  subnet: SubnetFacts,
  ours: readonly Ip[],
): Pick<WrittenSubnet, 'used' | 'reservedForPrefixes' | 'reserved' | 'usedBlocks'> {
  const { cidr, subnetId, freeAddressCount } = subnet;
  const reservations = reservationsOf(picture, subnetId);
  const outside = ours.filter((ip) => !isReserved(ip, reservations)).length;
  const used = Math.max(0, unreservedCount(cidr, reservations) - freeAddressCount - outside);
  const { prefix, explicit } = reservations;
  const usedBlocks = blocksOfOthers(cidr, reservations, { all: usedOf(picture, subnetId) ?? [], ours });
  return {
    used,
    ...(prefix.length === 0 ? {} : { reservedForPrefixes: prefix }),
    ...(explicit.length === 0 ? {} : { reserved: explicit }),
    ...(usedBlocks === 0 ? {} : { usedBlocks }),
  };
}

/** In what is reserved for prefixes. A block of ours is one that holds our addresses. */
function blocksOfOthers(
  subnet: Cidr,
  reservations: SubnetReservations,
  { all, ours }: { readonly all: readonly (Ip | Cidr)[]; readonly ours: readonly Ip[] },
): number {
  if (reservations.prefix.length === 0) return 0;
  const own = new Set<Ip | Cidr>(ours);
  const ofOthers = all.filter((one) => (isCidr(one) ? !own.has(firstAddress(one)) : !own.has(one)));
  return freeBlocksFor(subnet, reservations, []) - freeBlocksFor(subnet, reservations, ofOthers);
}

interface NodeInstance {
  readonly node: PictureNode;
  readonly instance: InstanceFacts;
}

const instancesOf = (picture: Picture): readonly NodeInstance[] =>
  picture.nodes.flatMap((node) => {
    const instance = instanceOf(picture, node);
    return instance === undefined ? [] : [{ node, instance }];
  });

interface Member {
  readonly zone: string;
  readonly eniConfig: string;
  readonly podCount: number;
  readonly mode: Mode;
  readonly targets: Readonly<Record<string, number>>;
}

function groupsOf(picture: Picture, names: ReadonlyMap<string, string>): readonly WrittenGroup[] {
  const members = new Map<string, { instanceType: string; of: Member[] }>();
  for (const { node, instance } of instancesOf(picture)) {
    const member = memberOf(picture, { node, instance }, names);
    if (member === undefined) continue;
    const label = GROUP_LABELS.map((key) => node.labels[key]).find((one) => one !== undefined);
    const key = `${label === undefined ? 'nodes' : plainName(label)}-${instance.instanceType}`;
    const entry = members.get(key) ?? { instanceType: instance.instanceType, of: [] };
    entry.of.push(member);
    members.set(key, entry);
  }
  return [...members]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, { instanceType, of }]) => ({
      name,
      instanceType,
      zones: [...new Set(of.map((one) => one.zone))].sort(),
      eniConfigs: [...new Set(of.map((one) => one.eniConfig))].sort(),
      mode: of[0]?.mode ?? 'SecondaryIP',
      nodes: of.length,
      podsPerNode: Math.max(1, Math.ceil(of.reduce((sum, one) => sum + one.podCount, 0) / of.length)),
      targets: of[0]?.targets ?? {},
    }));
}

const plainName = (label: string): string => label.toLowerCase().replaceAll(/[^a-z0-9.-]/g, '-');

function memberOf(
  picture: Picture,
  { node, instance }: NodeInstance,
  names: ReadonlyMap<string, string>,
): Member | undefined {
  const replayed = replaySelection(picture, node);
  const selection = replayed?.decision.selection ?? networkOf(picture, node.name)?.spec.selection;
  if (selection?.kind !== 'EniConfig') return undefined;
  const eniConfig = names.get(selection.subnetId);
  if (eniConfig === undefined) return undefined;
  const { warmIp, minimumIp, warmEni, warmPrefix } = replayed?.overrides.targets ?? picture.settings.targets;
  const maxEni = replayed?.overrides.maxEni ?? picture.settings.targets.maxEni;
  return {
    zone: instance.zone,
    eniConfig,
    podCount: podsOn(picture, node.name).length,
    mode: networkOf(picture, node.name)?.spec.mode ?? 'SecondaryIP',
    targets: {
      ...(warmIp === undefined ? {} : { WARM_IP_TARGET: warmIp }),
      ...(minimumIp === undefined ? {} : { MINIMUM_IP_TARGET: minimumIp }),
      WARM_ENI_TARGET: warmEni,
      ...(warmPrefix === undefined ? {} : { WARM_PREFIX_TARGET: warmPrefix }),
      ...(maxEni === undefined ? {} : { MAX_ENI: maxEni }),
    },
  };
}
