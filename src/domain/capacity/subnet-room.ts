// What a subnet still has: single addresses, and whole blocks of 16 among them.

import type { Cidr } from '../address/ip.ts';
import {
  freeBlocksFor,
  NO_RESERVATIONS,
  type SubnetReservations,
  unreservedCount,
} from '../address/subnet-reservations.ts';
import { ADDRESSES_PER_PREFIX } from '../instance/slots.ts';

export interface SubnetRoom {
  readonly freeAddressCount: number;
  /** Whole blocks of 16 free addresses, which `freeAddressCount` counts too. */
  readonly freeBlockCount: number;
  /** The blocks are reserved for prefixes: they are none of the free addresses, and those are in none of them. */
  readonly isApart?: true;
}

/** More than any plan asks for. */
export const ENDLESS: SubnetRoom = { freeAddressCount: 2 ** 50, freeBlockCount: 2 ** 40 };

/** An empty subnet. */
export const emptyRoom = (cidr: Cidr, reservations: SubnetReservations = NO_RESERVATIONS): SubnetRoom => ({
  freeAddressCount: unreservedCount(cidr, reservations),
  freeBlockCount: freeBlocksFor(cidr, reservations, []),
  ...(reservations.prefix.length > 0 ? { isApart: true } : {}),
});

/**
 * After `count` single addresses: EC2 is taken to use up blocks that are broken already before it breaks another. It does
 * not promise that, so a subnet that is full by this count may be without free blocks earlier. A negative count gives
 * addresses back, of which no block becomes whole.
 */
export function takeAddresses(room: SubnetRoom, count: number): SubnetRoom {
  const free = room.freeAddressCount - count;
  if (room.isApart === true) return { ...room, freeAddressCount: free };
  return {
    freeAddressCount: free,
    freeBlockCount: Math.max(0, Math.min(room.freeBlockCount, Math.floor(free / ADDRESSES_PER_PREFIX))),
  };
}

/** After `count` blocks, or fewer than nothing: blocks given back. */
export const takeBlocks = (room: SubnetRoom, count: number): SubnetRoom => ({
  ...room,
  freeAddressCount: room.freeAddressCount - (room.isApart === true ? 0 : count * ADDRESSES_PER_PREFIX),
  freeBlockCount: room.freeBlockCount - count,
});
