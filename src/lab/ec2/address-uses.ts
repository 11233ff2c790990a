// What becomes of each address of a subnet, and which of its /28 blocks are free as a whole.

import { type BlockPool, createBlockPool } from './block-pool.ts';

export const FREE = 0;
export const RESERVED = 1;
export const TAKEN = 2;
export const OCCUPIED = 3;
/** Free, for prefixes alone: within a subnet CIDR reservation of type prefix. */
const KEPT = 4;

export const PREFIX_SIZE = 16;

export interface AddressUses {
  /** One byte per address: subnets are /16 to /28 in AWS, so it is little. */
  readonly of: Uint8Array;
  /** Free /28 blocks outside all reservations. */
  readonly wholeBlocks: BlockPool;
  /** Free /28 blocks within a reservation. */
  readonly keptBlocks: BlockPool;
  /** Addresses that are free for anybody. */
  freeCount(): number;
  /** Addresses that are free for prefixes alone. */
  keptCount(): number;
  hasReservation(): boolean;
  /** `FREE` within a reservation is free for prefixes alone. */
  put(index: number, use: number): void;
  /** The block is for prefixes alone from now on, whatever addresses in it are in use still. */
  keep(block: number): void;
}

/** All are free at first. */
export function createAddressUses(size: number): AddressUses {
  const of = new Uint8Array(size);
  const blockCount = size / PREFIX_SIZE;
  const unusedIn = new Uint8Array(blockCount).fill(PREFIX_SIZE);
  const isKept = new Uint8Array(blockCount);
  const wholeBlocks = createBlockPool(blockCount);
  const keptBlocks = createBlockPool(blockCount);
  for (let block = 0; block < blockCount; block++) wholeBlocks.set(block, true);
  const counts = new Map([[FREE, size]]);
  let reservedBlockCount = 0;
  const count = (use: number, change: number): void => {
    counts.set(use, (counts.get(use) ?? 0) + change);
  };
  const isUnused = (use: number | undefined): boolean => use === FREE || use === KEPT;
  const put = (index: number, use: number): void => {
    const block = Math.floor(index / PREFIX_SIZE);
    const before = of[index] ?? FREE;
    const after = use === FREE && isKept[block] === 1 ? KEPT : use;
    of[index] = after;
    count(before, -1);
    count(after, 1);
    const unusedCount = (unusedIn[block] ?? 0) + Number(isUnused(after)) - Number(isUnused(before));
    unusedIn[block] = unusedCount;
    const pool = isKept[block] === 1 ? keptBlocks : wholeBlocks;
    const isWhole = unusedCount === PREFIX_SIZE;
    if (pool.isFree(block) !== isWhole) pool.set(block, isWhole);
  };
  return {
    of,
    wholeBlocks,
    keptBlocks,
    freeCount: () => counts.get(FREE) ?? 0,
    keptCount: () => counts.get(KEPT) ?? 0,
    hasReservation: () => reservedBlockCount > 0,
    put,
    keep: (block) => {
      if (isKept[block] === 1) return;
      if (wholeBlocks.isFree(block)) {
        wholeBlocks.set(block, false);
        keptBlocks.set(block, true);
      }
      isKept[block] = 1;
      reservedBlockCount += 1;
      const start = block * PREFIX_SIZE;
      for (let index = start; index < start + PREFIX_SIZE; index++) if (of[index] === FREE) put(index, FREE);
    },
  };
}
