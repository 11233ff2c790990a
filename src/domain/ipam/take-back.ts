// Wishes to have addresses back that are dropped again: the need has come back, or a pod has an address of the prefix.

import { familyOf, type Ip } from '../address/ip.ts';
import type { EniId } from '../ids.ts';
import type { EniRole } from './eni-role.ts';
import type { NodeView } from './node-view.ts';
import type { Pool, PoolEni } from './pool.ts';
import { neededSlotCount } from './warm-targets.ts';

export interface TakenBack {
  /**
   * What is asked back no more. What the agent has let go of already is granted anew only once it has forgotten that
   * (WD-3), so it leaves the spec for a moment.
   */
  readonly addresses: ReadonlyMap<EniId, readonly Ip[]>;
  /** Slots to fill all the same. */
  readonly neededCount: number;
}

/**
 * Pure. A prefix can only go whole: one of which a pod took an address before the agent read the wish comes back into
 * service, and so does one that was asked back in part while its ENI was cordoned; they would stay half withdrawn. So do
 * the addresses of a /80 that are granted one by one.
 */
export function takeBack(view: NodeView, pool: Pool): TakenBack {
  const addresses = new Map<EniId, readonly Ip[]>();
  let { returning, choosersShort } = pool.counts;
  // What a kept ENI takes back is not for pods that chose.
  const needed = (role: EniRole = 'current'): number =>
    view.selection.kind === 'None'
      ? 0
      : neededSlotCount(view.settings.targets, {
          ...pool.counts,
          returning,
          choosersShort: role === 'current' ? choosersShort : 0,
        });
  const take = ({ eni, used, role }: PoolEni, taken: readonly Ip[]): void => {
    addresses.set(eni.eniId, [...(addresses.get(eni.eniId) ?? []), ...taken]);
    const count = taken.filter((ip) => !used.includes(ip)).length;
    returning += count;
    if (role === 'current') choosersShort = Math.max(0, choosersShort - count);
  };
  const serving = pool.enis.filter(({ role }) => role === 'current' || role === 'kept');
  for (const one of serving) {
    for (const prefix of stayingPrefixes(one))
      if (prefix.isUsed || !prefix.isWhollyAsked) take(one, prefix.addresses);
  }
  for (const one of serving) {
    for (const prefix of stayingPrefixes(one))
      if (!prefix.isUsed && prefix.isWhollyAsked && !prefix.isWithdrawn && needed(one.role) > 0)
        take(one, prefix.addresses);
    const singles = stayingSingles(one);
    const count = staysInService(one, singles) ? singles.length : needed(one.role) * pool.filling.unit;
    if (singles.length > 0 && count > 0) take(one, singles.slice(0, count));
  }
  return { addresses, neededCount: needed() };
}

const stayingPrefixes = ({ prefixes, draining }: PoolEni): PoolEni['prefixes'] =>
  prefixes.filter(({ isAsked, addresses }) => isAsked && !addresses.some((ip) => draining.has(ip)));

/** What is granted of a /80 is asked back as a whole, while no pod has any of it. */
const staysInService = ({ ipv6, used }: PoolEni, asked: readonly Ip[]): boolean =>
  ipv6.length > 0 && (asked.length < ipv6.length || asked.some((ip) => used.includes(ip)));

const stayingSingles = ({ eni, withdrawing, withdrawn, ipv6, draining }: PoolEni): readonly Ip[] => {
  // No call to EC2 ends their withdrawal: only this does.
  if (ipv6.length > 0)
    return [...withdrawing, ...withdrawn].filter((ip) => familyOf(ip) === 6 && !draining.has(ip));
  if (eni.prefixes.length === 0) return withdrawing.filter((ip) => !draining.has(ip));
  const singles = new Set<Ip>(eni.addresses);
  return withdrawing.filter((ip) => singles.has(ip) && !draining.has(ip));
};
