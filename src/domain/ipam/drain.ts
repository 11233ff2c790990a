// What drains on ENIs in use: single addresses where prefixes are held, or prefixes where single addresses are.

import type { Ip } from '../address/ip.ts';
import type { EniId } from '../ids.ts';
import type { Growth } from './plan-growth.ts';
import type { Pool, PoolEni } from './pool.ts';

/**
 * Addresses of the kind that drains to ask back now. While the pool is short it goes on using them, and only makes room
 * where it has no other; once it holds enough of the other kind, all that no pod holds is asked back. As many as pods
 * wait for stay free: a pod may get one any moment.
 */
export function drain(pool: Pool, growth: Growth): ReadonlyMap<EniId, readonly Ip[]> {
  const draining = pool.enis.filter((one) => one.draining.size > 0);
  if (draining.length === 0) return new Map();
  const spareCount = Math.max(0, pool.counts.draining - pool.counts.demand);
  return growth.neededCount === 0
    ? everythingIdle(draining, spareCount)
    : someBlocks(draining, spareCount, growth.roomCount);
}

function everythingIdle(enis: readonly PoolEni[], spareCount: number): ReadonlyMap<EniId, readonly Ip[]> {
  let left = spareCount;
  return new Map(
    enis.map((one) => {
      const free = one.free.filter((ip) => one.draining.has(ip));
      const spare = free.slice(Math.max(0, free.length - left));
      left -= spare.length;
      return [one.eni.eniId, [...spare, ...one.cooling.filter((ip) => one.draining.has(ip))]];
    }),
  );
}

/** As many slots' worth as asked for, what is on its way out already counted. A block that a pod uses makes no room. */
function someBlocks(
  enis: readonly PoolEni[],
  spareCount: number,
  slotCount: number,
): ReadonlyMap<EniId, readonly Ip[]> {
  const chosen = new Map<EniId, readonly Ip[]>();
  let slots = slotCount;
  let spare = spareCount;
  const blocks = enis.flatMap((one) => blocksOf(one).map((block) => ({ one, block })));
  for (const { one, block } of blocks) if (isOnItsWay(one, block)) slots -= 1;
  for (const { one, block } of blocks) {
    if (slots <= 0) break;
    if (isOnItsWay(one, block) || block.some((ip) => one.used.includes(ip))) continue;
    const freeCount = block.filter((ip) => one.free.includes(ip)).length;
    if (freeCount > spare) continue;
    chosen.set(one.eni.eniId, [...(chosen.get(one.eni.eniId) ?? []), ...block]);
    spare -= freeCount;
    slots -= 1;
  }
  return chosen;
}

/** Each is the content of one slot. */
const blocksOf = ({ eni, prefixes, draining, published }: PoolEni): readonly (readonly Ip[])[] => [
  ...eni.addresses.filter((ip) => draining.has(ip) && published.includes(ip)).map((ip) => [ip]),
  ...prefixes.map(({ addresses }) => addresses).filter((block) => block.some((ip) => draining.has(ip))),
];

const isOnItsWay = ({ withdrawing, withdrawn, used }: PoolEni, block: readonly Ip[]): boolean =>
  block.every((ip) => !used.includes(ip) && (withdrawing.includes(ip) || withdrawn.includes(ip)));
