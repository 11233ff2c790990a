// CIDR blocks: strict parsing and arithmetic.

import { assert, err, ok, type Result } from '../result.ts';
import { bitsOf, type Cidr, familyOf, type Ip, type IpFamily } from './ip.ts';
import { ipFromBigInt, ipToBigInt, ipv4FromNumber } from './ip-number.ts';
import { canonicalIpv4Value } from './ipv4-text.ts';
import { parseIp } from './parse-ip.ts';
import { quote } from './quote.ts';

const LENGTH = /^(?:0|[1-9][0-9]{0,2})$/;

/**
 * Reads ADDRESS/LENGTH. A block with host bits set is an error that names the right block, because it is nearly always
 * a slip, and guessing would put addresses in a subnet that nobody wrote.
 */
export function parseCidr(text: string): Result<Cidr, string> {
  const slash = text.indexOf('/');
  if (slash < 0) return err(`${quote(text)} is not a CIDR block: it has no prefix length, as in 10.0.0.0/16`);
  const ip = parseIp(text.slice(0, slash));
  if (!ip.ok) return err(`${quote(text)} is not a CIDR block: ${ip.error}`);
  const lengthText = text.slice(slash + 1);
  const length = LENGTH.test(lengthText) ? Number(lengthText) : Number.NaN;
  const bits = bitsOf(familyOf(ip.value));
  if (!(length <= bits))
    return err(
      `${quote(text)} is not a CIDR block: the prefix length must be a whole number from 0 to ${bits}`,
    );
  const block = blockOf(ip.value, length);
  return block === `${ip.value}/${length}`
    ? ok(block)
    : err(`${quote(text)} has host bits set: the block of ${ip.value} is ${block}`);
}

/** Length of the network part in bits. */
export const cidrPrefixLength = (cidr: Cidr): number => Number(cidr.slice(cidr.indexOf('/') + 1));

/** First address of the block. */
export const firstAddress = (cidr: Cidr): Ip => cidr.slice(0, cidr.indexOf('/')) as Ip;

/** Last address of the block. */
export const lastAddress = (cidr: Cidr): Ip => nthAddress(cidr, cidrSize(cidr) - 1n);

/** The block of the given prefix length in which the address lies. */
export function blockOf(ip: Ip, prefixLength: number): Cidr {
  const family = familyOf(ip);
  const bits = bitsOf(family);
  assert(
    Number.isInteger(prefixLength) && prefixLength >= 0 && prefixLength <= bits,
    `a prefix length of IPv${family} lies in [0, ${bits}]`,
  );
  if (family === 4) {
    const size = 2 ** (bits - prefixLength);
    const value = canonicalIpv4Value(ip);
    return `${ipv4FromNumber(value - (value % size))}/${prefixLength}` as Cidr;
  }
  const hostBits = BigInt(bits - prefixLength);
  return `${ipFromBigInt(family, (ipToBigInt(ip) >> hostBits) << hostBits)}/${prefixLength}` as Cidr;
}

/** The block that holds the address alone: /32 or /128. */
export const hostCidr = (ip: Ip): Cidr => `${ip}/${bitsOf(familyOf(ip))}` as Cidr;

/** Number of addresses in the block, AWS's reserved ones included. */
export const cidrSize = (cidr: Cidr): bigint => 1n << BigInt(bitsOf(familyOf(cidr)) - cidrPrefixLength(cidr));

/** Whether the address lies in the block; an address of the other family never does. */
export function cidrContains(cidr: Cidr, ip: Ip): boolean {
  const family: IpFamily = familyOf(cidr);
  if (family !== familyOf(ip)) return false;
  const slash = cidr.indexOf('/');
  const hostBitCount = bitsOf(family) - Number(cidr.slice(slash + 1));
  if (family === 4) {
    const offset = canonicalIpv4Value(ip) - canonicalIpv4Value(cidr, slash);
    return offset >= 0 && offset < 2 ** hostBitCount;
  }
  const hostBits = BigInt(hostBitCount);
  return ipToBigInt(ip) >> hostBits === ipToBigInt(cidr.slice(0, slash) as Ip) >> hostBits;
}

/** Whether every address of `inner` lies in `outer`; a block contains itself. */
export const cidrContainsCidr = (outer: Cidr, inner: Cidr): boolean =>
  cidrPrefixLength(outer) <= cidrPrefixLength(inner) && cidrContains(outer, firstAddress(inner));

/** Whether the blocks share an address. Blocks are aligned, so they do exactly when one contains the other. */
export const cidrOverlaps = (a: Cidr, b: Cidr): boolean => cidrContainsCidr(a, b) || cidrContainsCidr(b, a);

/** Address number `n` of the block, counted from 0; `n` must be smaller than the block's size. */
export function nthAddress(cidr: Cidr, n: number | bigint): Ip {
  const index = BigInt(n);
  assert(index >= 0n && index < cidrSize(cidr), `${cidr} has an address number ${n}`);
  return ipFromBigInt(familyOf(cidr), ipToBigInt(firstAddress(cidr)) + index);
}

/** Sort order: IPv4 before IPv6, then by first address, then the larger block first. */
export function compareCidrs(a: Cidr, b: Cidr): number {
  const family = familyOf(a);
  if (family !== familyOf(b)) return family === 4 ? -1 : 1;
  const firstA = ipToBigInt(firstAddress(a));
  const firstB = ipToBigInt(firstAddress(b));
  if (firstA !== firstB) return firstA < firstB ? -1 : 1;
  return cidrPrefixLength(a) - cidrPrefixLength(b);
}
