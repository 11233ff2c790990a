// Choosing the address for a pod, on the node, from what the spec grants.

import type { Ip } from '../address/ip.ts';
import type { EniId } from '../ids.ts';
import { err, ok, type Result } from '../result.ts';
import { type Allocation, allocationOf, type Ledger, type SandboxKey } from './ledger.ts';
import type { SpecEni } from './node-network.ts';

export interface AllocationRequest {
  readonly ledger: Ledger;
  /** The ENIs of the newest spec. */
  readonly enis: readonly SpecEni[];
  /** Addresses that the host's datapath routes by now. A pod with any other one would be cut off. */
  readonly routed: ReadonlySet<Ip>;
  readonly sandbox: SandboxKey;
}

export type AllocationChoice =
  /** The sandbox has its address already: ADD is idempotent (CNI-2). */
  | { readonly kind: 'Existing'; readonly allocation: Allocation }
  | { readonly kind: 'New'; readonly ip: Ip; readonly eniId: EniId; readonly reason: string };

/** Why there is no address, as counts over the granted addresses. Each address counts once, under the first that fits. */
export interface AllocationFailure {
  readonly eniCount: number;
  readonly addressCount: number;
  readonly usedCount: number;
  readonly withdrawingCount: number;
  readonly coolingCount: number;
  /** On ENIs that take no new pods. */
  readonly cordonedCount: number;
  /** Not in the host's datapath yet: the ENI's link has not appeared, or the tables are being written. */
  readonly unroutedCount: number;
}

/**
 * The fullest ENI first, so that others run empty and can be given back; on it, the address that has rested longest, so
 * that a stale connection or ARP entry of the last holder has had the most time to die (U27).
 */
export function allocate(request: AllocationRequest): Result<AllocationChoice, AllocationFailure> {
  const { ledger, enis, routed, sandbox } = request;
  const allocation = allocationOf(ledger, sandbox);
  if (allocation !== undefined) return ok({ kind: 'Existing', allocation });
  for (const { eni, usedCount } of fullestFirst(ledger, enis)) {
    const ip = longestRested(ledger, eni, routed);
    if (ip === undefined) continue;
    const reason = `${ip} has rested longest on ${eni.eniId}, the fullest ENI with a free address (${usedCount} pods)`;
    return ok({ kind: 'New', ip, eniId: eni.eniId, reason });
  }
  return err(countFailure(request));
}

/** One sentence: where the granted addresses are. */
export function describeFailure(failure: AllocationFailure): string {
  if (failure.eniCount === 0) return 'no ENI has been granted to this node yet';
  if (failure.addressCount === 0) return `none of the ${failure.eniCount} ENIs has an address for pods yet`;
  const parts = [
    [failure.usedCount, 'used by pods'],
    [failure.coolingCount, 'in cooldown'],
    [failure.withdrawingCount, 'being withdrawn'],
    [failure.cordonedCount, 'on cordoned ENIs'],
    [failure.unroutedCount, 'on ENIs that are still coming up'],
  ] as const;
  const counts = parts.filter(([count]) => count > 0).map(([count, where]) => `${count} ${where}`);
  return `none of the ${failure.addressCount} granted addresses is free: ${counts.join(', ')}`;
}

interface UsedEni {
  readonly eni: SpecEni;
  readonly usedCount: number;
}

function fullestFirst(ledger: Ledger, enis: readonly SpecEni[]): readonly UsedEni[] {
  return enis
    .filter((eni) => !eni.cordoned && !eni.primary)
    .map((eni) => ({ eni, usedCount: eni.addresses.filter((ip) => ledger.holders.has(ip)).length }))
    .sort(
      (a, b) =>
        b.usedCount - a.usedCount ||
        a.eni.networkCardIndex - b.eni.networkCardIndex ||
        a.eni.deviceIndex - b.eni.deviceIndex,
    );
}

function longestRested(ledger: Ledger, eni: SpecEni, routed: ReadonlySet<Ip>): Ip | undefined {
  let best: Ip | undefined;
  let bestReleasedAt = Number.POSITIVE_INFINITY;
  for (const ip of eni.addresses) {
    if (placeOf(ledger, eni, ip) !== 'free' || !routed.has(ip)) continue;
    const releasedAt = ledger.rested.get(ip) ?? Number.NEGATIVE_INFINITY;
    if (releasedAt < bestReleasedAt || best === undefined) {
      best = ip;
      bestReleasedAt = releasedAt;
    }
  }
  return best;
}

type Place = 'used' | 'withdrawing' | 'cooling' | 'free';

function placeOf(ledger: Ledger, eni: SpecEni, ip: Ip): Place {
  if (ledger.holders.has(ip)) return 'used';
  if (ledger.withdrawn.has(ip) || eni.withdrawing.includes(ip)) return 'withdrawing';
  return ledger.cooling.has(ip) ? 'cooling' : 'free';
}

function countFailure({ ledger, enis, routed }: AllocationRequest): AllocationFailure {
  const secondary = enis.filter((eni) => !eni.primary);
  const places = secondary.flatMap((eni) =>
    eni.addresses.map((ip) => {
      const place = placeOf(ledger, eni, ip);
      if (place !== 'free') return place;
      return eni.cordoned ? 'cordoned' : routed.has(ip) ? 'free' : 'unrouted';
    }),
  );
  const count = (wanted: (typeof places)[number]): number =>
    places.filter((place) => place === wanted).length;
  return {
    eniCount: secondary.length,
    addressCount: places.length,
    usedCount: count('used'),
    withdrawingCount: count('withdrawing'),
    coolingCount: count('cooling'),
    cordonedCount: count('cordoned'),
    unroutedCount: count('unrouted'),
  };
}
