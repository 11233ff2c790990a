// The loops of the agent: one run at a time, no wake lost, none too many; locks and cooldowns beside them.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { applyRecord, ledgerFrom } from '../domain/ipam/apply-record.ts';
import type { Ledger } from '../domain/ipam/ledger.ts';
import { rested, sandbox } from '../domain/ipam/testing-node.ts';
import { ip } from '../domain/address/testing.ts';
import { createKernel, type Kernel } from '../lab/kernel/kernel.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import { createCooldowns } from './cooldowns.ts';
import { createKeyedLock } from './keyed-lock.ts';
import { createWorker, type Worker } from './worker.ts';

const drain = (): Promise<void> => setImmediate();
const pass = (kernel: Kernel, ms: number): Promise<unknown> =>
  kernel.run({ untilMs: kernel.now() + ms, drain });

interface Bench {
  readonly kernel: Kernel;
  readonly worker: Worker;
  /** Virtual times at which a run began, milliseconds since the start. */
  readonly runs: number[];
  readonly errors: string[];
}

function bench(run: (clock: Clock, runCount: number) => Promise<number | undefined>): Bench {
  const kernel = createKernel({ seed: 1 });
  const clock = kernel.clock('worker');
  const startedAt = kernel.now();
  const runs: number[] = [];
  const errors: string[] = [];
  const quiet = (): void => {};
  const log: Log = {
    debug: quiet,
    info: quiet,
    warn: quiet,
    error: (text) => errors.push(text),
    mark: quiet,
  };
  const worker = createWorker({
    clock,
    log,
    label: 'loop',
    run: () => {
      runs.push(kernel.now() - startedAt);
      return run(clock, runs.length);
    },
  });
  return { kernel, worker, runs, errors };
}

/** A run that takes 100 ms. */
const slowly = async (clock: Clock): Promise<undefined> => {
  await clock.sleep(100, 'work');
};

describe('a worker', () => {
  test('runs once for many wakes', async () => {
    const { kernel, worker, runs } = bench(slowly);
    for (let n = 0; n < 5; n++) worker.wake();
    await pass(kernel, 1000);
    assert.deepEqual(runs, [0]);
  });

  test('runs again, once, for wakes that come while it runs: what it has read may be old', async () => {
    const { kernel, worker, runs } = bench(slowly);
    worker.wake();
    await pass(kernel, 50);
    for (let n = 0; n < 5; n++) worker.wake();
    await pass(kernel, 1000);
    assert.deepEqual(runs, [0, 100]);
  });

  test('batches wakes within a time, counted from the first', async () => {
    const { kernel, worker, runs } = bench(slowly);
    for (let n = 0; n < 4; n++) {
      worker.wakeWithin(300);
      await pass(kernel, 90);
    }
    await pass(kernel, 1000);
    assert.deepEqual(runs, [300]);
  });

  test('comes back by itself when the run says so, and earlier when it is woken', async () => {
    const { kernel, worker, runs } = bench(async () => 1000);
    worker.wake();
    await pass(kernel, 2500);
    worker.wake();
    await pass(kernel, 1500);
    assert.deepEqual(runs, [0, 1000, 2000, 2500, 3500]);
  });

  test('goes on after a mistake, with a pause, and tells of it', async () => {
    const { kernel, worker, runs, errors } = bench(async (_clock, runCount) => {
      if (runCount === 1) throw new Error('a mistake');
      return undefined;
    });
    worker.wake();
    await pass(kernel, 10_000);
    assert.deepEqual([runs, errors.length], [[0, 5000], 1]);
  });

  test('stopped, runs no more, and is stopped only once its run is over', async () => {
    const { kernel, worker, runs } = bench(slowly);
    worker.wake();
    await pass(kernel, 50);
    let isStopped = false;
    const stopped = worker.stop().then(() => {
      isStopped = true;
    });
    worker.wake();
    worker.wakeWithin(10);
    await pass(kernel, 40);
    assert.equal(isStopped, false);
    await pass(kernel, 1000);
    await stopped;
    assert.deepEqual(runs, [0]);
  });
});

test('a lock runs one at a time for a key, in order, others beside it, and goes on after a failure', async () => {
  const kernel = createKernel({ seed: 1 });
  const clock = kernel.clock('lock');
  const lock = createKeyedLock();
  const seen: string[] = [];
  const work = (key: string, name: string): Promise<void> =>
    lock(key, async () => {
      seen.push(`${name} begins`);
      await clock.sleep(10, name);
      seen.push(`${name} ends`);
      if (name === 'a1') throw new Error('a1 failed');
    });
  const all = Promise.allSettled([work('a', 'a1'), work('a', 'a2'), work('b', 'b1')]);
  await pass(kernel, 100);
  const outcomes = await all;
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['rejected', 'fulfilled', 'fulfilled'],
  );
  assert.deepEqual(
    seen.filter((one) => one.startsWith('a')),
    ['a1 begins', 'a1 ends', 'a2 begins', 'a2 ends'],
  );
  assert.ok(seen.indexOf('b1 begins') < seen.indexOf('a1 ends'));
});

describe('a cooldown', () => {
  const A = ip('10.1.0.4');
  const LENGTH_MS = 30_000;

  test('is whole again where the journal knows dates alone: a clock may have been set between two lives [IP-5]', async () => {
    for (const releasedAt of [0, Number.MAX_SAFE_INTEGER]) {
      const kernel = createKernel({ seed: 1 });
      const ended: string[] = [];
      const cooldowns = createCooldowns({
        clock: kernel.clock('agent'),
        ledger: () =>
          ledgerFrom([{ type: 'Released', at: releasedAt, sandbox: sandbox('a'), addresses: [A] }]),
        cooldownMs: () => LENGTH_MS,
        endCooldown: (addresses) => ended.push(...addresses),
      });
      cooldowns.track();
      await pass(kernel, LENGTH_MS - 1);
      assert.deepEqual(ended, []);
      await pass(kernel, 1);
      assert.deepEqual(ended, [A]);
    }
  });

  const lives: readonly [string, releasedMsAgo: number, leftMs: number][] = [
    ['goes on while no agent runs', 20_000, 10_000],
    ['is over at once when it ended while no agent ran', 50_000, 0],
    ['is whole again when the journal is of an earlier boot', -840_000, LENGTH_MS],
  ];
  for (const [title, releasedMsAgo, leftMs] of lives)
    test(`${title} [IP-5]`, async () => {
      const kernel = createKernel({ seed: 1 });
      const bootAt = kernel.clock('agent').bootNow() - releasedMsAgo;
      const ended: string[] = [];
      const released = { type: 'Released', at: 0, bootAt, sandbox: sandbox('a'), addresses: [A] } as const;
      const cooldowns = createCooldowns({
        clock: kernel.clock('agent'),
        ledger: () => ledgerFrom([released]),
        cooldownMs: () => LENGTH_MS,
        endCooldown: (addresses) => ended.push(...addresses),
      });
      cooldowns.track();
      if (leftMs > 0) await pass(kernel, leftMs - 1);
      assert.deepEqual(ended, []);
      await pass(kernel, 1);
      assert.deepEqual(ended, [A]);
    });

  test('is not shortened by a clock that is set forward while the agent runs [IP-5]', async () => {
    const kernel = createKernel({ seed: 1 });
    const clock = kernel.clock('agent');
    let skewMs = 0;
    let ledger: Ledger = ledgerFrom([]);
    const cooldowns = createCooldowns({
      clock: { ...clock, now: () => clock.now() + skewMs },
      ledger: () => ledger,
      cooldownMs: () => LENGTH_MS,
      endCooldown: (addresses) => {
        ledger = applyRecord(ledger, rested(addresses));
      },
    });
    ledger = applyRecord(ledger, {
      type: 'Released',
      at: clock.now(),
      sandbox: sandbox('a'),
      addresses: [A],
    });
    cooldowns.track();
    skewMs = 3_600_000;
    cooldowns.track();
    await pass(kernel, LENGTH_MS - 1);
    assert.ok(ledger.cooling.has(A));
    await pass(kernel, 1);
    assert.ok(!ledger.cooling.has(A));
  });

  test('goes on while no spec says how long it is', async () => {
    const kernel = createKernel({ seed: 1 });
    const ended: string[] = [];
    let lengthMs: number | undefined;
    const cooldowns = createCooldowns({
      clock: kernel.clock('agent'),
      ledger: () => ledgerFrom([{ type: 'Released', at: 0, sandbox: sandbox('a'), addresses: [A] }]),
      cooldownMs: () => lengthMs,
      endCooldown: (addresses) => ended.push(...addresses),
    });
    cooldowns.track();
    await pass(kernel, 10 * LENGTH_MS);
    assert.deepEqual(ended, []);
    lengthMs = LENGTH_MS;
    cooldowns.track();
    await pass(kernel, LENGTH_MS - 1);
    assert.deepEqual(ended, []);
    await pass(kernel, 1);
    assert.deepEqual(ended, [A]);
  });
});
