// Addresses as numbers: conversions and order.

import { assert } from '../result.ts';
import { familyOf, type Ip, type IpFamily } from './ip.ts';
import { canonicalIpv4Value, writeIpv4 } from './ipv4-text.ts';
import { canonicalIpv6Value, canonicalIpv6Words, type Ipv6Words, readIpv6, writeIpv6 } from './ipv6-text.ts';

const IPV4_END = 0x1_0000_0000;
const IPV6_END = 1n << 128n;

/** Value of an IPv4 address in [0, 2^32). */
export const ipv4ToNumber = (ip: Ip): number => canonicalIpv4Value(ip);

/** The IPv4 address of a value in [0, 2^32). */
export function ipv4FromNumber(value: number): Ip {
  assert(Number.isInteger(value) && value >= 0 && value < IPV4_END, 'an IPv4 value lies in [0, 2^32)');
  return writeIpv4(value) as Ip;
}

/** Value of an address: in [0, 2^32) for IPv4, in [0, 2^128) for IPv6. */
export function ipToBigInt(ip: Ip): bigint {
  if (familyOf(ip) === 4) return BigInt(canonicalIpv4Value(ip));
  const canonical = canonicalIpv6Value(ip);
  if (canonical !== undefined) return canonical;
  const value = readIpv6(ip);
  assert(value.ok, 'an Ip holds text that a parser accepted');
  return value.value;
}

/** The address of a family with the value. */
export function ipFromBigInt(family: IpFamily, value: bigint): Ip {
  if (family === 4) return ipv4FromNumber(Number(value));
  assert(value >= 0n && value < IPV6_END, 'an IPv6 value lies in [0, 2^128)');
  return writeIpv6(value) as Ip;
}

/** A sorted copy, by `compareIps`. What is sorted already, as most lists are, costs one comparison an address. */
export function sortedIps(ips: Iterable<Ip>): readonly Ip[] {
  const copy = [...ips];
  for (let index = 1; index < copy.length; index += 1)
    if (compareIps(copy[index - 1] as Ip, copy[index] as Ip) > 0) return copy.sort(compareIps);
  return copy;
}

/** Sort order: IPv4 before IPv6, then by value. Negative, zero or positive. */
export function compareIps(a: Ip, b: Ip): number {
  const family = familyOf(a);
  if (family !== familyOf(b)) return family === 4 ? -1 : 1;
  if (family === 4) return canonicalIpv4Value(a) - canonicalIpv4Value(b);
  if (a === b) return 0;
  const [wordsA, wordsB] = [canonicalIpv6Words(a), canonicalIpv6Words(b)];
  if (wordsA !== undefined && wordsB !== undefined) return compareWords(wordsA, wordsB);
  return ipToBigInt(a) < ipToBigInt(b) ? -1 : 1;
}

const compareWords = (a: Ipv6Words, b: Ipv6Words): number =>
  a[0] - b[0] || a[1] - b[1] || a[2] - b[2] || a[3] - b[3];
