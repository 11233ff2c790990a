// The controller's own time: what it measures durations by, whatever anybody does to the machine's clock.

import type { Clock } from '../ports/clock.ts';

/** The time since boot is asked for this often at most, since Linux tells it in a file: milliseconds. */
const CHECK_MS = 1_000;

/**
 * The same clock, but `now` goes on evenly from the time at which this was made, and never goes back: each time that the
 * machine's clock is set, by however much, makes it less than CHECK_MS wrong, until the next check. Its dates are as good as the machine's
 * clock was at the start, so what is told to people is dated by the machine's.
 */
export function steadyClock(clock: Clock): Clock {
  const startedAt = clock.now();
  const bootAtStart = clock.bootNow();
  let steady = startedAt;
  let wall = startedAt;
  let checkedAt = startedAt;
  const now = (): number => {
    const before = wall;
    wall = clock.now();
    const elapsedMs = wall - before;
    if (elapsedMs >= 0 && steady + elapsedMs - checkedAt < CHECK_MS) steady += elapsedMs;
    else {
      steady = Math.max(steady, startedAt + clock.bootNow() - bootAtStart);
      checkedAt = steady;
    }
    return steady;
  };
  return { ...clock, now };
}
