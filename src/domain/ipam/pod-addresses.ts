// Which addresses a pod gets with a granted one, and which of an ENI's addresses pods may hold at all.

import { type AddressFamily, grantedFamily, isDualStack } from '../address/families.ts';
import { cidrContains } from '../address/cidr.ts';
import { type Cidr, familyOf, type Ip } from '../address/ip.ts';
import { ipv6AddressOf, isIpv6Prefix } from '../address/ipv6-prefix.ts';
import { prefixAddresses } from '../address/prefix.ts';
import type { SpecEni } from './node-network.ts';

type Granted = Pick<SpecEni, 'addresses' | 'prefixes'>;

/** The /80 of an ENI, once EC2 has given it one. */
export const ipv6PrefixOf = ({ prefixes }: Pick<SpecEni, 'prefixes'>): Cidr | undefined =>
  prefixes.find(isIpv6Prefix);

/** What pods of the families can be given on an ENI. */
export interface PodAddressing {
  /** Of the ENI's addresses, those that are handed out. */
  readonly granted: readonly Ip[];
  /** A pod's addresses, by the one that it is handed: IPv4 first. */
  readonly addressesOf: (ip: Ip) => readonly Ip[];
}

/** Undefined: the ENI's /80 is not there yet, so nobody can have both families on it. */
export function podAddressing(eni: Granted, families: readonly AddressFamily[]): PodAddressing | undefined {
  const family = grantedFamily(families);
  const granted = eni.addresses.filter((ip) => familyOf(ip) === family);
  if (!isDualStack(families)) return { granted, addressesOf: (ip) => [ip] };
  const prefix = ipv6PrefixOf(eni);
  return prefix && { granted, addressesOf: (ip) => [ip, ipv6AddressOf(prefix, ip)] };
}

/**
 * Every address that a pod of the ENI may hold, whatever the families are just now: a pod keeps both of its addresses when
 * new ones get only one.
 */
export function holdableAddresses(eni: Granted): readonly Ip[] {
  const prefix = ipv6PrefixOf(eni);
  if (prefix === undefined) return eni.addresses;
  return eni.addresses.flatMap((ip) => (familyOf(ip) === 4 ? [ip, ipv6AddressOf(prefix, ip)] : [ip]));
}

/** Whether a pod of the ENI could hold the address: as one that is granted, or as one of the ENI's /80. */
export function isOfEni(eni: Granted, ip: Ip): boolean {
  if (eni.addresses.includes(ip)) return true;
  const prefix = ipv6PrefixOf(eni);
  return prefix !== undefined && cidrContains(prefix, ip);
}

/** What an ENI of a spec holds, as EC2 has it: single addresses, blocks, and /80s. */
export function slotContentOf({ addresses, prefixes }: Granted): {
  readonly addresses: readonly Ip[];
  readonly prefixes: readonly Cidr[];
  readonly ipv6Prefixes: readonly Cidr[];
} {
  const blocks = prefixes.filter((prefix) => familyOf(prefix) === 4);
  const ofBlocks = new Set<Ip>(blocks.flatMap(prefixAddresses));
  return {
    addresses: addresses.filter((ip) => familyOf(ip) === 4 && !ofBlocks.has(ip)),
    prefixes: blocks,
    ipv6Prefixes: prefixes.filter((prefix) => familyOf(prefix) === 6),
  };
}
