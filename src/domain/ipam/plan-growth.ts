// How the pool grows: take back what is being withdrawn, fill attached ENIs, attach, create.

import type { SubnetFacts } from '../eniconfig/eni-config.ts';
import type { Action } from './action.ts';
import { type Blocked, fromObstacle, instanceFull, subnetFull } from './blocked.ts';
import { attachedCount, eniLimit, freeDeviceIndex, freeSlotCount } from './eni-room.ts';
import { matchesSelection } from './eni-role.ts';
import { blockRefusal } from './filling.ts';
import type { Intent } from './node-network.ts';
import { activeObstacle, type NodeView, obstacleFor } from './node-view.ts';
import {
  atOnce,
  blockRoom,
  expectedFrom,
  fillsBlocks,
  newIntents,
  openIntents,
  retryIntent,
} from './plan-intents.ts';
import type { Pool, PoolEni } from './pool.ts';
import { hasResting, livingCount } from './pulled-off.ts';
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
  const obstacle = obstacleFor(view, 'Growth');
  return obstacle && fromObstacle(obstacle);
}

interface More {
  readonly actions: readonly Action[];
  readonly intents: readonly Intent[];
  readonly blocked?: Blocked;
  readonly roomCount?: number;
}
const none = (intents: readonly Intent[]): More => ({ actions: [], intents });

/**
 * ENIs that are ours and not attached: attached when needed and there is room, deleted otherwise. One that somebody has
 * pulled off while pods live with its addresses is attached first, needed or not, and none is deleted with such an address
 * or one that rests (ENI-3).
 */
function planUnattached(
  view: NodeView,
  pool: Pool,
  neededCount: number,
): { actions: Action[]; stillNeeded: number } {
  const actions: Action[] = [];
  let stillNeeded = neededCount;
  let attachCount = 0;
  const servesPods = ({ eni }: PoolEni): boolean => livingCount(view, eni) > 0;
  const inOrder = [
    ...pool.unattached.filter(servesPods),
    ...pool.unattached.filter((one) => !servesPods(one)),
  ];
  for (const one of inOrder) {
    const { eni, role, published } = one;
    if (role === 'frozen') continue;
    const deviceIndex = freeDeviceIndex(view);
    const hasRoom = attachedCount(view) + attachCount < eniLimit(view);
    // EC2 knows no limit for an ENI that is on no instance: one that a call of ours fills late may hold too much for any.
    const fits = freeSlotCount(view, one) >= 0;
    const isNeeded = role === 'current' && stillNeeded > 0;
    if ((isNeeded || servesPods(one)) && hasRoom && fits) {
      const because = servesPods(one)
        ? `somebody has taken ${eni.eniId} off the instance, and pods live with ${livingCount(view, eni)} of its addresses`
        : `${shortText(pool, stillNeeded)} needed and ${eni.eniId} has ${published.length} addresses`;
      // One after the other: the next one's device index depends on it.
      if (attachCount === 0 && activeObstacle(view, 'Growth') === undefined)
        actions.push({ do: 'AttachEni', eniId: eni.eniId, deviceIndex, networkCardIndex: 0, because });
      attachCount += 1;
      // Once attached it is filled: another one is not needed for what it has room for.
      const broughtCount = Math.floor(published.length / pool.filling.unit);
      if (role === 'current') stillNeeded -= Math.max(broughtCount, pool.counts.slotsPerEni);
    } else if (!fits || (!servesPods(one) && !hasResting(view, eni))) {
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
  const eniCount = eniLimit(view) - attachedCount(view) - pool.unattached.length - reserved;
  if (eniCount <= 0) {
    const roomCount = hasNoNewHope(view, subnet) ? 0 : atOnce(view, pool, state.neededCount);
    return { ...none(state.intents), blocked: instanceFull(view, pool), roomCount };
  }
  const noted = newIntents(view, pool, { selection, subnet, neededCount: state.neededCount, eniCount });
  return noted.intents.length === 0
    ? { ...none(state.intents), blocked: subnetFull(view, selection.subnetId), roomCount: state.neededCount }
    : noted;
}

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

const shortText = (pool: Pool, slotCount: number): string =>
  pool.filling.isIpv6
    ? 'IPv6 addresses are'
    : fillsBlocks(pool)
      ? `${slotCount} more blocks are`
      : `${slotCount} more addresses are`;

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
