// Keys waiting for a reconcile: each at most once, never two runs of one key at a time, and news before mere looks.

import type { Clock, Timer } from '../ports/clock.ts';

export interface WorkQueue {
  /** Runs the key as soon as a worker is free; while it runs, once more afterwards. */
  add(key: string): void;
  /**
   * Runs each key soon, though nothing is known to have changed for it: a few at a time and with pauses, so that keys
   * with news of their own do not wait for all of them.
   */
  lookAt(keys: Iterable<string>): void;
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

/** Keys of a look that get ready at once: some milliseconds of work, which is what news may have to wait for. */
const LOOK_BATCH_SIZE = 16;
/** Between two batches: the process hears what has come meanwhile. */
const LOOK_PAUSE_MS = 1;
/** While others wait for a worker a look goes on key by key, so that it ends some day. */
const LOOK_PAUSE_BUSY_MS = 100;

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
  const makeReady = (key: string): void => {
    delayed.get(key)?.timer.cancel();
    delayed.delete(key);
    looks.delete(key);
    ready.add(key);
  };
  const looks = createLooks({
    clock: deps.clock,
    isBusy: () => ready.size >= LOOK_BATCH_SIZE,
    start: (keys) => {
      for (const key of keys) makeReady(key);
      pump();
    },
  });
  return {
    add: (key) => {
      if (stopped) return;
      makeReady(key);
      pump();
    },
    lookAt: (keys) => {
      if (stopped) return;
      for (const key of keys) if (!ready.has(key)) looks.add(key);
    },
    addAfter: (key, delayMs) => {
      if (stopped || ready.has(key)) return;
      const at = deps.clock.now() + delayMs;
      const earlier = delayed.get(key);
      if (earlier !== undefined && earlier.at <= at) return;
      earlier?.timer.cancel();
      const timer = deps.clock.timer(delayMs, `queue ${key}`, () => {
        makeReady(key);
        pump();
      });
      delayed.set(key, { at, timer });
    },
    stop: async () => {
      stopped = true;
      looks.stop();
      ready.clear();
      for (const { timer } of delayed.values()) timer.cancel();
      delayed.clear();
      await Promise.all(running.values());
    },
  };
}

interface Looks {
  add(key: string): void;
  delete(key: string): void;
  stop(): void;
}

interface LooksDeps {
  readonly clock: Clock;
  /** Whether many others wait. */
  readonly isBusy: () => boolean;
  readonly start: (keys: readonly string[]) => void;
}

function firstOf(keys: ReadonlySet<string>, count: number): readonly string[] {
  const first: string[] = [];
  for (const key of keys) {
    if (first.length === count) break;
    first.push(key);
  }
  return first;
}

/** Keys that are started batch by batch. */
function createLooks({ clock, isBusy, start }: LooksDeps): Looks {
  const keys = new Set<string>();
  let next: Timer | undefined;
  const arm = (): void => {
    if (keys.size === 0 || next !== undefined) return;
    next = clock.timer(isBusy() ? LOOK_PAUSE_BUSY_MS : LOOK_PAUSE_MS, 'queue looks', () => {
      next = undefined;
      start(firstOf(keys, isBusy() ? 1 : LOOK_BATCH_SIZE));
      arm();
    });
  };
  return {
    add: (key) => {
      keys.add(key);
      arm();
    },
    delete: (key) => {
      keys.delete(key);
    },
    stop: () => {
      next?.cancel();
      keys.clear();
    },
  };
}
