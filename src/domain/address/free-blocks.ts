// The aligned blocks of a subnet that hold no taken address: what prefix delegation can still get.

import { assert } from '../result.ts';
import { blockOf, cidrContains, cidrContainsCidr, cidrPrefixLength, cidrSize, firstAddress } from './cidr.ts';
import { bitsOf, type Cidr, familyOf, type Ip } from './ip.ts';
import { ipFromBigInt, ipToBigInt } from './ip-number.ts';

export interface FreeBlockQuery {
  readonly subnet: Cidr;
  /** Addresses and prefixes in use. Those outside the subnet are of no account. */
  readonly used: Iterable<Ip | Cidr>;
  /** Addresses and blocks that may not be used: `reservedAddresses(subnet)`, subnet CIDR reservations. */
  readonly reserved: Iterable<Ip | Cidr>;
  /** Prefix length of the blocks, such as 28 or 80. A length shorter than the subnet's finds none. */
  readonly blockLength: number;
}

/** Block numbers must be exact as doubles. */
const BLOCK_BITS_MAX = 52;

/** Block numbers from `first` to `last`, both included. */
interface Run {
  readonly first: number;
  readonly last: number;
}

/** The free blocks in address order, made as they are asked for: an IPv6 subnet has more of them than memory. */
export function* freeBlocks(query: FreeBlockQuery): Generator<Cidr, void, undefined> {
  const family = familyOf(query.subnet);
  const base = ipToBigInt(firstAddress(query.subnet));
  const shift = BigInt(bitsOf(family) - query.blockLength);
  for (const { first, last } of freeRuns(query)) {
    for (let block = first; block <= last; block++) {
      yield blockOf(ipFromBigInt(family, base + (BigInt(block) << shift)), query.blockLength);
    }
  }
}

/** How many blocks `freeBlocks` would list, without listing them. */
export function freeBlockCount(query: FreeBlockQuery): number {
  let count = 0;
  for (const { first, last } of freeRuns(query)) count += last - first + 1;
  return count;
}

/** The gaps between the taken runs. */
function freeRuns(query: FreeBlockQuery): readonly Run[] {
  const bits = bitsOf(familyOf(query.subnet));
  assert(
    Number.isInteger(query.blockLength) && query.blockLength >= 0 && query.blockLength <= bits,
    `a block length lies in [0, ${bits}]`,
  );
  const blockBits = query.blockLength - cidrPrefixLength(query.subnet);
  if (blockBits < 0) return [];
  assert(blockBits <= BLOCK_BITS_MAX, `${query.subnet} has at most 2^${BLOCK_BITS_MAX} blocks`);
  const free: Run[] = [];
  let next = 0;
  for (const taken of takenRuns(query)) {
    if (taken.first > next) free.push({ first: next, last: taken.first - 1 });
    next = Math.max(next, taken.last + 1);
  }
  const end = 2 ** blockBits;
  if (next < end) free.push({ first: next, last: end - 1 });
  return free;
}

/** Block numbers that something taken touches, sorted by the first. */
function takenRuns(query: FreeBlockQuery): readonly Run[] {
  const base = ipToBigInt(firstAddress(query.subnet));
  const shift = BigInt(bitsOf(familyOf(query.subnet)) - query.blockLength);
  const runs: Run[] = [];
  for (const list of [query.used, query.reserved]) {
    for (const taken of list) {
      const range = rangeWithin(query.subnet, taken);
      if (range === undefined) continue;
      runs.push({
        first: Number((range.first - base) >> shift),
        last: Number((range.last - base) >> shift),
      });
    }
  }
  return runs.sort((a, b) => a.first - b.first);
}

/** First and last value of the part of `taken` that lies in the subnet. */
function rangeWithin(
  subnet: Cidr,
  taken: Ip | Cidr,
): { readonly first: bigint; readonly last: bigint } | undefined {
  if (!isCidr(taken)) {
    if (!cidrContains(subnet, taken)) return undefined;
    const value = ipToBigInt(taken);
    return { first: value, last: value };
  }
  const inner = cidrContainsCidr(taken, subnet) ? subnet : taken;
  if (!cidrContainsCidr(subnet, inner)) return undefined;
  const first = ipToBigInt(firstAddress(inner));
  return { first, last: first + cidrSize(inner) - 1n };
}

export const isCidr = (text: Ip | Cidr): text is Cidr => text.includes('/');
