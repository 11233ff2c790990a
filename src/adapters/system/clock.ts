// The machine's clock.

import { readFileSync } from 'node:fs';
import type { Clock } from '../../ports/clock.ts';

const UPTIME = '/proc/uptime';

/**
 * Since the machine booted, its sleep included (CLOCK_BOOTTIME, which Linux tells in /proc/uptime in hundredths of a
 * second: proc(5)). Elsewhere since the process started, and a machine's sleep is missing: for trying things out only.
 */
const bootNow: Clock['bootNow'] =
  process.platform === 'linux'
    ? () => Number.parseFloat(readFileSync(UPTIME, 'latin1')) * 1000
    : () => performance.now();

/** Real time. Its timers keep the process alive until they have run or are cancelled. */
export const systemClock: Clock = {
  now: () => Date.now(),
  bootNow,
  timer: (ms, _label, run) => {
    const timeout = setTimeout(run, ms);
    return { cancel: () => clearTimeout(timeout) };
  },
  sleep: (ms) =>
    new Promise((resolve) => {
      setTimeout(resolve, ms);
    }),
};
