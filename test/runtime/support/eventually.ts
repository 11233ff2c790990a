// Waits for what must come to be.

import { setTimeout as sleep } from 'node:timers/promises';

const LOOK_MS = 50;

/** Looks until `attempt` answers something else than undefined. Throws after `withinMs`, naming what did not come. */
export async function eventually<T>(
  what: string,
  withinMs: number,
  attempt: () => Promise<T | undefined> | T | undefined,
): Promise<T> {
  const end = performance.now() + withinMs;
  for (;;) {
    const value = await attempt();
    if (value !== undefined) return value;
    if (performance.now() > end) throw new Error(`not within ${withinMs} ms: ${what}`);
    await sleep(LOOK_MS);
  }
}
