// Choosing the address for a pod, on the node, from what the spec grants.

import { cidrContains } from '../address/cidr.ts';
import { type AddressFamily, isDualStack } from '../address/families.ts';
import { type Cidr, familyOf, type Ip } from '../address/ip.ts';
import type { EniId } from '../ids.ts';
import { err, ok, type Result } from '../result.ts';
import { type Allocation, allocationOf, type Ledger, type SandboxKey } from './ledger.ts';
import type { SpecEni } from './node-network.ts';
import { type PodAddressing, podAddressing } from './pod-addresses.ts';

export interface AllocationRequest {
  readonly ledger: Ledger;
  /** The ENIs of the newest spec. */
  readonly enis: readonly SpecEni[];
  /** What the pod is to have. */
  readonly families: readonly AddressFamily[];
  /** Addresses that the host's datapath routes by now. A pod with any other one would be cut off. */
  readonly routed: Pick<ReadonlySet<Ip>, 'has'>;
  readonly sandbox: SandboxKey;
}

export type AllocationChoice =
  /** The sandbox has its address already: ADD is idempotent (CNI-2). */
  | { readonly kind: 'Existing'; readonly allocation: Allocation }
  | {
      readonly kind: 'New';
      /** One of each family that was asked for, IPv4 first. */
      readonly addresses: readonly Ip[];
      readonly eniId: EniId;
      readonly reason: string;
    };

/**
 * Why there is no address, as counts over the granted addresses of the family that is handed out. Each address counts once,
 * under the first that fits.
 */
export interface AllocationFailure {
  readonly eniCount: number;
  readonly addressCount: number;
  readonly usedCount: number;
  readonly withdrawingCount: number;
  readonly coolingCount: number;
  /** On ENIs that take no new pods. */
  readonly cordonedCount: number;
  /** On ENIs without the /80 from which a pod's IPv6 address would come. */
  readonly prefixlessCount: number;
  /** Not in the host's datapath yet: the ENI's link has not appeared, or the tables are being written. */
  readonly unroutedCount: number;
}

/**
 * The fullest ENI first, and on it the fullest prefix, so that others run empty and can be given back; of the addresses
 * there the one that has rested longest, so that a stale connection or ARP entry of the last holder has had the most time
 * to die (U27).
 */
export function allocate(request: AllocationRequest): Result<AllocationChoice, AllocationFailure> {
  const choice = chooseAddress(request);
  return choice === undefined ? err(countFailure(request)) : ok(choice);
}

/** The same for those who do not want to know why there is none: they may ask `countFailure` later. */
export function chooseAddress(request: AllocationRequest): AllocationChoice | undefined {
  const { ledger, enis, families, sandbox } = request;
  const allocation = allocationOf(ledger, sandbox);
  if (allocation !== undefined) return { kind: 'Existing', allocation };
  for (const { eni, usedCount } of fullestFirst(ledger, enis)) {
    const addressing = podAddressing(eni, families);
    if (addressing === undefined) continue;
    const addresses = longestRested(request, eni, addressing);
    if (addresses === undefined) continue;
    const reason = `${addresses[0]} has rested longest on ${eni.eniId}, the fullest ENI with a free address (${usedCount} pods)`;
    return { kind: 'New', addresses, eniId: eni.eniId, reason };
  }
  return undefined;
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
    [failure.prefixlessCount, 'on ENIs that have no IPv6 prefix yet'],
    [failure.unroutedCount, 'on ENIs that are still coming up'],
  ] as const;
  const counts = parts.filter(([count]) => count > 0).map(([count, where]) => `${count} ${where}`);
  return `none of the ${failure.addressCount} granted addresses is free: ${counts.join(', ')}`;
}

interface UsedEni {
  readonly eni: SpecEni;
  readonly usedCount: number;
}

/** Those that are not full. */
function fullestFirst(ledger: Ledger, enis: readonly SpecEni[]): readonly UsedEni[] {
  return enis
    .filter((eni) => !eni.cordoned && !eni.primary)
    .map((eni) => ({ eni, usedCount: eni.addresses.filter((ip) => ledger.holders.has(ip)).length }))
    .filter(({ eni, usedCount }) => usedCount < eni.addresses.length)
    .sort(
      (a, b) =>
        b.usedCount - a.usedCount ||
        a.eni.networkCardIndex - b.eni.networkCardIndex ||
        a.eni.deviceIndex - b.eni.deviceIndex,
    );
}

/** A pod's addresses, of which the granted one has rested longest; none where no address is wholly free. */
function longestRested(
  { ledger, routed }: AllocationRequest,
  eni: SpecEni,
  { granted, addressesOf }: PodAddressing,
): readonly Ip[] | undefined {
  const isFree = (ip: Ip): boolean => placeOf(ledger, eni, ip) === 'free' && routed.has(ip);
  const releasedAt = (ip: Ip): number => ledger.rested.get(ip) ?? Number.NEGATIVE_INFINITY;
  const usedBeside = neighbourCounter(ledger, eni);
  const candidates = granted
    .filter(isFree)
    .map((ip) => ({ ip, at: releasedAt(ip), usedCount: usedBeside(ip) }));
  // Without a number for "never": the difference of two infinities is none.
  candidates.sort((a, b) => b.usedCount - a.usedCount || (a.at === b.at ? 0 : a.at - b.at));
  for (const { ip } of candidates) {
    const addresses = addressesOf(ip);
    if (addresses.every(isFree)) return addresses;
  }
  return undefined;
}

/** Answers how many addresses of the same prefix pods hold; without prefixes all are alike. */
function neighbourCounter(ledger: Ledger, eni: SpecEni): (ip: Ip) => number {
  if (eni.prefixes.length === 0) return () => 0;
  const prefixOf = prefixesByAddress(eni);
  const usedCounts = new Map<Cidr | undefined, number>();
  for (const ip of eni.addresses) {
    if (!ledger.holders.has(ip)) continue;
    const prefix = prefixOf.get(ip);
    usedCounts.set(prefix, (usedCounts.get(prefix) ?? 0) + 1);
  }
  return (ip) => usedCounts.get(prefixOf.get(ip)) ?? 0;
}

/** An ENI of a spec never changes, and to look up where each address belongs is too much for every pod. */
const knownPrefixes = new WeakMap<SpecEni, ReadonlyMap<Ip, Cidr | undefined>>();

/** Single addresses have none. */
function prefixesByAddress(eni: SpecEni): ReadonlyMap<Ip, Cidr | undefined> {
  const known = knownPrefixes.get(eni);
  if (known !== undefined) return known;
  const found = new Map(
    eni.addresses.map((ip) => [ip, eni.prefixes.find((prefix) => cidrContains(prefix, ip))]),
  );
  knownPrefixes.set(eni, found);
  return found;
}

type Place = 'used' | 'withdrawing' | 'cooling' | 'free';

function placeOf(ledger: Ledger, eni: SpecEni, ip: Ip): Place {
  if (ledger.holders.has(ip)) return 'used';
  if (ledger.withdrawn.has(ip) || eni.withdrawing.includes(ip)) return 'withdrawing';
  return ledger.cooling.has(ip) ? 'cooling' : 'free';
}

/** Where the addresses are of which none could be had. */
export function countFailure({ ledger, enis, families, routed }: AllocationRequest): AllocationFailure {
  const secondary = enis.filter((eni) => !eni.primary);
  const places = secondary.flatMap((eni) => {
    const { granted, addressesOf } = podAddressing(eni, families) ?? prefixless(eni);
    return granted.map((ip) => {
      const addresses = addressesOf(ip);
      const place = addresses.map((one) => placeOf(ledger, eni, one)).find((one) => one !== 'free');
      if (place !== undefined) return place;
      if (eni.cordoned) return 'cordoned';
      if (isDualStack(families) && addresses.length < 2) return 'prefixless';
      return addresses.every((one) => routed.has(one)) ? 'free' : 'unrouted';
    });
  });
  const count = (wanted: (typeof places)[number]): number =>
    places.filter((place) => place === wanted).length;
  return {
    eniCount: secondary.length,
    addressCount: places.length,
    usedCount: count('used'),
    withdrawingCount: count('withdrawing'),
    coolingCount: count('cooling'),
    cordonedCount: count('cordoned'),
    prefixlessCount: count('prefixless'),
    unroutedCount: count('unrouted'),
  };
}

/** An ENI without its /80, as if nobody wanted IPv6. */
const prefixless = (eni: SpecEni): PodAddressing => ({
  granted: eni.addresses.filter((ip) => familyOf(ip) === 4),
  addressesOf: (ip) => [ip],
});
