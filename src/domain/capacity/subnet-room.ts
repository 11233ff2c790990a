// What a subnet still has: single addresses, and whole blocks of 16 among them.

import { cidrPrefixLength } from '../address/cidr.ts';
import type { Cidr } from '../address/ip.ts';
import { usableAddressCount } from '../address/subnet.ts';
import { ADDRESSES_PER_PREFIX } from '../instance/slots.ts';

export interface SubnetRoom {
  readonly freeAddressCount: number;
  /** Whole blocks of 16 free addresses, which `freeAddressCount` counts too. */
  readonly freeBlockCount: number;
}

/** More than any plan asks for. */
export const ENDLESS: SubnetRoom = { freeAddressCount: 2 ** 50, freeBlockCount: 2 ** 40 };

const BLOCK_LENGTH = 28;
/** AWS keeps the first four addresses and the last one. */
const RESERVED_BLOCK_COUNT = 2;

/** An empty subnet. */
export const emptyRoom = (cidr: Cidr): SubnetRoom => ({
  freeAddressCount: usableAddressCount(cidr),
  freeBlockCount: Math.max(0, 2 ** Math.max(0, BLOCK_LENGTH - cidrPrefixLength(cidr)) - RESERVED_BLOCK_COUNT),
});

/**
 * After `count` single addresses: EC2 is taken to use up blocks that are broken already before it breaks another. It does
 * not promise that, so a subnet that is full by this count may be without free blocks earlier. A negative count gives
 * addresses back, of which no block becomes whole.
 */
export function takeAddresses({ freeAddressCount, freeBlockCount }: SubnetRoom, count: number): SubnetRoom {
  const free = freeAddressCount - count;
  return {
    freeAddressCount: free,
    freeBlockCount: Math.max(0, Math.min(freeBlockCount, Math.floor(free / ADDRESSES_PER_PREFIX))),
  };
}

/** After `count` blocks, or fewer than nothing: blocks given back. */
export const takeBlocks = ({ freeAddressCount, freeBlockCount }: SubnetRoom, count: number): SubnetRoom => ({
  freeAddressCount: freeAddressCount - count * ADDRESSES_PER_PREFIX,
  freeBlockCount: freeBlockCount - count,
});
