// Creates of ENIs: which intents stay open, which are noted anew, and which is sent to EC2 next.

import type { SubnetFacts } from '../eniconfig/eni-config.ts';
import type { Selection } from '../eniconfig/selection.ts';
import { type IntentId, intentId } from '../ids.ts';
import { ADDRESSES_PER_PREFIX } from '../instance/slots.ts';
import type { Action } from './action.ts';
import { matchesSelection } from './eni-role.ts';
import { blockRefusal } from './filling.ts';
import type { Intent } from './node-network.ts';
import { activeObstacle, type NodeView } from './node-view.ts';
import type { Pool } from './pool.ts';

/**
 * An intent that may have been sent stays open until its ENI is sighted, its first try failed definitely, or no retry can
 * still be under way. One that nobody has sent is no more than a plan, and is planned anew: see `newIntents`.
 */
export function openIntents(view: NodeView): readonly Intent[] {
  return (view.published?.spec.intents ?? []).filter(
    (intent) =>
      view.unsentIntents?.has(intent.id) !== true &&
      !view.enis.some((eni) => eni.intentId === intent.id) &&
      !view.failedIntents.has(intent.id) &&
      view.now - intent.notedAt < view.settings.intentLifeMs,
  );
}

/** Intents that stand in the published spec and have not been sent, in their order. */
const unsentIntents = (view: NodeView): readonly Intent[] =>
  (view.published?.spec.intents ?? []).filter(({ id }) => view.unsentIntents?.has(id));

/** The create of an open intent once more, while that is allowed. */
export function retryIntent(view: NodeView, intent: Intent): readonly Action[] {
  // A selection that fails makes no ENI, not even one that was wished for earlier (SEL-1): the intent runs out.
  // Nor does one that chooses something else by now: the ENI would be cordoned from its first moment.
  if (!matchesSelection(intent, view.selection)) return [];
  if (view.now - intent.notedAt >= view.settings.intentRetryMs) return [];
  if (activeObstacle(view, 'Growth') !== undefined) return [];
  if (view.subnets.get(intent.subnetId)?.freeAddressCount === 0) return [];
  return [createOf(intent)];
}

const createOf = (intent: Intent): Action => ({
  do: 'CreateEni',
  intent,
  because: `${countText(intent)} needed in ${intent.subnetId}`,
});

/** Slots that open intents for the present selection will bring filled with what is to stay. */
export function expectedFrom(view: NodeView, { filling }: Pool, open: readonly Intent[]): number {
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

interface Want {
  readonly selection: Exclude<Selection, { kind: 'None' }>;
  readonly subnet: SubnetFacts;
  /** Slots. */
  readonly neededCount: number;
  /** ENIs that the instance has room for. */
  readonly eniCount: number;
}

export interface NewIntents {
  readonly intents: readonly Intent[];
  /** The create of the first one that is noted. */
  readonly actions: readonly Action[];
}

/**
 * Intents for all the ENIs that are needed, so that one write notes them: those that stand in the spec unsent, as far as
 * they are still wanted, and fresh ones. Where EC2 has refused a block lately, and where it is not known which were sent,
 * one at a time.
 */
export function newIntents(view: NodeView, pool: Pool, want: Want): NewIntents {
  const isOneByOne = view.unsentIntents === undefined || blockRefusal(view) !== undefined;
  const countMax = isOneByOne ? 1 : want.eniCount;
  const noted = unsentIntents(view);
  const intents: Intent[] = [];
  let { neededCount } = want;
  let freeAddressCount = want.subnet.freeAddressCount;
  while (intents.length < countMax && neededCount > 0) {
    const left = { ...want, neededCount, subnet: { ...want.subnet, freeAddressCount } };
    const fresh = intentFor(view, pool, { ...left, id: nthId(view.freshIntentId, intents.length) });
    if (fresh === undefined) break;
    const intent =
      noted.find((one) => !intents.includes(one) && isWanted(one, fresh, want.selection)) ?? fresh;
    intents.push(intent);
    freeAddressCount -= 1 + intent.addressCount + intent.prefixCount * ADDRESSES_PER_PREFIX;
    // Once attached it is filled: another one is not needed for what it has room for.
    neededCount -= pool.counts.slotsPerEni;
  }
  const next = intents.find((intent) => noted.includes(intent));
  return { intents, actions: next === undefined ? [] : [createOf(next)] };
}

/** Ids are client tokens: each intent has its own. */
const nthId = (id: IntentId, n: number): IntentId => (n === 0 ? id : intentId(`${id}.${n}`));

/** Whether the noted intent serves for what would be noted now: it may bring less, as an ENI is filled up later. */
const isWanted = (noted: Intent, now: Intent, selection: Want['selection']): boolean =>
  matchesSelection(noted, selection) &&
  noted.addressCount > 0 === now.addressCount > 0 &&
  noted.addressCount <= now.addressCount &&
  noted.prefixCount > 0 === now.prefixCount > 0 &&
  noted.prefixCount <= now.prefixCount &&
  noted.ipv6PrefixCount === now.ipv6PrefixCount;

/** Where EC2 has refused a block lately, one is asked for to see whether it has one now. */
export const atOnce = (view: NodeView, pool: Pool, slotCount: number): number =>
  fillsBlocks(pool) && blockRefusal(view) !== undefined ? Math.min(1, slotCount) : slotCount;

/** Whether slots are filled with IPv4 blocks. */
export const fillsBlocks = ({ filling }: Pool): boolean => filling.unit > 1 && !filling.isIpv6;

/**
 * Blocks to ask for at most. One is worth a call whatever is free, for a reservation keeps blocks that nobody counts; but
 * of several EC2 gives all or none.
 */
export const blockRoom = (freeAddressCount: number): number =>
  Math.max(1, Math.floor(freeAddressCount / ADDRESSES_PER_PREFIX));

/**
 * No more than is needed, also under WARM_ENI_TARGET: its free addresses are the target, not its ENIs, and a whole spare
 * ENI per node is what empties subnets. The new ENI's own primary address comes out of the same subnet.
 */
function intentFor(
  view: NodeView,
  pool: Pool,
  of: Pick<Want, 'selection' | 'subnet' | 'neededCount'> & { readonly id: IntentId },
): Intent | undefined {
  const { selection, subnet, id } = of;
  const { unit, isIpv6 } = pool.filling;
  const families = view.settings.addressFamilies;
  // A /80 takes nothing of the subnet's IPv4 addresses: the ENI's own is all that it needs.
  const leftCount = subnet.freeAddressCount - 1;
  if (leftCount < 0) return undefined;
  const roomFor = isIpv6 ? subnet.freeAddressCount : fillsBlocks(pool) ? blockRoom(leftCount) : leftCount;
  const count = Math.min(atOnce(view, pool, of.neededCount), pool.counts.slotsPerEni, roomFor);
  if (count < 1) return undefined;
  return {
    id,
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

function countText({ addressCount, prefixCount, ipv6PrefixCount }: Intent): string {
  if (prefixCount > 0) return `${prefixCount} more blocks of ${ADDRESSES_PER_PREFIX} addresses are`;
  if (addressCount === 0 && ipv6PrefixCount > 0) return 'an IPv6 prefix is';
  return `${addressCount} more addresses are`;
}
