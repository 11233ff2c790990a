// Draws from a Random that worlds and scenarios share.

import { assert } from '../../domain/result.ts';
import { type Random, randomInt } from '../../ports/random.ts';

/** True with the given odds, 0 (never, and no draw) to 1 (always). */
export const chance = (random: Random, odds: number): boolean =>
  odds > 0 && random.uint32() < odds * 0x1_0000_0000;

/** A range of whole numbers, both ends included. */
export interface Range {
  readonly min: number;
  readonly max: number;
}

export const drawBetween = (random: Random, range: Range): number =>
  range.max <= range.min ? range.min : range.min + randomInt(random, range.max - range.min + 1);

/** How far people and daemons set a clock wrong, ms: by a second, half a minute, ten minutes, two hours. */
const CLOCK_ERRORS_MS = [1_000, 30_000, 600_000, 7_200_000] as const;

/** How far off a clock is after it was set: right in one of three cases, else to either side. Milliseconds. */
export function drawClockErrorMs(random: Random): number {
  const errorMs = pick(random, CLOCK_ERRORS_MS);
  return pick(random, [0, errorMs, -errorMs]);
}

export function pick<T>(random: Random, items: readonly T[]): T {
  assert(items.length > 0, 'one of no items is picked');
  return items[randomInt(random, items.length)] as T;
}

/** A shuffled copy (Fisher and Yates). */
export function shuffled<T>(random: Random, items: readonly T[]): T[] {
  const copy = [...items];
  for (let last = copy.length - 1; last > 0; last--) {
    const other = randomInt(random, last + 1);
    const moved = copy[last] as T;
    copy[last] = copy[other] as T;
    copy[other] = moved;
  }
  return copy;
}
