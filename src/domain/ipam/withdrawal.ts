// The agent's half of the withdrawal handshake: what it may let go, what it may forget, which spec it may follow.
//
// The controller lists an address in `withdrawing`; the agent stops offering it, lets go of it once no pod holds it and
// its rest is over, and says so in `status.withdrawn`; the controller unassigns it and drops it from the spec; the agent
// forgets it. Each side acts on the object alone, so either may crash, or see an old state, at any point.

import type { Ip } from '../address/ip.ts';
import type { Ledger, SpecVersion } from './ledger.ts';
import type { SpecEni } from './node-network.ts';

export const withdrawingAddresses = (enis: readonly SpecEni[]): ReadonlySet<Ip> =>
  new Set(enis.flatMap((eni) => eni.withdrawing));

/** Addresses to let go of now: asked for, held by no pod, rested, and not let go of before. In the spec's order. */
export function answerWithdrawals(ledger: Ledger, enis: readonly SpecEni[]): readonly Ip[] {
  return [...withdrawingAddresses(enis)].filter(
    (ip) => !ledger.holders.has(ip) && !ledger.cooling.has(ip) && !ledger.withdrawn.has(ip),
  );
}

/**
 * Addresses whose withdrawal the controller has closed: a spec newer than the one answered asks for them no more. It
 * either unassigned them, or took the wish back before it saw the answer; both make a later grant a new one. The first spec
 * of an object made anew closes what it does not list: nothing of it was granted, and no other spec may follow.
 */
export function forgettable(
  ledger: Ledger,
  { enis, generation }: { readonly enis: readonly SpecEni[]; readonly generation: number },
): readonly Ip[] {
  const asked = withdrawingAddresses(enis);
  const granted = new Set<Ip>(enis.flatMap((eni) => eni.addresses));
  return [...ledger.withdrawn]
    .filter(([ip, answered]) => !asked.has(ip) && (generation > answered || !granted.has(ip)))
    .map(([ip]) => ip);
}

/**
 * Whether a spec may be followed. `Stale`: a newer one was acted on, maybe before a restart, and going back would offer
 * addresses that are the controller's again.
 */
export function judgeSpec(ledger: Ledger, version: SpecVersion): 'Newer' | 'Current' | 'Stale' {
  if (ledger.formerUids.includes(version.uid)) return 'Stale';
  if (ledger.spec === undefined || ledger.spec.uid !== version.uid) return 'Newer';
  if (version.generation > ledger.spec.generation) return 'Newer';
  return version.generation === ledger.spec.generation ? 'Current' : 'Stale';
}
