// The /80 that EC2 delegates to an ENI, and which of its addresses are whose.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-prefix-eni.html

import { assert } from '../result.ts';
import { cidrContains, cidrPrefixLength, firstAddress, lastAddress, nthAddress } from './cidr.ts';
import { type Cidr, familyOf, type Ip } from './ip.ts';
import { ipFromBigInt, ipToBigInt } from './ip-number.ts';

/** EC2 delegates IPv6 in blocks of this length alone. */
export const IPV6_PREFIX_LENGTH = 80;

/** Addresses of a /80 that are granted to pods without IPv4: more pods than kubelet runs on any node (250). */
export const LISTED_IPV6_ADDRESS_COUNT = 256;

export const isIpv6Prefix = (cidr: Cidr): boolean =>
  familyOf(cidr) === 6 && cidrPrefixLength(cidr) === IPV6_PREFIX_LENGTH;

/**
 * The IPv6 address of a pod that has both: the ENI's /80 with the pod's IPv4 address as its low 32 bits. As nobody else
 * has the IPv4 address, nobody else has this one; and it needs no record of its own.
 */
export function ipv6AddressOf(prefix: Cidr, ipv4: Ip): Ip {
  assert(isIpv6Prefix(prefix) && familyOf(ipv4) === 4, `${prefix} is a /80, and ${ipv4} an IPv4 address`);
  return ipFromBigInt(6, ipToBigInt(firstAddress(prefix)) + ipToBigInt(ipv4));
}

/**
 * The addresses of a /80 that pods without IPv4 may have, from ::1 on. None is one of `ipv6AddressOf`, as no subnet holds
 * an IPv4 address below 0.0.1.1.
 */
export function listedIpv6Addresses(prefix: Cidr): readonly Ip[] {
  // All of them differ in the last group alone, which is zero in none: so their texts do, too.
  const stem = nthAddress(prefix, 1).slice(0, -1);
  return Array.from({ length: LISTED_IPV6_ADDRESS_COUNT }, (_, n) => `${stem}${(n + 1).toString(16)}` as Ip);
}

/** Whether it is one of `listedIpv6Addresses`. */
export function isListedIpv6Address(prefix: Cidr, ip: Ip): boolean {
  if (!cidrContains(prefix, ip)) return false;
  const offset = ipToBigInt(ip) - ipToBigInt(firstAddress(prefix));
  return offset >= 1n && offset <= BigInt(LISTED_IPV6_ADDRESS_COUNT);
}

/** The address of a /80 that is the node's own on the ENI: the last one, which is never a pod's. */
export const hostIpv6Address = (prefix: Cidr): Ip => lastAddress(prefix);
