// A level-triggered loop: woken any number of times, it runs once, and never beside itself.

import type { Clock, Timer } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';

/** Pause after a run that threw, which only a programming mistake does, milliseconds. */
const AFTER_MISTAKE_MS = 5000;

export interface Worker {
  /** Runs as soon as the present run, if any, is over. */
  wake(): void;
  /** Runs within `ms` milliseconds, and no sooner unless something else wakes it; of several such wishes the soonest counts. */
  wakeWithin(ms: number): void;
  /** Resolves once nothing runs any more. */
  stop(): Promise<void>;
}

export interface WorkerOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Names the loop in logs and traces. */
  readonly label: string;
  /** Brings everything right as it is now. Answers in how many milliseconds to run again without being woken. */
  readonly run: () => Promise<number | undefined>;
}

interface Plan {
  readonly kind: 'Wish' | 'Resync';
  /** Milliseconds since boot. */
  readonly at: number;
  readonly timer: Timer;
}

export function createWorker({ clock, log, label, run }: WorkerOptions): Worker {
  let running: Promise<void> | undefined;
  /** Whether the present run has begun to read what it works on: a wake before that is served by it. */
  let begun = false;
  let again = false;
  let wishMs: number | undefined;
  let plan: Plan | undefined;
  let stopped = false;

  const schedule = (kind: Plan['kind'], ms: number): void => {
    plan?.timer.cancel();
    plan = { kind, at: clock.bootNow() + ms, timer: clock.timer(ms, label, start) };
  };

  async function runOnce(): Promise<void> {
    let nextMs: number | undefined;
    begun = true;
    try {
      nextMs = await run();
    } catch (error) {
      log.error('a loop of the agent failed; it goes on', { label, error });
      nextMs = AFTER_MISTAKE_MS;
    }
    running = undefined;
    if (stopped) return;
    if (again) start();
    else if (wishMs !== undefined) schedule('Wish', wishMs);
    else if (nextMs !== undefined) schedule('Resync', nextMs);
    wishMs = undefined;
  }

  function start(): void {
    plan?.timer.cancel();
    plan = undefined;
    again = false;
    begun = false;
    // Not on the caller's stack: whoever wakes is in the middle of changing what the run will read.
    running = Promise.resolve().then(runOnce);
  }

  return {
    wake: () => {
      if (stopped) return;
      if (running === undefined) start();
      else if (begun) again = true;
    },
    wakeWithin: (ms) => {
      if (stopped || again) return;
      if (plan?.kind === 'Wish' && plan.at <= clock.bootNow() + ms) return;
      if (running === undefined) schedule('Wish', ms);
      else if (begun) wishMs = Math.min(ms, wishMs ?? ms);
    },
    stop: async () => {
      stopped = true;
      plan?.timer.cancel();
      await running;
    },
  };
}
