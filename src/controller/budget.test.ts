// The budget: buckets, refill, the line before an empty one, and what a throttle does.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { createKernel } from '../lab/kernel/kernel.ts';
import type { Priority } from './budget-line.ts';
import { type Budget, type BudgetAction, createBudget } from './budget.ts';

interface World {
  /** Timers that have gone off since the start. */
  eventCount(): number;
  readonly budget: Budget;
  /** Keys in the order in which they were called, `KEY@SECONDS`. */
  readonly calls: string[];
  now(): number;
  run(ms: number): Promise<void>;
  /** Takes with a key of its own until refused; answers how many were granted. */
  empty(action: BudgetAction): number;
}

function createWorld(onTurn?: (key: string, budget: Budget) => void): World {
  const kernel = createKernel({ seed: 1 });
  const startMs = kernel.now();
  const calls: string[] = [];
  const budget = createBudget({
    clock: kernel.clock('budget'),
    onTurn: (key) => {
      calls.push(`${key}@${(kernel.now() - startMs) / 1000}`);
      onTurn?.(key, budget);
    },
  });
  return {
    eventCount: () => kernel.eventCount(),
    budget,
    calls,
    now: () => kernel.now(),
    run: async (ms) => {
      // Something always lies ahead, or the kernel's time would end with the last timer.
      kernel.clock('test').timer(ms + 1, 'after', () => undefined);
      await kernel.run({ untilMs: kernel.now() + ms, drain: () => new Promise((go) => setImmediate(go)) });
    },
    empty: (action) => {
      let granted = 0;
      while (budget.take(action, { key: 'greedy', priority: 'WarmPool' })) granted += 1;
      budget.forget('greedy');
      return granted;
    },
  };
}

const pods = (key: string): { key: string; priority: Priority } => ({ key, priority: 'WaitingPods' });

test('[API-1] a full bucket gives its size but for a reserve, then its rate', async () => {
  const { budget, empty, run } = createWorld();
  assert.equal(empty('AttachNetworkInterface'), 48);
  await run(1000);
  assert.equal(empty('AttachNetworkInterface'), 5, 'five a second');
  await run(60_000);
  assert.equal(empty('AttachNetworkInterface'), 48, 'and never more than its size');
  assert.equal(budget.facts().find((one) => one.action === 'AttachNetworkInterface')?.grantedCount, 101);
});

test('actions have buckets of their own', () => {
  const { budget, empty } = createWorld();
  empty('CreateNetworkInterface');
  assert.ok(budget.take('AttachNetworkInterface', pods('a')));
});

suite('the line before an empty bucket', () => {
  const takeAgain = (action: BudgetAction) => (key: string, budget: Budget) => {
    assert.ok(budget.take(action, pods(key)), `${key} gets the token for which it was called`);
  };

  test('[API-5] keys are called at the rate of the bucket, each once, in the order of their urgency and arrival', async () => {
    const { budget, calls, empty, run } = createWorld(takeAgain('AttachNetworkInterface'));
    empty('AttachNetworkInterface');
    const wishes: readonly [string, Priority][] = [
      ['garbage', 'Garbage'],
      ['warm-1', 'WarmPool'],
      ['release', 'Release'],
      ['pods-1', 'WaitingPods'],
      ['new', 'NewNode'],
      ['warm-2', 'WarmPool'],
      ['pods-2', 'WaitingPods'],
    ];
    for (const [key, priority] of wishes)
      assert.ok(!budget.take('AttachNetworkInterface', { key, priority }));
    await run(10_000);
    assert.deepEqual(calls, [
      'pods-1@0.2',
      'pods-2@0.4',
      'new@0.6',
      'warm-1@0.8',
      'warm-2@1',
      'release@1.2',
      'garbage@1.4',
    ]);
    const facts = budget.facts().find((one) => one.action === 'AttachNetworkInterface');
    assert.equal(facts?.waitedMs, 200 + 400 + 600 + 800 + 1000 + 1200 + 1400);
  });

  test('nobody who is less urgent takes a token past those that wait', async () => {
    const { budget, calls, empty, run } = createWorld();
    empty('AssignPrivateIpAddresses');
    assert.ok(!budget.take('AssignPrivateIpAddresses', pods('first')));
    await run(199);
    assert.ok(!budget.take('AssignPrivateIpAddresses', { key: 'second', priority: 'WarmPool' }));
    await run(1);
    assert.deepEqual(calls, ['first@0.2']);
    assert.ok(!budget.take('AssignPrivateIpAddresses', pods('third')), 'the token is claimed');
    assert.ok(budget.take('AssignPrivateIpAddresses', pods('first')));
  });

  test('a key whose wish becomes urgent moves ahead', async () => {
    const { budget, calls, empty, run } = createWorld(takeAgain('CreateNetworkInterface'));
    empty('CreateNetworkInterface');
    for (const key of ['a', 'b']) budget.take('CreateNetworkInterface', { key, priority: 'WarmPool' });
    budget.take('CreateNetworkInterface', pods('b'));
    await run(1000);
    assert.deepEqual(calls, ['b@0.2', 'a@0.4']);
  });

  test('whoever does not come is waited for without looking again and again, and then holds up nobody', async () => {
    const { budget, calls, empty, run, eventCount } = createWorld();
    empty('AttachNetworkInterface');
    budget.take('AttachNetworkInterface', pods('absent'));
    await run(8_000);
    assert.deepEqual(calls, ['absent@0.2']);
    assert.ok(eventCount() < 5, `${eventCount()} timers went off`);
    assert.equal(empty('AttachNetworkInterface'), 40, 'its token is given to others');
  });

  test('while somebody is waited for, the next one is called as soon as there is a token', async () => {
    const { budget, calls, empty, run } = createWorld();
    empty('AttachNetworkInterface');
    budget.take('AttachNetworkInterface', pods('absent'));
    await run(210);
    assert.ok(!budget.take('AttachNetworkInterface', pods('b')));
    await run(1_000);
    assert.deepEqual(calls, ['absent@0.2', 'b@0.4']);
  });

  test('whoever does not come, wants something else or is forgotten holds up nobody', async () => {
    const { budget, calls, empty, run } = createWorld();
    empty('CreateNetworkInterface');
    for (const key of ['gone', 'elsewhere', 'forgotten', 'patient'])
      budget.take('CreateNetworkInterface', pods(key));
    budget.take('DetachNetworkInterface', pods('elsewhere'));
    budget.forget('forgotten');
    await run(10_000);
    assert.deepEqual(calls, ['gone@0.2', 'patient@0.4']);
    assert.ok(empty('CreateNetworkInterface') > 45, 'claims lapse');
  });
});

suite('a throttle', () => {
  const share = (budget: Budget, action: BudgetAction): number | undefined =>
    budget.facts().find((one) => one.action === action)?.rateShare;

  test('[API-1] empties the bucket and halves the rate of its action alone; the rate recovers within a minute', async () => {
    const { budget, empty, run } = createWorld();
    budget.throttled('AssignPrivateIpAddresses', 0);
    assert.equal(empty('AssignPrivateIpAddresses'), 0);
    assert.equal(share(budget, 'AssignPrivateIpAddresses'), 0.5);
    assert.equal(share(budget, 'AttachNetworkInterface'), 1);
    await run(1000);
    assert.equal(empty('AssignPrivateIpAddresses'), 2);
    await run(60_000);
    assert.equal(share(budget, 'AssignPrivateIpAddresses'), 1);
  });

  test('many answers to calls that were under way together halve it once', async () => {
    const { budget, run, now } = createWorld();
    const sentAt = now();
    await run(100);
    for (let n = 0; n < 30; n += 1) budget.throttled('AttachNetworkInterface', sentAt);
    assert.equal(share(budget, 'AttachNetworkInterface'), 0.5);
    budget.throttled('AttachNetworkInterface', now());
    assert.equal(share(budget, 'AttachNetworkInterface'), 0.25);
  });
});

test('reads are told how long to wait, and pages are paid afterwards', () => {
  const { budget } = createWorld();
  budget.charge('Describe', 98);
  assert.deepEqual(budget.takeRead(), { granted: false, waitMs: 50 });
  budget.charge('Describe', 19);
  assert.deepEqual(budget.takeRead(), { granted: false, waitMs: 1000 });
});

test('a clock that jumps back refills nothing', () => {
  let now = 1_000_000;
  const refuse = (): never => {
    throw new Error('nobody waits');
  };
  const budget = createBudget({
    clock: { now: () => now, bootNow: () => now, timer: () => ({ cancel: () => undefined }), sleep: refuse },
    onTurn: refuse,
  });
  while (budget.take('DetachNetworkInterface', pods('a')));
  now -= 10_000;
  assert.ok(!budget.take('DetachNetworkInterface', pods('a')));
});
