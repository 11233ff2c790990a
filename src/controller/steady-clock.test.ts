// Time that nobody sets.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import type { Clock } from '../ports/clock.ts';
import { steadyClock } from './steady-clock.ts';

const START = Date.UTC(2026, 10, 30);
const HOUR_MS = 3_600_000;

interface Machine {
  elapsedMs: number;
  errorMs: number;
  bootReadCount: number;
}

const clockOf = (machine: Machine): Clock => ({
  now: () => START + machine.elapsedMs + machine.errorMs,
  bootNow: () => {
    machine.bootReadCount += 1;
    return 77_000 + machine.elapsedMs;
  },
  timer: () => ({ cancel: () => {} }),
  sleep: () => Promise.resolve(),
});

describe('[RST-4] the steady clock', () => {
  for (const jumpMs of [-2 * HOUR_MS, -1, 1, 2 * HOUR_MS]) {
    test(`a machine's clock that is set by ${jumpMs} ms changes no duration by a second`, () => {
      const machine = { elapsedMs: 0, errorMs: 0, bootReadCount: 0 };
      const clock = steadyClock(clockOf(machine));
      machine.errorMs = jumpMs;
      machine.elapsedMs = 60_000;
      assert.ok(Math.abs(clock.now() - START - 60_000) < 1_000);
    });
  }

  test('whatever is done to the clock, it never goes back, and is a second off at most for each time', () => {
    const step = fc.record({
      elapsedMs: fc.nat({ max: 3_000 }),
      jumpMs: fc.oneof(fc.constant(0), fc.integer({ min: -900, max: 900 }), fc.integer()),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const machine = { elapsedMs: 0, errorMs: 0, bootReadCount: 0 };
        const clock = steadyClock(clockOf(machine));
        let last = clock.now();
        let jumpCount = 0;
        for (const { elapsedMs, jumpMs } of steps) {
          machine.elapsedMs += elapsedMs;
          machine.errorMs += jumpMs;
          jumpCount += jumpMs === 0 ? 0 : 1;
          const now = clock.now();
          assert.ok(now >= last);
          last = now;
          const offMs = Math.abs(now - START - machine.elapsedMs);
          assert.ok(offMs <= 1_000 * jumpCount, `${offMs} ms off after ${jumpCount} times`);
        }
      }),
    );
  });

  test('on a busy machine whose clock is right, the time since boot is asked for once a second', () => {
    const machine = { elapsedMs: 0, errorMs: 0, bootReadCount: 0 };
    const clock = steadyClock(clockOf(machine));
    for (let n = 0; n < 100_000; n += 1) {
      machine.elapsedMs += 0.1;
      clock.now();
    }
    assert.ok(machine.bootReadCount <= 11, `${machine.bootReadCount} times in ten seconds`);
  });
});
