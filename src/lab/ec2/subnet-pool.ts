// The IPv4 addresses of one subnet: which are free, and who takes the others.

import { blockOf, cidrSize, firstAddress } from '../../domain/address/cidr.ts';
import type { Cidr, Ip } from '../../domain/address/ip.ts';
import { ipv4FromNumber, ipv4ToNumber } from '../../domain/address/ip-number.ts';
import { reservedAddresses } from '../../domain/address/subnet.ts';
import { assert } from '../../domain/result.ts';
import { type Random, randomInt } from '../../ports/random.ts';
import {
  type AddressUses,
  createAddressUses,
  FREE,
  OCCUPIED,
  PREFIX_SIZE,
  RESERVED,
  TAKEN,
} from './address-uses.ts';

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
  /** One address, the last, of each of at most `count` whole free /28 blocks. */
  takeScattered(count: number): readonly Ip[];
  /** Gives back addresses that `take` or `takeScattered` gave out. */
  give(addresses: readonly Ip[]): void;
  /**
   * Whole free /28 blocks, aligned as AWS aligns them: all of them, or undefined and none. Of the reservation for
   * prefixes, where there is one: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-prefix-eni.html
   */
  takePrefixes(request: TakeRequest): readonly Cidr[] | undefined;
  /** Gives back prefixes that `takePrefixes` gave out. */
  givePrefixes(prefixes: readonly Cidr[]): void;
  /** /28 blocks without any address in use, of which prefixes are taken. */
  freePrefixCount(): number;
  /** Free addresses that only prefixes may have, and that no count of free ones holds. */
  keptCount(): number;
  /** A subnet CIDR reservation of type prefix: a block of /28 or larger within the subnet. */
  keepForPrefixes(block: Cidr): void;
  /** Occupies at most `count` free addresses, highest first; answers how many. */
  occupy(count: number): number;
  /** Frees at most `count` occupied addresses, lowest first; answers how many. */
  vacate(count: number): number;
}

const PREFIX_LENGTH = 28;

export function createSubnetPool(cidr: Cidr): SubnetPool {
  const base = ipv4ToNumber(firstAddress(cidr));
  const size = Number(cidrSize(cidr));
  const uses = createAddressUses(size);
  const reserved = reservedAddresses(cidr);
  for (const address of reserved) uses.put(ipv4ToNumber(address) - base, RESERVED);
  // Every address below is not free, so a search for the lowest free one may start here.
  let lowestFree = 0;

  const free = (index: number): void => {
    uses.put(index, FREE);
    lowestFree = Math.min(lowestFree, index);
  };
  const giveRange = (what: Ip | Cidr, start: number, count: number): void => {
    for (let index = start; index < start + count; index++) {
      assert(uses.of[index] === TAKEN, `${what} of ${cidr} is given back by an ENI that holds it`);
      free(index);
    }
  };

  return {
    size,
    reservedCount: reserved.length,
    freeCount: () => uses.freeCount(),
    take: ({ count, order }) => {
      if (count > uses.freeCount()) return undefined;
      const taken: Ip[] = [];
      while (taken.length < count) {
        const index = firstFree(uses.of, order === undefined ? lowestFree : randomInt(order, size));
        if (order === undefined) lowestFree = index + 1;
        uses.put(index, TAKEN);
        taken.push(ipv4FromNumber(base + index));
      }
      return taken;
    },
    takeScattered: (count) => {
      const { wholeBlocks } = uses;
      const blocks = wholeBlocks.find(Math.min(count, wholeBlocks.freeCount()), undefined) ?? [];
      return blocks.map((block) => {
        const index = (block + 1) * PREFIX_SIZE - 1;
        uses.put(index, TAKEN);
        return ipv4FromNumber(base + index);
      });
    },
    give: (addresses) => {
      for (const address of addresses) giveRange(address, ipv4ToNumber(address) - base, 1);
    },
    takePrefixes: ({ count, order }) =>
      (uses.hasReservation() ? uses.keptBlocks : uses.wholeBlocks).find(count, order)?.map((block) => {
        const start = block * PREFIX_SIZE;
        for (let index = start; index < start + PREFIX_SIZE; index++) uses.put(index, TAKEN);
        return blockOf(ipv4FromNumber(base + start), PREFIX_LENGTH);
      }),
    givePrefixes: (prefixes) => {
      for (const prefix of prefixes) {
        giveRange(prefix, ipv4ToNumber(firstAddress(prefix)) - base, PREFIX_SIZE);
      }
    },
    freePrefixCount: () => (uses.hasReservation() ? uses.keptBlocks : uses.wholeBlocks).freeCount(),
    keptCount: () => uses.keptCount(),
    keepForPrefixes: (block) => {
      const start = ipv4ToNumber(firstAddress(block)) - base;
      const end = start + Number(cidrSize(block));
      for (let index = start; index < end; index += PREFIX_SIZE) uses.keep(index / PREFIX_SIZE);
    },
    ...occupationOf(uses, free),
  };
}

/** What others than ENIs take. */
function occupationOf(
  uses: AddressUses,
  free: (index: number) => void,
): Pick<SubnetPool, 'occupiedCount' | 'occupy' | 'vacate'> {
  let occupiedCount = 0;
  return {
    occupiedCount: () => occupiedCount,
    occupy: (count) => {
      const found = indexesOf(uses.of, FREE).slice(count === 0 ? uses.of.length : -count);
      for (const index of found) uses.put(index, OCCUPIED);
      occupiedCount += found.length;
      return found.length;
    },
    vacate: (count) => {
      const found = indexesOf(uses.of, OCCUPIED).slice(0, count);
      for (const index of found) free(index);
      occupiedCount -= found.length;
      return found.length;
    },
  };
}

/** Numbers of the addresses that are of this use. */
function indexesOf(uses: Uint8Array, use: number): readonly number[] {
  const indexes: number[] = [];
  for (let index = uses.indexOf(use); index >= 0; index = uses.indexOf(use, index + 1)) indexes.push(index);
  return indexes;
}

/** The first free address from `start` on, beginning anew at the end of the block. */
function firstFree(use: Uint8Array, start: number): number {
  const behind = use.indexOf(FREE, start);
  const index = behind < 0 ? use.indexOf(FREE) : behind;
  assert(index >= 0, 'a pool that counts free addresses has one');
  return index;
}
