// How long to wait before the next try.

import { type Random, randomInt } from '../../ports/random.ts';

const FIRST_MS = 200;
const LONGEST_MS = 30_000;
/** A server that asks for more is asked again all the same: an hour of `Retry-After` would be an outage. */
const RETRY_AFTER_MAX_MS = 60_000;

/**
 * Wait before try number `failureCount` + 1, ms: doubling, and a random half of it, so that a thousand agents do not
 * come back in step. What the server asked for is the least.
 */
export function backOffMs(random: Random, failureCount: number, retryAfterMs = 0): number {
  const full = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(failureCount, 16));
  const own = full / 2 + randomInt(random, Math.ceil(full / 2));
  return Math.min(retryAfterMs, RETRY_AFTER_MAX_MS) + own;
}
