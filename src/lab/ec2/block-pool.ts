// The blocks of one size in a subnet that EC2 gives out whole: which are free.

import { assert } from '../../domain/result.ts';
import { type Random, randomInt } from '../../ports/random.ts';

/** Numbers of free blocks, counted from 0 in the order of their addresses. */
export interface BlockPool {
  isFree(block: number): boolean;
  freeCount(): number;
  /** The block becomes free, or ceases to be; it was the other before. */
  set(block: number, isFree: boolean): void;
  /** Numbers of `count` free blocks, or undefined when there are not so many. `order` draws where the search begins. */
  find(count: number, order: Random | undefined): readonly number[] | undefined;
}

/** None is free at first. */
export function createBlockPool(blockCount: number): BlockPool {
  const free = new Uint8Array(blockCount);
  let freeCount = 0;
  return {
    isFree: (block) => free[block] === 1,
    freeCount: () => freeCount,
    set: (block, isFree) => {
      assert(free[block] === (isFree ? 0 : 1), `block ${block} changes from taken to free or back`);
      free[block] = isFree ? 1 : 0;
      freeCount += isFree ? 1 : -1;
    },
    find: (count, order) => {
      if (count > freeCount) return undefined;
      const found = new Set<number>();
      while (found.size < count) {
        let block = free.indexOf(1, order === undefined ? 0 : randomInt(order, blockCount));
        // What is found already is still free here, and the search begins anew at the end.
        for (let step = 0; step <= blockCount && (block < 0 || found.has(block)); step++) {
          block = free.indexOf(1, block + 1);
        }
        found.add(block);
      }
      return [...found];
    },
  };
}
