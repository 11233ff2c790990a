// The addresses of one subnet: which are free, and who takes the others.

import { cidrSize, firstAddress } from '../../domain/address/cidr.ts';
import type { Cidr, Ip } from '../../domain/address/ip.ts';
import { ipv4FromNumber, ipv4ToNumber } from '../../domain/address/ip-number.ts';
import { reservedAddresses } from '../../domain/address/subnet.ts';
import { assert } from '../../domain/result.ts';
import { type Random, randomInt } from '../../ports/random.ts';

/** `order` draws where the search for a free address starts; the lowest free address first without it. */
export interface TakeRequest {
  readonly count: number;
  readonly order?: Random;
}

export interface SubnetPool {
  readonly size: number;
  /** AWS's own five. */
  readonly reservedCount: number;
  freeCount(): number;
  /** Held by others than ENIs (load balancers and the like): the lab's filling. */
  occupiedCount(): number;
  /** All of them, or undefined and none. */
  take(request: TakeRequest): readonly Ip[] | undefined;
  /** Gives back addresses that `take` gave out. */
  give(addresses: readonly Ip[]): void;
  /** Occupies at most `count` free addresses, highest first; answers how many. */
  occupy(count: number): number;
  /** Frees at most `count` occupied addresses, lowest first; answers how many. */
  vacate(count: number): number;
}

const FREE = 0;
const RESERVED = 1;
const TAKEN = 2;
const OCCUPIED = 3;

/** Subnets are /16 to /28 in AWS, so one byte per address is little. */
export function createSubnetPool(cidr: Cidr): SubnetPool {
  const base = ipv4ToNumber(firstAddress(cidr));
  const size = Number(cidrSize(cidr));
  const use = new Uint8Array(size);
  const reserved = reservedAddresses(cidr);
  for (const address of reserved) use[ipv4ToNumber(address) - base] = RESERVED;
  let freeCount = size - reserved.length;
  let occupiedCount = 0;
  // Every address below is not free, so a search for the lowest free one may start here.
  let lowestFree = 0;

  const free = (index: number): void => {
    use[index] = FREE;
    freeCount += 1;
    lowestFree = Math.min(lowestFree, index);
  };

  return {
    size,
    reservedCount: reserved.length,
    freeCount: () => freeCount,
    occupiedCount: () => occupiedCount,
    take: ({ count, order }) => {
      if (count > freeCount) return undefined;
      const taken: Ip[] = [];
      while (taken.length < count) {
        const index = firstFree(use, order === undefined ? lowestFree : randomInt(order, size));
        if (order === undefined) lowestFree = index + 1;
        use[index] = TAKEN;
        freeCount -= 1;
        taken.push(ipv4FromNumber(base + index));
      }
      return taken;
    },
    give: (addresses) => {
      for (const address of addresses) {
        const index = ipv4ToNumber(address) - base;
        assert(use[index] === TAKEN, `${address} of ${cidr} is given back by an ENI that holds it`);
        free(index);
      }
    },
    occupy: (count) => {
      let done = 0;
      for (let index = size - 1; index >= 0 && done < count; index--) {
        if (use[index] !== FREE) continue;
        use[index] = OCCUPIED;
        done += 1;
      }
      freeCount -= done;
      occupiedCount += done;
      return done;
    },
    vacate: (count) => {
      let done = 0;
      for (let index = 0; index < size && done < count; index++) {
        if (use[index] !== OCCUPIED) continue;
        free(index);
        done += 1;
      }
      occupiedCount -= done;
      return done;
    },
  };
}

/** The first free address from `start` on, beginning anew at the end of the block. */
function firstFree(use: Uint8Array, start: number): number {
  const behind = use.indexOf(FREE, start);
  const index = behind < 0 ? use.indexOf(FREE) : behind;
  assert(index >= 0, 'a pool that counts free addresses has one');
  return index;
}
