// How the pool grows: take back what is being withdrawn, fill attached ENIs, attach, create.

import type { Ip } from '../address/ip.ts';
import type { EniId, SubnetId } from '../ids.ts';
import type { Action } from './action.ts';
import { matchesSelection } from './eni-role.ts';
import type { Intent } from './node-network.ts';
import { activeObstacle, type NodeView } from './node-view.ts';
import type { Pool, PoolEni } from './pool.ts';
import { demandShortfall, neededAddressCount } from './warm-targets.ts';

/** Why the pool cannot grow just now; the texts go to a condition and an Event. */
export interface Blocked {
  readonly reason: 'SubnetFull' | 'InstanceFull' | 'Unauthorized' | 'Ec2Refused';
  readonly message: string;
  readonly fix: string;
}

export interface Growth {
  readonly neededCount: number;
  readonly actions: readonly Action[];
  /** Withdrawals to take back: asked for, but not answered yet. */
  readonly cancelWithdrawal: ReadonlyMap<EniId, readonly Ip[]>;
  /** Open intents of the next spec. */
  readonly intents: readonly Intent[];
  readonly blocked?: Blocked;
}

/** Plans growth. Demand is met first; warm targets fill up behind it. */
export function planGrowth(view: NodeView, pool: Pool): Growth {
  const neededCount =
    view.selection.kind === 'None' ? 0 : neededAddressCount(view.settings.targets, pool.counts);
  const open = openIntents(view);
  const retries = open.flatMap((intent) => retryIntent(view, intent));
  const cancelled = cancelWithdrawals(pool, neededCount);
  const afterCancel = neededCount - cancelled.count;
  const unattached = planUnattached(view, pool, afterCancel);
  const state = { neededCount: unattached.stillNeeded - expectedFrom(view, open), intents: open };
  const more =
    view.selection.kind === 'None' || state.neededCount <= 0 ? none(open) : growBy(view, pool, state);
  const blocked = (neededCount > 0 ? refusedGrowth(view) : undefined) ?? more.blocked;
  return {
    neededCount,
    cancelWithdrawal: cancelled.byEni,
    actions: [...unattached.actions, ...retries, ...more.actions],
    intents: more.intents,
    ...(blocked === undefined ? {} : { blocked }),
  };
}

/** Also while it is tried again: it is not over before EC2 has done what it refused. */
function refusedGrowth(view: NodeView): Blocked | undefined {
  const obstacle = view.obstacles.find((one) => one.of === 'Growth');
  return obstacle && { reason: obstacle.code, message: obstacle.message, fix: obstacle.fix };
}

interface More {
  readonly actions: readonly Action[];
  readonly intents: readonly Intent[];
  readonly blocked?: Blocked;
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
      because: `${intent.addressCount} more addresses are needed in ${intent.subnetId}`,
    },
  ];
}

/** Addresses that an open intent will bring, if it is for the present selection. */
function expectedFrom(view: NodeView, open: readonly Intent[]): number {
  return open
    .filter((intent) => matchesSelection(intent, view.selection))
    .reduce((total, intent) => total + intent.addressCount, 0);
}

function cancelWithdrawals(
  pool: Pool,
  neededCount: number,
): { count: number; byEni: Map<EniId, readonly Ip[]> } {
  const byEni = new Map<EniId, readonly Ip[]>();
  let count = 0;
  for (const one of pool.enis) {
    if (count >= neededCount) break;
    if (one.role === 'cordoned' || one.role === 'frozen') continue;
    const back = one.withdrawing.slice(0, neededCount - count);
    if (back.length > 0) byEni.set(one.eni.eniId, back);
    count += back.length;
  }
  return { count, byEni };
}

/** ENIs that are ours and not attached: attached when needed and there is room, deleted otherwise. */
function planUnattached(
  view: NodeView,
  pool: Pool,
  neededCount: number,
): { actions: Action[]; stillNeeded: number } {
  const actions: Action[] = [];
  let stillNeeded = neededCount;
  for (const { eni, role, published } of pool.unattached) {
    if (role === 'frozen') continue;
    const deviceIndex = freeDeviceIndex(view);
    const hasRoom = attachedCount(view) < eniLimit(view);
    if (role === 'current' && stillNeeded > 0 && hasRoom && actions.length === 0) {
      const because = `${stillNeeded} more addresses are needed and ${eni.eniId} has ${published.length}`;
      if (activeObstacle(view, 'Growth') === undefined)
        actions.push({ do: 'AttachEni', eniId: eni.eniId, deviceIndex, networkCardIndex: 0, because });
      // Once attached it is filled: another one is not needed for what it has room for.
      stillNeeded -= Math.max(published.length, pool.counts.slotsPerEni);
    } else {
      actions.push({
        do: 'DeleteEni',
        eniId: eni.eniId,
        because: `${eni.eniId} is not attached and not needed`,
      });
    }
  }
  return { actions, stillNeeded };
}

function growBy(
  view: NodeView,
  pool: Pool,
  state: { neededCount: number; intents: readonly Intent[] },
): More {
  const { selection } = view;
  if (selection.kind === 'None') return none(state.intents);
  const subnet = view.subnets.get(selection.subnetId);
  if (subnet === undefined) return none(state.intents);
  if (activeObstacle(view, 'Growth') !== undefined) return none(state.intents);
  const fill = fullestWithRoom(view, pool);
  if (fill !== undefined) {
    const count = Math.min(state.neededCount, freeSlotCount(view, fill), subnet.freeAddressCount);
    if (count < 1) return { ...none(state.intents), blocked: subnetFull(view, selection.subnetId) };
    const because =
      demandShortfall(pool.counts) > 0
        ? `${pool.waiting.length} pods wait for an address`
        : `the warm target is ${state.neededCount} addresses above what the node holds`;
    const action: Action = {
      do: 'AssignAddresses',
      eniId: fill.eni.eniId,
      subnetId: subnet.subnetId,
      count,
      because,
    };
    return { ...none(state.intents), actions: [action] };
  }
  // One create at a time; the ENI on its way may already be enough.
  const isUnderWay = state.intents.some((intent) => matchesSelection(intent, selection));
  if (isUnderWay || isWaitingForHold(view, pool)) return none(state.intents);
  const reserved = view.reservedEniCount ?? 0;
  if (attachedCount(view) + pool.unattached.length + reserved >= eniLimit(view)) {
    return { ...none(state.intents), blocked: instanceFull(view, pool) };
  }
  // No more than is needed, also under WARM_ENI_TARGET: its free addresses are the target, not its ENIs, and a whole
  // spare ENI per node is what empties subnets. The new ENI's own primary address comes out of the same subnet.
  const addressCount = Math.min(state.neededCount, pool.counts.slotsPerEni, subnet.freeAddressCount - 1);
  if (addressCount < 1) return { ...none(state.intents), blocked: subnetFull(view, selection.subnetId) };
  const intent: Intent = {
    id: view.freshIntentId,
    kind: 'CreateEni',
    subnetId: selection.subnetId,
    securityGroupIds: selection.securityGroupIds,
    addressCount,
    eniConfig: selection.kind === 'EniConfig' ? selection.name : '',
    notedAt: view.now,
  };
  return { actions: [], intents: [intent] };
}

const freeSlotCount = (view: NodeView, { eni }: PoolEni): number =>
  view.limits.ipv4PerEniMax - 1 - eni.addresses.length - eni.prefixes.length;

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

/** ENIs on the instance, the primary, foreign and leaving ones included. */
export const attachedCount = (view: NodeView): number =>
  view.enis.filter((eni) => eni.attachment !== undefined).length;

/** How many ENIs the instance may have: by its type, and by MAX_ENI. */
export const eniLimit = (view: NodeView): number =>
  Math.min(view.limits.eniMax, view.settings.targets.maxEni ?? view.limits.eniMax);

/** The lowest free device index on network card 0; 0 is the primary's. */
function freeDeviceIndex(view: NodeView): number {
  const taken = new Set(
    view.enis.flatMap(({ attachment }) =>
      attachment !== undefined && attachment.networkCardIndex === 0 ? [attachment.deviceIndex] : [],
    ),
  );
  let index = 1;
  while (taken.has(index)) index += 1;
  return index;
}

function subnetFull(view: NodeView, subnetId: SubnetId): Blocked {
  const subnet = view.subnets.get(subnetId);
  const name = view.selection.kind === 'EniConfig' ? ` of ENIConfig "${view.selection.name}"` : '';
  return {
    reason: 'SubnetFull',
    message: `subnet ${subnetId}${name} (${subnet?.cidr ?? 'unknown CIDR'}, ${subnet?.zone ?? 'unknown zone'}) is full: ${subnet?.freeAddressCount ?? 0} addresses free`,
    fix: 'free addresses in it, or give the node an ENIConfig with another subnet of its zone; waiting pods get their address by themselves',
  };
}

function foreignText(view: NodeView): string {
  const count = view.enis.filter(
    (eni) => !eni.owned && eni.otherPool !== true && !eni.primary && eni.attachment !== undefined,
  ).length;
  return count === 0 ? '' : ` (${count} of them not Eniwhere's)`;
}

function instanceFull(view: NodeView, pool: Pool): Blocked {
  return {
    reason: 'InstanceFull',
    message: `instance ${view.instance.instanceId} (${view.limits.instanceType}) is full: ${attachedCount(view)} of ${eniLimit(view)} ENIs attached${foreignText(view)}, ${pool.counts.total} pod addresses`,
    fix: `let at most ${view.maxPods} pods run on it (kubelet --max-pods), or use a larger instance type`,
  };
}
