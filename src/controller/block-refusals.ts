// Subnets without a free block: what one node hears from EC2 holds for all nodes, and one of them asks again for all.

import type { NodeName, SubnetId } from '../domain/ids.ts';
import type { BlockRefusal } from '../domain/ipam/node-view.ts';

/** A subnet that had no free block is asked for one this often, ms. */
export const BLOCK_RETRY_MS = 120_000;
/** The node that asks again has this long to make room for a block and to ask for it, ms. */
const ASKING_MS = 60_000;

export interface SubnetBlockRefusal extends BlockRefusal {
  /** Asks for a block in the others' place. */
  readonly asking?: NodeName;
}

type Refusals = Map<SubnetId, SubnetBlockRefusal>;

/** EC2 had not `count` free blocks. One may still be had, so a smaller number is asked for at once. */
export function recordBlockRefusal(
  refusals: Refusals,
  subnetId: SubnetId,
  refused: { readonly message: string; readonly count: number; readonly now: number },
): void {
  const { message, count, now } = refused;
  refusals.set(subnetId, { message, until: count > 1 ? now : now + BLOCK_RETRY_MS });
}

/** The refusals as a node sees them: to the one that asks again, the time for it has come. */
export const refusalsFor = (
  refusals: Refusals,
  name: NodeName,
  now: number,
): ReadonlyMap<SubnetId, BlockRefusal> =>
  new Map(
    [...refusals].map(([subnetId, { message, until, asking }]) => [
      subnetId,
      { message, until: asking === name ? Math.min(until, now) : until },
    ]),
  );

/** A node is about to ask for a block: where one was refused, the others wait for what it hears. */
export function claimAsking(refusals: Refusals, subnetId: SubnetId, name: NodeName, now: number): void {
  const refusal = refusals.get(subnetId);
  if (refusal !== undefined && refusal.until <= now)
    refusals.set(subnetId, { message: refusal.message, until: now + ASKING_MS, asking: name });
}
