// A sleep that can be cut short.

import type { Clock } from '../ports/clock.ts';

export interface Wakeup {
  /** Resolves after `ms` (`Infinity`: never by itself), or at once when `wake` was called since the last wait. */
  wait(ms: number): Promise<void>;
  wake(): void;
}

/** One waiter at a time. */
export function createWakeup(clock: Clock, label: string): Wakeup {
  let woken = false;
  let resume: (() => void) | undefined;
  return {
    wait: (ms) => {
      if (woken) {
        woken = false;
        return Promise.resolve();
      }
      return new Promise((resolve) => {
        const timer = Number.isFinite(ms) ? clock.timer(ms, label, () => resume?.()) : undefined;
        resume = () => {
          timer?.cancel();
          resume = undefined;
          woken = false;
          resolve();
        };
      });
    },
    wake: () => {
      woken = true;
      resume?.();
    },
  };
}
