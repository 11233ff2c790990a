// The IPv6 prefixes of one subnet: which are free.

import { blockOf, cidrSize, firstAddress, nthAddress } from '../../domain/address/cidr.ts';
import { bitsOf, type Cidr } from '../../domain/address/ip.ts';
import { ipToBigInt } from '../../domain/address/ip-number.ts';
import { createBlockPool } from './block-pool.ts';
import type { TakeRequest } from './subnet-pool.ts';

export interface Ipv6PrefixPool {
  /** /80 blocks: all of them, or undefined and none. */
  take(request: TakeRequest): readonly Cidr[] | undefined;
  give(prefixes: readonly Cidr[]): void;
}

const IPV6_PREFIX_LENGTH = 80;

/** The /80 blocks of a subnet's /64, but for the first and the last, in which AWS's own five addresses lie. */
export function createIpv6PrefixPool(cidr: Cidr): Ipv6PrefixPool {
  const shift = BigInt(bitsOf(6) - IPV6_PREFIX_LENGTH);
  const base = ipToBigInt(firstAddress(cidr));
  const blockCount = Number(cidrSize(cidr) >> shift);
  const blocks = createBlockPool(blockCount);
  for (let block = 1; block < blockCount - 1; block++) blocks.set(block, true);
  return {
    take: ({ count, order }) =>
      blocks.find(count, order)?.map((block) => {
        blocks.set(block, false);
        return blockOf(nthAddress(cidr, BigInt(block) << shift), IPV6_PREFIX_LENGTH);
      }),
    give: (prefixes) => {
      for (const prefix of prefixes) {
        blocks.set(Number((ipToBigInt(firstAddress(prefix)) - base) >> shift), true);
      }
    },
  };
}
