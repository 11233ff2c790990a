// Keys waiting for a reconcile: each at most once, never two runs of one key at a time.

import type { Clock, Timer } from '../ports/clock.ts';

export interface WorkQueue {
  /** Runs the key as soon as a worker is free; while it runs, once more afterwards. */
  add(key: string): void;
  /** Runs the key after a delay unless it runs earlier; of several delays the shortest counts. */
  addAfter(key: string, delayMs: number): void;
  /** Drops what waits and starts nothing more; resolves when the running ones have ended. */
  stop(): Promise<void>;
}

export interface WorkQueueDeps {
  readonly clock: Clock;
  /** Runs one key; must not reject. */
  readonly run: (key: string) => Promise<void>;
  readonly workerCount: number;
}

/** A queue with de-duplication and delays. Keys run in the order in which they became ready. */
export function createWorkQueue(deps: WorkQueueDeps): WorkQueue {
  const ready = new Set<string>();
  const running = new Map<string, Promise<void>>();
  const delayed = new Map<string, { at: number; timer: Timer }>(); // key -> its earliest delayed run
  let stopped = false;

  const pump = (): void => {
    for (const key of ready) {
      if (stopped || running.size >= deps.workerCount) return;
      if (running.has(key)) continue;
      ready.delete(key);
      const run = deps.run(key).then(() => {
        running.delete(key);
        pump();
      });
      running.set(key, run);
    }
  };
  const add = (key: string): void => {
    if (stopped) return;
    delayed.get(key)?.timer.cancel();
    delayed.delete(key);
    ready.add(key);
    pump();
  };
  return {
    add,
    addAfter: (key, delayMs) => {
      if (stopped || ready.has(key)) return;
      const at = deps.clock.now() + delayMs;
      const earlier = delayed.get(key);
      if (earlier !== undefined && earlier.at <= at) return;
      earlier?.timer.cancel();
      const timer = deps.clock.timer(delayMs, `queue ${key}`, () => add(key));
      delayed.set(key, { at, timer });
    },
    stop: async () => {
      stopped = true;
      ready.clear();
      for (const { timer } of delayed.values()) timer.cancel();
      delayed.clear();
      await Promise.all(running.values());
    },
  };
}
