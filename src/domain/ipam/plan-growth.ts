// How the pool grows: take back what is being withdrawn, fill attached ENIs, attach, create.

import type { SubnetFacts } from '../eniconfig/eni-config.ts';
import type { Selection } from '../eniconfig/selection.ts';
import { ADDRESSES_PER_PREFIX } from '../instance/slots.ts';
import type { Action } from './action.ts';
import { type Blocked, fromObstacle, instanceFull, subnetFull } from './blocked.ts';
import { attachedCount, eniLimit, freeDeviceIndex, freeSlotCount } from './eni-room.ts';
import { matchesSelection } from './eni-role.ts';
import { blockRefusal } from './filling.ts';
import type { Intent } from './node-network.ts';
import { activeObstacle, type NodeView } from './node-view.ts';
import type { Pool, PoolEni } from './pool.ts';
import { assignIpv6Prefix } from './plan-ipv6.ts';
import { takeBack, type TakenBack } from './take-back.ts';
import { demandShortfall, neededSlotCount } from './warm-targets.ts';

export interface Growth {
  /** Slots to fill, before anything is taken back. */
  readonly neededCount: number;
  readonly actions: readonly Action[];
  /** Withdrawals to take back. */
  readonly takenBack: TakenBack['addresses'];
  /** Open intents of the next spec. */
  readonly intents: readonly Intent[];
  readonly blocked?: Blocked;
  /** Slots to empty of the kind that drains, since nothing else can make room; 0: none. */
  readonly roomCount: number;
  /** A block of the selected subnet is about to be asked for. */
  readonly asksForBlock: boolean;
}

/** Plans growth. Demand is met first; warm targets fill up behind it. */
export function planGrowth(view: NodeView, pool: Pool): Growth {
  const neededCount =
    view.selection.kind === 'None' ? 0 : neededSlotCount(view.settings.targets, pool.counts);
  const open = openIntents(view);
  const retries = open.flatMap((intent) => retryIntent(view, intent));
  const taken = takeBack(view, pool);
  const unattached = planUnattached(view, pool, taken.neededCount);
  const state = { neededCount: unattached.stillNeeded - expectedFrom(view, pool, open), intents: open };
  const more =
    view.selection.kind === 'None' || state.neededCount <= 0 ? none(open) : growBy(view, pool, state);
  const blocked = (neededCount > 0 ? refusedGrowth(view) : undefined) ?? more.blocked;
  return {
    neededCount,
    takenBack: taken.addresses,
    actions: [...unattached.actions, ...retries, ...more.actions],
    intents: more.intents,
    ...(blocked === undefined ? {} : { blocked }),
    roomCount: more.roomCount ?? 0,
    asksForBlock:
      fillsBlocks(pool) && (more.actions.length > 0 || more.intents.length > 0 || (more.roomCount ?? 0) > 0),
  };
}

/** Also while it is tried again: it is not over before EC2 has done what it refused. */
function refusedGrowth(view: NodeView): Blocked | undefined {
  const obstacle = view.obstacles.find((one) => one.of === 'Growth');
  return obstacle && fromObstacle(obstacle);
}

interface More {
  readonly actions: readonly Action[];
  readonly intents: readonly Intent[];
  readonly blocked?: Blocked;
  readonly roomCount?: number;
}
const none = (intents: readonly Intent[]): More => ({ actions: [], intents });

/** An intent stays open until its ENI is sighted, its first try failed definitely, or no retry can still be under way. */
export function openIntents(view: NodeView): readonly Intent[] {
  return (view.published?.spec.intents ?? []).filter(
    (intent) =>
      !view.enis.some((eni) => eni.intentId === intent.id) &&
      !view.failedIntents.has(intent.id) &&
      view.now - intent.notedAt < view.settings.intentLifeMs,
  );
}

function retryIntent(view: NodeView, intent: Intent): readonly Action[] {
  // A selection that fails makes no ENI, not even one that was wished for earlier (SEL-1): the intent runs out.
  // Nor does one that chooses something else by now: the ENI would be cordoned from its first moment.
  if (!matchesSelection(intent, view.selection)) return [];
  if (view.now - intent.notedAt >= view.settings.intentRetryMs) return [];
  if (activeObstacle(view, 'Growth') !== undefined) return [];
  if (view.subnets.get(intent.subnetId)?.freeAddressCount === 0) return [];
  return [
    {
      do: 'CreateEni',
      intent,
      because: `${countText(intent)} needed in ${intent.subnetId}`,
    },
  ];
}

/** Slots that open intents for the present selection will bring filled with what is to stay. */
function expectedFrom(view: NodeView, { filling }: Pool, open: readonly Intent[]): number {
  const addressCount = open
    .filter((intent) => matchesSelection(intent, view.selection))
    .reduce(
      (total, intent) =>
        total +
        (filling.singlesStay ? intent.addressCount : 0) +
        (filling.prefixesStay ? intent.prefixCount * ADDRESSES_PER_PREFIX : 0) +
        (filling.isIpv6 ? intent.ipv6PrefixCount * filling.unit : 0),
      0,
    );
  return Math.floor(addressCount / filling.unit);
}

/** ENIs that are ours and not attached: attached when needed and there is room, deleted otherwise. */
function planUnattached(
  view: NodeView,
  pool: Pool,
  neededCount: number,
): { actions: Action[]; stillNeeded: number } {
  const actions: Action[] = [];
  let stillNeeded = neededCount;
  for (const one of pool.unattached) {
    const { eni, role, published } = one;
    if (role === 'frozen') continue;
    const deviceIndex = freeDeviceIndex(view);
    const hasRoom = attachedCount(view) < eniLimit(view);
    // EC2 knows no limit for an ENI that is on no instance: one that a call of ours fills late may hold too much for any.
    const fits = freeSlotCount(view, one) >= 0;
    if (role === 'current' && stillNeeded > 0 && hasRoom && fits && actions.length === 0) {
      const because = `${shortText(pool, stillNeeded)} needed and ${eni.eniId} has ${published.length} addresses`;
      if (activeObstacle(view, 'Growth') === undefined)
        actions.push({ do: 'AttachEni', eniId: eni.eniId, deviceIndex, networkCardIndex: 0, because });
      // Once attached it is filled: another one is not needed for what it has room for.
      const broughtCount = Math.floor(published.length / pool.filling.unit);
      stillNeeded -= Math.max(broughtCount, pool.counts.slotsPerEni);
    } else {
      actions.push({
        do: 'DeleteEni',
        eniId: eni.eniId,
        because: fits
          ? `${eni.eniId} is not attached and not needed`
          : `${eni.eniId} is not attached and holds more than an ENI of ${view.limits.instanceType} may`,
      });
    }
  }
  return { actions, stillNeeded };
}

interface GrowthState {
  /** Slots. */
  readonly neededCount: number;
  readonly intents: readonly Intent[];
}

function growBy(view: NodeView, pool: Pool, state: GrowthState): More {
  const { selection } = view;
  if (selection.kind === 'None') return none(state.intents);
  const subnet = view.subnets.get(selection.subnetId);
  if (subnet === undefined) return none(state.intents);
  if (activeObstacle(view, 'Growth') !== undefined) return none(state.intents);
  const fill = fullestWithRoom(view, pool);
  if (fill !== undefined) return fillSlots(view, pool, { ...state, fill, subnet });
  // One create at a time; the ENI on its way may already be enough.
  const isUnderWay = state.intents.some((intent) => matchesSelection(intent, selection));
  if (isUnderWay || isWaitingForHold(view, pool)) return none(state.intents);
  const reserved = view.reservedEniCount ?? 0;
  if (attachedCount(view) + pool.unattached.length + reserved >= eniLimit(view)) {
    const roomCount = hasNoNewHope(view, subnet) ? 0 : atOnce(view, pool, state.neededCount);
    return { ...none(state.intents), blocked: instanceFull(view, pool), roomCount };
  }
  const intent = intentFor(view, pool, { ...state, selection, subnet });
  return intent === undefined
    ? { ...none(state.intents), blocked: subnetFull(view, selection.subnetId), roomCount: state.neededCount }
    : { actions: [], intents: [intent] };
}

/** Where EC2 has refused a block lately, one is asked for to see whether it has one now. */
const atOnce = (view: NodeView, pool: Pool, slotCount: number): number =>
  fillsBlocks(pool) && blockRefusal(view) !== undefined ? Math.min(1, slotCount) : slotCount;

/** Whether slots are filled with IPv4 blocks. */
const fillsBlocks = ({ filling }: Pool): boolean => filling.unit > 1 && !filling.isIpv6;

/**
 * Blocks to ask for at most. One is worth a call whatever is free, for a reservation keeps blocks that nobody counts; but
 * of several EC2 gives all or none.
 */
const blockRoom = (freeAddressCount: number): number =>
  Math.max(1, Math.floor(freeAddressCount / ADDRESSES_PER_PREFIX));

/**
 * Emptying a slot only to hear the same refusal again would go on for ever: it is worth it once addresses of the
 * subnet have become free since.
 */
function hasNoNewHope(view: NodeView, { freeAddressCount }: SubnetFacts): boolean {
  const refusal = blockRefusal(view);
  return refusal !== undefined && freeAddressCount <= refusal.freeAddressCount;
}

function fillSlots(
  view: NodeView,
  pool: Pool,
  {
    neededCount,
    intents,
    fill,
    subnet,
  }: GrowthState & { readonly fill: PoolEni; readonly subnet: SubnetFacts },
): More {
  const { unit } = pool.filling;
  if (pool.filling.isIpv6)
    return { ...none(intents), actions: [assignIpv6Prefix(fill, 'pods get addresses of it')] };
  const count = Math.min(
    atOnce(view, pool, neededCount),
    freeSlotCount(view, fill),
    fillsBlocks(pool) ? blockRoom(subnet.freeAddressCount) : subnet.freeAddressCount,
  );
  // What drains of a full subnet is what the pool can grow by.
  if (count < 1)
    return { ...none(intents), blocked: subnetFull(view, subnet.subnetId), roomCount: neededCount };
  const because =
    demandShortfall(pool.counts) > 0
      ? `${pool.waiting.length} pods wait for an address`
      : `the warm target is ${neededCount * unit} addresses above what the node holds`;
  const on = { eniId: fill.eni.eniId, subnetId: subnet.subnetId, count, because };
  const action: Action =
    unit > 1 ? { do: 'AssignPrefixes', family: 4, ...on } : { do: 'AssignAddresses', ...on };
  return { actions: [action], intents };
}

/**
 * No more than is needed, also under WARM_ENI_TARGET: its free addresses are the target, not its ENIs, and a whole spare
 * ENI per node is what empties subnets. The new ENI's own primary address comes out of the same subnet.
 */
function intentFor(
  view: NodeView,
  pool: Pool,
  of: GrowthState & {
    readonly selection: Exclude<Selection, { kind: 'None' }>;
    readonly subnet: SubnetFacts;
  },
): Intent | undefined {
  const { selection, subnet } = of;
  const { unit, isIpv6 } = pool.filling;
  const families = view.settings.addressFamilies;
  // A /80 takes nothing of the subnet's IPv4 addresses: the ENI's own is all that it needs.
  const leftCount = subnet.freeAddressCount - 1;
  if (leftCount < 0) return undefined;
  const roomFor = isIpv6 ? subnet.freeAddressCount : fillsBlocks(pool) ? blockRoom(leftCount) : leftCount;
  const count = Math.min(atOnce(view, pool, of.neededCount), pool.counts.slotsPerEni, roomFor);
  if (count < 1) return undefined;
  return {
    id: view.freshIntentId,
    kind: 'CreateEni',
    subnetId: selection.subnetId,
    securityGroupIds: selection.securityGroupIds,
    addressCount: unit > 1 ? 0 : count,
    prefixCount: fillsBlocks(pool) ? count : 0,
    ipv6PrefixCount: families.includes('IPv6') ? 1 : 0,
    eniConfig: selection.kind === 'EniConfig' ? selection.name : '',
    notedAt: view.now,
  };
}

const shortText = (pool: Pool, slotCount: number): string =>
  pool.filling.isIpv6
    ? 'IPv6 addresses are'
    : fillsBlocks(pool)
      ? `${slotCount} more blocks are`
      : `${slotCount} more addresses are`;

function countText({ addressCount, prefixCount, ipv6PrefixCount }: Intent): string {
  if (prefixCount > 0) return `${prefixCount} more blocks of ${ADDRESSES_PER_PREFIX} addresses are`;
  if (addressCount === 0 && ipv6PrefixCount > 0) return 'an IPv6 prefix is';
  return `${addressCount} more addresses are`;
}

/** The fullest ENI that still has room: packing pods together lets the others become empty. */
function fullestWithRoom(view: NodeView, pool: Pool): PoolEni | undefined {
  return pool.enis
    .filter((one) => one.role === 'current' && one.eni.maybeLeaving !== true)
    .filter((one) => freeSlotCount(view, one) > 0 && !isHeld(view, one))
    .sort((a, b) => freeSlotCount(view, a) - freeSlotCount(view, b))[0];
}

const isHeld = (view: NodeView, { eni }: PoolEni): boolean => (eni.heldUntil ?? 0) > view.now;

/** An assign with an unknown outcome may yet turn out to have filled the need. */
const isWaitingForHold = (view: NodeView, pool: Pool): boolean =>
  pool.enis.some((one) => one.role === 'current' && isHeld(view, one));
