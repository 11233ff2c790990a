// The machine's clock.

import type { Clock } from '../../ports/clock.ts';
import type { MonotonicNow } from '../../ports/leadership.ts';

/** Real time. Its timers keep the process alive until they have run or are cancelled. */
export const systemClock: Clock = {
  now: () => Date.now(),
  timer: (ms, _label, run) => {
    const timeout = setTimeout(run, ms);
    return { cancel: () => clearTimeout(timeout) };
  },
  sleep: (ms) =>
    new Promise((resolve) => {
      setTimeout(resolve, ms);
    }),
};

/** Since the process started; stands still while the machine sleeps (CLOCK_MONOTONIC). */
export const systemMonotonicNow: MonotonicNow = () => performance.now();
