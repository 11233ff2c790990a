// Nodes added one by one until every subnet of pods is full: who gets which subnet, and when which one is full.

import { rendezvousChoice } from '../eniconfig/rendezvous-hash.ts';
import { ADDRESSES_PER_PREFIX } from '../instance/slots.ts';
import {
  type CapacityModel,
  type NodeHolding,
  type PlannedGroup,
  type PlannedSubnet,
  subnetUse,
} from './model.ts';
import { podsOnNode, settleNode } from './settle-node.ts';
import { emptyRoom, ENDLESS, type SubnetRoom, takeAddresses, takeBlocks } from './subnet-room.ts';

export interface SubnetState {
  readonly subnet: PlannedSubnet;
  /** Outside subnet CIDR reservations, as the next: what is reserved, `freeBlockCount` tells of. */
  readonly usableCount: number;
  /** By others, by nodes' and pods' ENIs, by pods and by warm pools. */
  readonly usedCount: number;
  readonly nodeCount: number;
  readonly podCount: number;
  readonly eniCount: number;
  /** Held by warm pools: on an ENI, and no pod's. */
  readonly idleCount: number;
  /** Whole blocks of 16. */
  readonly freeBlockCount: number;
}

/** A node that could not be served as its group asks: the moment at which a subnet is full. */
export interface FullSubnet {
  readonly subnet: string;
  readonly zone: string;
  /** Nodes and pods of the whole cluster that were served before. */
  readonly nodeCount: number;
  readonly podCount: number;
}

/** The cluster after some nodes; `subnets` in the model's order. */
export interface GrowthStep {
  readonly nodeCount: number;
  readonly podCount: number;
  readonly usedCounts: readonly number[];
}

export interface Forecast {
  readonly present: readonly SubnetState[];
  /** Addresses that the present nodes want beyond what their subnets have, by subnet. */
  readonly short: ReadonlyMap<string, number>;
  readonly wantedCount: number;
  readonly steps: readonly GrowthStep[];
  readonly full: readonly FullSubnet[];
  /** Nodes and pods that there can be, each zone filled to its own end. */
  readonly nodeMax: number;
  readonly podMax: number;
  /** Growth was followed no further. */
  readonly isCut: boolean;
}

/** The end of growth that has no end: a cluster of more nodes is planned in parts. */
const NODES_MAX = 5_000;
/** Under Hash a node may fall to a full subnet while its sibling has room; so many in a row mean that none has. */
const IDLE_TURNS_MAX = 32;

interface World {
  readonly states: Map<string, SubnetState>;
  readonly full: Map<string, FullSubnet>;
  readonly short: Map<string, number>;
  nodeCount: number;
  podCount: number;
  wantedCount: number;
}

/** Pure: the same model gives the same forecast. */
export function forecast(model: CapacityModel): Forecast {
  const world: World = {
    states: new Map(model.subnets.map((subnet) => [subnet.name, emptyState(subnet)])),
    full: new Map(),
    short: new Map(),
    nodeCount: 0,
    podCount: 0,
    wantedCount: 0,
  };
  const wanted = new Map(model.groups.map((group) => [group.name, wantedBy(group)]));
  for (const group of model.groups)
    for (let n = 0; n < group.nodeCount; n += 1) placeNode(world, { group, n, wanted });
  const present = [...world.states.values()];
  const { wantedCount } = world;
  const steps: GrowthStep[] = [stepOf(world)];
  const isCut = growOn(world, model, wanted, steps);
  return {
    present,
    short: world.short,
    wantedCount,
    steps,
    full: [...world.full.values()],
    nodeMax: world.nodeCount,
    podMax: world.podCount,
    isCut,
  };
}

/** Groups take turns, and each its zones, so that the cluster grows as it is made. Answers whether growth was cut off. */
function growOn(
  world: World,
  model: CapacityModel,
  wanted: ReadonlyMap<string, NodeHolding>,
  steps: GrowthStep[],
): boolean {
  let idleTurns = 0;
  for (let turn = 0; idleTurns < IDLE_TURNS_MAX; turn += 1) {
    if (world.nodeCount >= NODES_MAX) return true;
    const before = world.nodeCount;
    for (const group of model.groups)
      for (const [index, zone] of group.zones.entries()) {
        const n = group.nodeCount + turn * group.zones.length + index;
        if (isZoneFull(world, group, zone)) continue;
        if (placeNode(world, { group, n, wanted, zone })) steps.push(stepOf(world));
      }
    idleTurns = world.nodeCount === before ? idleTurns + 1 : 0;
  }
  return false;
}

function emptyState(subnet: PlannedSubnet): SubnetState {
  const { cidr, reservations, otherCount, otherBlockCount = 0 } = subnet;
  const empty = emptyRoom(cidr, reservations);
  const room = takeAddresses(empty, otherCount);
  return {
    subnet,
    usableCount: empty.freeAddressCount,
    usedCount: otherCount,
    nodeCount: 0,
    podCount: 0,
    eniCount: 0,
    idleCount: 0,
    freeBlockCount: Math.max(0, room.freeBlockCount - otherBlockCount),
  };
}

const stepOf = ({ states, nodeCount, podCount }: World): GrowthStep => ({
  nodeCount,
  podCount,
  usedCounts: [...states.values()].map((one) => one.usedCount),
});

const wantedBy = (group: PlannedGroup): NodeHolding =>
  settleNode({ group, podCount: podsOnNode(group), room: ENDLESS });

export const freeIn = ({ usableCount, usedCount }: SubnetState): number =>
  Math.max(0, usableCount - usedCount);

const roomIn = (state: SubnetState): SubnetRoom => ({
  freeAddressCount: freeIn(state),
  freeBlockCount: state.freeBlockCount,
  ...(hasBlocksApart(state) ? { isApart: true } : {}),
});

/** EC2 takes prefixes of nothing else, then. */
export const hasBlocksApart = ({ subnet }: SubnetState): boolean =>
  (subnet.reservations?.prefix ?? []).length > 0;

/** Without blocks that are reserved for prefixes. */
const takenBy = (state: SubnetState, holding: NodeHolding): number =>
  subnetUse(holding) - (hasBlocksApart(state) ? holding.prefixCount * ADDRESSES_PER_PREFIX : 0);

/** ENIs' own addresses, single addresses, and blocks. */
const afterHolding = (
  room: SubnetRoom,
  { eniCount, podAddressCount, prefixCount }: NodeHolding,
): SubnetRoom =>
  takeBlocks(
    takeAddresses(room, eniCount + podAddressCount - prefixCount * ADDRESSES_PER_PREFIX),
    prefixCount,
  );

function hasRoomFor(state: SubnetState, holding: NodeHolding): boolean {
  const after = afterHolding(roomIn(state), holding);
  return after.freeAddressCount >= 0 && after.freeBlockCount >= 0;
}

function candidates(world: World, group: PlannedGroup, zone: string): readonly SubnetState[] {
  const inZone = [...world.states.values()].filter(
    ({ subnet }) => subnet.for === 'pods' && subnet.zone === zone,
  );
  if (group.eniConfigs.length === 0) return inZone;
  return group.eniConfigs.flatMap((name) => inZone.filter(({ subnet }) => subnet.name === name));
}

const isZoneFull = (world: World, group: PlannedGroup, zone: string): boolean =>
  candidates(world, group, zone).every(({ subnet }) => world.full.has(subnet.name));

interface Placing {
  readonly group: PlannedGroup;
  /** The node's number in its group. */
  readonly n: number;
  readonly wanted: ReadonlyMap<string, NodeHolding>;
  /** By the node's number when absent. */
  readonly zone?: string;
}

/** Whether the node was served in full. One that was not still counts when it is one of the present nodes. */
function placeNode(world: World, { group, n, wanted, zone: given }: Placing): boolean {
  const isGrowth = given !== undefined;
  const zone = given ?? group.zones[n % Math.max(1, group.zones.length)] ?? '';
  const want = wanted.get(group.name);
  const state = choose(world, group, { zone, n });
  if (want === undefined) return false;
  if (!isGrowth) world.wantedCount += subnetUse(want);
  if (state === undefined) return false;
  const holding =
    hasRoomFor(state, want) && want.blocked === undefined
      ? want
      : settleNode({ group, podCount: podsOnNode(group), room: roomIn(state) });
  const hasAll = podsOnNode(group) > 0 ? holding.podCount >= podsOnNode(group) : holding === want;
  const isServed = hasAll && takeNodeAddress(world, zone, isGrowth);
  if (!isServed) noteFull(world, state);
  if (isGrowth && !isServed) return false;
  const missing = subnetUse(want) - subnetUse(holding);
  if (missing > 0 && !isGrowth)
    world.short.set(state.subnet.name, (world.short.get(state.subnet.name) ?? 0) + missing);
  world.states.set(state.subnet.name, {
    ...state,
    usedCount: state.usedCount + takenBy(state, holding),
    nodeCount: state.nodeCount + 1,
    podCount: state.podCount + holding.podCount,
    eniCount: state.eniCount + holding.eniCount,
    idleCount: state.idleCount + holding.podAddressCount - holding.podCount,
    freeBlockCount: afterHolding(roomIn(state), holding).freeBlockCount,
  });
  world.nodeCount += 1;
  world.podCount += holding.podCount;
  return isServed;
}

function noteFull(world: World, { subnet }: SubnetState): void {
  if (world.full.has(subnet.name)) return;
  const { nodeCount, podCount } = world;
  world.full.set(subnet.name, { subnet: subnet.name, zone: subnet.zone, nodeCount, podCount });
}

/** The node's primary ENI. A model without nodes' subnets in the zone does not ask about them. */
function takeNodeAddress(world: World, zone: string, isGrowth: boolean): boolean {
  const subnets = [...world.states.values()].filter(
    ({ subnet }) => subnet.for === 'nodes' && subnet.zone === zone,
  );
  const best = subnets.toSorted((a, b) => freeIn(b) - freeIn(a))[0];
  if (best === undefined) return true;
  if (freeIn(best) < 1) {
    noteFull(world, best);
    return !isGrowth;
  }
  world.states.set(best.subnet.name, {
    ...best,
    usedCount: best.usedCount + 1,
    freeBlockCount: takeAddresses(roomIn(best), 1).freeBlockCount,
    nodeCount: best.nodeCount + 1,
    eniCount: best.eniCount + 1,
  });
  return true;
}

/** Each decision takes what the ones before it used into account, so that siblings fill alike (U49). */
function choose(
  world: World,
  group: PlannedGroup,
  { zone, n }: { readonly zone: string; readonly n: number },
): SubnetState | undefined {
  const all = candidates(world, group, zone);
  const open = all.filter(({ subnet }) => !world.full.has(subnet.name));
  const usable = open.length > 0 ? open : all;
  const by = (order: (a: SubnetState, b: SubnetState) => number): SubnetState | undefined =>
    usable.toSorted((a, b) => order(a, b) || (a.subnet.name < b.subnet.name ? -1 : 1))[0];
  switch (group.strategy) {
    case 'First':
      return all[0];
    case 'MostFree':
      return by((a, b) => freeIn(b) - freeIn(a));
    case 'Spread':
      return by((a, b) => a.nodeCount - b.nodeCount);
    case 'Hash': {
      const names = all.map(({ subnet }) => subnet.name);
      const name = rendezvousChoice(`${group.name}-${zone}-${n}`, names);
      return all.find(({ subnet }) => subnet.name === name);
    }
  }
}
