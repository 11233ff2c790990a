// Subnets without a free block: what one node hears from EC2 holds for all nodes, and one of them asks again for all.

import type { SubnetFacts } from '../domain/eniconfig/eni-config.ts';
import type { NodeName, SubnetId } from '../domain/ids.ts';
import type { BlockRefusal } from '../domain/ipam/node-view.ts';

/** A subnet that had no free block is asked for one this often, ms. */
export const BLOCK_RETRY_MS = 120_000;
/** The node that asks again has this long to make room for a block and to ask for it, ms. */
const ASKING_MS = 60_000;

export interface SubnetBlockRefusal extends BlockRefusal {
  /** Asks for a block in the others' place. */
  readonly asking?: NodeName;
  /** How often a single block was refused. */
  readonly singleCount: number;
}

/** Fewer than any count of free addresses. */
const NOTHING_KNOWN = -1;

type Refusals = Map<SubnetId, SubnetBlockRefusal>;

/** EC2 had not `count` free blocks. One may still be had, so a smaller number is asked for at once. */
export function recordBlockRefusal(
  refusals: Refusals,
  subnetId: SubnetId,
  refused: Pick<BlockRefusal, 'message' | 'freeAddressCount'> & {
    readonly count: number;
    readonly now: number;
  },
): void {
  const { message, count, now } = refused;
  const before = refusals.get(subnetId)?.singleCount ?? 0;
  // At the first refusal the last count may be from before whatever broke the blocks up: it proves nothing.
  const freeAddressCount = before === 0 ? NOTHING_KNOWN : refused.freeAddressCount;
  refusals.set(
    subnetId,
    count > 1
      ? { message, freeAddressCount, singleCount: before, until: now }
      : { message, freeAddressCount, singleCount: before + 1, until: now + BLOCK_RETRY_MS },
  );
}

/**
 * EC2 has told how many addresses are free. Our own reckoning between two answers does not count here: it leaves out what
 * was given back.
 */
export function noteFreeCount(
  refusals: Refusals,
  { subnetId, freeAddressCount }: Pick<SubnetFacts, 'subnetId' | 'freeAddressCount'>,
): void {
  const refusal = refusals.get(subnetId);
  if (refusal !== undefined && freeAddressCount < refusal.freeAddressCount)
    refusals.set(subnetId, { ...refusal, freeAddressCount });
}

/** The refusals as a node sees them: to the one that asks again, the time for it has come. */
export const refusalsFor = (
  refusals: Refusals,
  name: NodeName,
  now: number,
): ReadonlyMap<SubnetId, BlockRefusal> =>
  new Map(
    [...refusals].map(([subnetId, { message, freeAddressCount, until, asking }]) => [
      subnetId,
      { message, freeAddressCount, until: asking === name ? Math.min(until, now) : until },
    ]),
  );

/** A node is about to ask for a block: where one was refused, the others wait for what it hears. */
export function claimAsking(refusals: Refusals, subnetId: SubnetId, name: NodeName, now: number): void {
  const refusal = refusals.get(subnetId);
  if (refusal !== undefined && refusal.until <= now)
    refusals.set(subnetId, { ...refusal, until: now + ASKING_MS, asking: name });
}
