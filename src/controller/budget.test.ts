// The budget: buckets, refill, and what a throttle does.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Clock } from '../ports/clock.ts';
import { createBudget } from './budget.ts';

function steppedClock(): { clock: Clock; advance(ms: number): void } {
  let now = 1_000_000;
  const refuse = (): never => {
    throw new Error('the budget never waits by itself');
  };
  return {
    clock: { now: () => now, timer: refuse, sleep: refuse },
    advance: (ms) => {
      now += ms;
    },
  };
}

test('[API-1] a full bucket gives its size at once, then its rate', () => {
  const { clock, advance } = steppedClock();
  const budget = createBudget(clock);
  let granted = 0;
  while (budget.take('AttachNetworkInterface').granted) granted += 1;
  assert.equal(granted, 50);
  const refused = budget.take('AttachNetworkInterface');
  assert.ok(!refused.granted);
  assert.equal(refused.waitMs, 200, 'five a second');
  advance(refused.waitMs);
  assert.ok(budget.take('AttachNetworkInterface').granted);
  assert.ok(!budget.take('AttachNetworkInterface').granted);
});

test('actions have buckets of their own', () => {
  const { clock } = steppedClock();
  const budget = createBudget(clock);
  while (budget.take('CreateNetworkInterface').granted);
  assert.ok(budget.take('AttachNetworkInterface').granted);
});

test('[API-1] a throttle empties the bucket and halves the rate, which then recovers', () => {
  const { clock, advance } = steppedClock();
  const budget = createBudget(clock);
  budget.throttled('AssignPrivateIpAddresses');
  const first = budget.take('AssignPrivateIpAddresses');
  assert.ok(!first.granted && first.waitMs === 400);
  budget.throttled('AssignPrivateIpAddresses');
  const second = budget.take('AssignPrivateIpAddresses');
  assert.ok(!second.granted && second.waitMs === 800);
  advance(60_000);
  while (budget.take('AssignPrivateIpAddresses').granted);
  const recovered = budget.take('AssignPrivateIpAddresses');
  assert.ok(!recovered.granted && recovered.waitMs <= 200);
});

test('a clock that jumps back refills nothing', () => {
  const { clock, advance } = steppedClock();
  const budget = createBudget(clock);
  while (budget.take('DetachNetworkInterface').granted);
  advance(-10_000);
  assert.ok(!budget.take('DetachNetworkInterface').granted);
});
