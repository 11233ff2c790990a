// Which addresses, prefixes and ENIs are given back, and by which step.

import { familyOf, type Ip } from '../address/ip.ts';
import type { EniId } from '../ids.ts';
import type { Action } from './action.ts';
import { drain } from './drain.ts';
import type { EniView, NodeView } from './node-view.ts';
import type { Growth } from './plan-growth.ts';
import type { Pool, PoolEni } from './pool.ts';
import { excessAddressCount, hasIpTargets, spareSingleCount } from './warm-targets.ts';

export interface Release {
  /** Addresses to ask back in this spec, beside those already asked. */
  readonly withdraw: ReadonlyMap<EniId, readonly Ip[]>;
  readonly actions: readonly Action[];
  /** Addresses above the warm target, whether or not they are withdrawn yet. */
  readonly excessCount: number;
}

/** Plans withdrawal, unassigning, detaching and deleting, beside the growth that is planned. */
export function planRelease(view: NodeView, pool: Pool, growth: Growth): Release {
  const withdraw = new Map<EniId, readonly Ip[]>(drain(pool, growth));
  const add = (eniId: EniId, addresses: readonly Ip[]): void => {
    withdraw.set(eniId, [...(withdraw.get(eniId) ?? []), ...addresses]);
  };
  for (const one of pool.enis) {
    if (one.role === 'cordoned') add(one.eni.eniId, [...one.free, ...one.cooling]);
    if (one.role !== 'frozen') add(one.eni.eniId, one.obsolete);
  }
  const excess = growth.neededCount > 0 ? chooseSpare(view, pool, growth) : chooseExcess(view, pool);
  const excessCount = [...excess.values()].reduce((sum, addresses) => sum + addresses.length, 0);
  const heldLongEnough =
    view.excessSince !== undefined && view.now - view.excessSince >= view.settings.excessHoldMs;
  if (heldLongEnough) for (const [eniId, addresses] of excess) add(eniId, addresses);
  const actions = pool.enis.flatMap((one) => releaseStep(view, one, growth.neededCount));
  return { withdraw, actions, excessCount };
}

/**
 * Takes the excess from the ENIs with the fewest pods, so that whole ENIs become empty and can be given back: single
 * addresses, and prefixes of which none is in use. WARM_ENI_TARGET gives back whole ENIs and, of an earlier choice in mode
 * Prefix, whole prefixes.
 */
function chooseExcess(view: NodeView, pool: Pool): ReadonlyMap<EniId, readonly Ip[]> {
  const chosen = new Map<EniId, readonly Ip[]>();
  const wholeOnly = !hasIpTargets(view.settings.targets) && pool.counts.blockSize === 1;
  const candidates = pool.enis
    .filter(({ role }) => role === 'current' || role === 'kept')
    .sort((a, b) => a.used.length + a.cooling.length - (b.used.length + b.cooling.length) || lastFirst(a, b));
  let left = excessAddressCount(view.settings.targets, pool.counts);
  for (const one of candidates) {
    const isIdle = one.used.length === 0 && one.cooling.length === 0 && one.free.length <= left;
    const addresses = [...(wholeOnly && !isIdle ? [] : excessSingles(one, left))];
    addresses.push(...excessPrefixes(one, left - addresses.length));
    if (addresses.length > 0) chosen.set(one.eni.eniId, addresses);
    left -= addresses.length;
  }
  return chosen;
}

/**
 * While a node waits for a block that the subnet has not, the single addresses in its place serve; those beyond the target
 * do not. Where a slot is emptied anyway, that is enough.
 */
function chooseSpare(view: NodeView, pool: Pool, growth: Growth): ReadonlyMap<EniId, readonly Ip[]> {
  let left = growth.roomCount > 0 ? 0 : spareSingleCount(view.settings.targets, pool.counts);
  const chosen = new Map<EniId, readonly Ip[]>();
  for (const one of pool.enis.filter(({ role }) => role === 'current').sort(lastFirst)) {
    const singles = singlesOf(one).filter((ip) => one.draining.has(ip));
    const spare = singles.slice(Math.max(0, singles.length - left));
    if (spare.length > 0) chosen.set(one.eni.eniId, spare);
    left -= spare.length;
  }
  return chosen;
}

/** At most `count` addresses of one ENI that are of no prefix, the last ones. */
function excessSingles(one: PoolEni, count: number): readonly Ip[] {
  const singles = singlesOf(one).filter((ip) => !one.draining.has(ip));
  return singles.slice(Math.max(0, singles.length - count));
}

/** Free addresses of the ENI that are of no prefix. */
function singlesOf({ free, prefixes }: PoolEni): readonly Ip[] {
  const ofPrefixes = new Set<Ip>(prefixes.flatMap(({ addresses }) => addresses));
  return free.filter((ip) => !ofPrefixes.has(ip));
}

/** The addresses of idle prefixes of one ENI, at most `count`, the last prefixes first. */
function excessPrefixes({ prefixes, draining }: PoolEni, count: number): readonly Ip[] {
  const chosen: Ip[] = [];
  const idle = prefixes.filter(
    ({ isIdle, addresses }) => isIdle && !addresses.some((ip) => draining.has(ip)),
  );
  for (const { addresses } of idle.reverse())
    if (chosen.length + addresses.length <= count) chosen.push(...addresses);
  return chosen;
}

const lastFirst = (a: PoolEni, b: PoolEni): number =>
  (b.eni.attachment?.deviceIndex ?? 0) - (a.eni.attachment?.deviceIndex ?? 0);

/** The next EC2 step towards giving back what the agent has let go of. */
function releaseStep(view: NodeView, one: PoolEni, neededCount: number): readonly Action[] {
  const { eni, role } = one;
  const attachment = eni.attachment;
  if (role === 'frozen' || attachment === undefined) return [];
  // Only what the published spec names can have been answered; an ENI not in it yet is left alone for this round.
  const isPublished = view.published?.spec.enis.some((spec) => spec.eniId === eni.eniId) ?? false;
  const ownCount = eni.addresses.length + one.ipv6.length;
  const heldCount = one.prefixes.reduce((sum, { addresses }) => sum + addresses.length, ownCount);
  // Of the /80 only the agent knows what pods have: an object that it has not answered yet says nothing of them.
  const isKnown =
    eni.ipv6Prefixes.length === 0 ||
    one.ipv6.length > 0 ||
    (view.published?.status.observedGeneration ?? 0) > 0;
  const isEmpty =
    isPublished &&
    isKnown &&
    one.withdrawn.length === heldCount &&
    one.prefixes.length === eni.prefixes.length;
  const isUnwanted = role === 'cordoned' || neededCount === 0;
  if (isEmpty && isUnwanted && attachment.state === 'attached') {
    const why = role === 'cordoned' ? whyCordoned(eni) : 'the pool has more than its target';
    return [
      {
        do: 'DetachEni',
        eniId: eni.eniId,
        attachmentId: attachment.attachmentId,
        because: `no pod holds an address of ${eni.eniId} and ${why}`,
      },
    ];
  }
  return isEmpty && isUnwanted ? [] : unassign(one);
}

/** Single addresses one by one, a prefix once the agent has let go of all of it. */
function unassign({ eni, withdrawn, prefixes }: PoolEni): readonly Action[] {
  const { eniId } = eni;
  const ofPrefixes = new Set<Ip>(prefixes.flatMap(({ addresses }) => addresses));
  // What is granted of a /80 goes with the ENI, or just out of the spec.
  const addresses = withdrawn.filter((ip) => familyOf(ip) === 4 && !ofPrefixes.has(ip));
  const whole = prefixes.filter(({ isWithdrawn }) => isWithdrawn).map(({ prefix }) => prefix);
  return [
    ...(addresses.length === 0
      ? []
      : [
          {
            do: 'UnassignAddresses' as const,
            eniId,
            addresses,
            because: `the agent has let go of ${addresses.join(', ')}`,
          },
        ]),
    ...(whole.length === 0
      ? []
      : [
          {
            do: 'UnassignPrefixes' as const,
            eniId,
            prefixes: whole,
            because: `the agent has let go of every address of ${whole.join(', ')}`,
          },
        ]),
  ];
}

const whyCordoned = ({ givenUp, eniConfig }: EniView): string =>
  givenUp === true
    ? 'pods of another ENIConfig wait for its place on the instance'
    : `it was made for ${describeChoice(eniConfig)}`;

const describeChoice = (eniConfig: string): string =>
  eniConfig === ''
    ? "the node's own subnet, which is not selected any more"
    : `ENIConfig "${eniConfig}", which is not selected any more`;
