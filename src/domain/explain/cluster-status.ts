// A cluster at a glance: nodes, subnets, and what waits and why.

import type { AddressFamily } from '../address/families.ts';
import { usableAddressCount } from '../address/subnet.ts';
import {
  freeBlocksFor,
  reservedBlocks,
  type SubnetReservations,
  unreservedCount,
} from '../address/subnet-reservations.ts';
import type { Cidr } from '../address/ip.ts';
import type { SubnetFacts } from '../eniconfig/eni-config.ts';
import type { Mode } from '../ipam/mode.ts';
import { choiceText, explainNode } from './explain-node.ts';
import { networkOf, type Picture, podsOn, reservationsOf, usedOf } from './picture.ts';

export interface NodeStatus {
  readonly name: string;
  readonly zone: string;
  readonly instanceType: string;
  /** What the node uses, by which rule. */
  readonly uses: string;
  readonly source: string;
  /** As published, like the families: absent until the controller has. */
  readonly mode?: Mode;
  readonly addressFamilies?: readonly AddressFamily[];
  readonly eniCount: number;
  readonly podCount: number;
  readonly usedCount: number;
  readonly heldCount: number;
  readonly maxPods: number | undefined;
  readonly waiting: readonly string[];
  /** The first thing that is missing, in a sentence. */
  readonly problem: string | undefined;
}

export interface SubnetStatus {
  readonly subnetId: string;
  readonly eniConfigs: readonly string[];
  readonly zone: string;
  readonly cidr: Cidr;
  readonly usableCount: number;
  /** Of the usable ones, those that single addresses are taken of: what no subnet CIDR reservation keeps. */
  readonly unreservedCount: number;
  /** Outside reservations, as EC2 counts. */
  readonly freeCount: number;
  /** Absent without any. */
  readonly reservations?: SubnetReservations;
  /** Whole blocks of 16 in what is reserved for prefixes; absent where nothing is, or where nobody knows. */
  readonly freeBlockCount?: number;
  /** Pods with an address of it. */
  readonly podCount: number;
  /** On an ENI of ours, and no pod's. */
  readonly idleCount: number;
}

export interface ClusterStatus {
  readonly nodes: readonly NodeStatus[];
  readonly subnets: readonly SubnetStatus[];
  /** What nodes and pods wait for; a problem of several nodes is told once. */
  readonly problems: readonly {
    readonly what: string;
    readonly nodes: readonly string[];
    readonly podCount: number;
  }[];
}

export function clusterStatus(picture: Picture): ClusterStatus {
  const nodes = picture.nodes
    .map((node) => nodeStatus(picture, node.name))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  return { nodes, subnets: subnetStatuses(picture), problems: problemsOf(nodes) };
}

function nodeStatus(picture: Picture, name: string): NodeStatus {
  const found = explainNode(picture, name);
  const network = networkOf(picture, name);
  const selection = found.selection ?? found.published;
  return {
    name,
    zone: found.zone ?? '',
    instanceType: found.instanceType ?? '',
    uses: selection === undefined ? '' : choiceText(selection),
    source: selection?.source ?? '',
    ...(network === undefined
      ? {}
      : { mode: network.spec.mode, addressFamilies: network.spec.addressFamilies }),
    eniCount: network?.spec.enis.filter((eni) => !eni.primary).length ?? 0,
    podCount: podsOn(picture, name).length,
    usedCount: found.addresses?.usedCount ?? 0,
    heldCount: found.addresses?.heldCount ?? 0,
    maxPods: found.addresses?.maxPods,
    waiting: found.addresses?.waiting ?? podsOn(picture, name).map((pod) => pod.key),
    problem: found.missing[0],
  };
}

function subnetStatuses(picture: Picture): readonly SubnetStatus[] {
  const byId = new Map<string, SubnetStatus>();
  for (const view of picture.index.views.values()) {
    if (view.kind !== 'Valid') continue;
    const { subnet, eniConfig } = view;
    const before = byId.get(subnet.subnetId);
    const enis = picture.networks.flatMap(({ spec, status }) =>
      spec.enis
        .filter((eni) => !eni.primary && eni.subnetId === subnet.subnetId)
        .map((eni) => ({ eni, status })),
    );
    const podCount = enis.reduce(
      (sum, { eni, status }) => sum + status.used.filter(({ ip }) => eni.addresses.includes(ip)).length,
      0,
    );
    byId.set(subnet.subnetId, {
      subnetId: subnet.subnetId,
      eniConfigs: [...(before?.eniConfigs ?? []), eniConfig.name].sort(),
      zone: subnet.zone,
      cidr: subnet.cidr,
      usableCount: usableAddressCount(subnet.cidr),
      freeCount: subnet.freeAddressCount,
      ...reservedIn(picture, subnet),
      podCount,
      idleCount: enis.reduce((sum, { eni }) => sum + eni.addresses.length, 0) - podCount,
    });
  }
  return [...byId.values()].sort((a, b) => (`${a.zone} ${a.subnetId}` < `${b.zone} ${b.subnetId}` ? -1 : 1));
}

function reservedIn(
  picture: Picture,
  { subnetId, cidr }: SubnetFacts,
): Pick<SubnetStatus, 'unreservedCount' | 'reservations' | 'freeBlockCount'> {
  const reservations = reservationsOf(picture, subnetId);
  const used = usedOf(picture, subnetId);
  return {
    unreservedCount: unreservedCount(cidr, reservations),
    ...(reservedBlocks(reservations).length === 0 ? {} : { reservations }),
    ...(reservations.prefix.length === 0 || used === undefined
      ? {}
      : { freeBlockCount: freeBlocksFor(cidr, reservations, used) }),
  };
}

function problemsOf(nodes: readonly NodeStatus[]): ClusterStatus['problems'] {
  const byText = new Map<string, { nodes: string[]; podCount: number }>();
  for (const { name, problem, waiting } of nodes) {
    if (problem === undefined) continue;
    const entry = byText.get(problem) ?? { nodes: [], podCount: 0 };
    entry.nodes.push(name);
    entry.podCount += waiting.length;
    byText.set(problem, entry);
  }
  return [...byText].map(([what, entry]) => ({ what, ...entry }));
}
