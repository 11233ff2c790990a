// The work queue: each key once, never beside itself, the earliest delay counts.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createKernel } from '../lab/kernel/kernel.ts';
import { createWorkQueue } from './work-queue.ts';

const drain = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function createWorld(workerCount: number) {
  const kernel = createKernel({ seed: 1 });
  const clock = kernel.clock('queue');
  const startedAt = kernel.now();
  const log: string[] = [];
  const queue = createWorkQueue({
    clock,
    workerCount,
    run: async (key) => {
      log.push(`${key} starts ${kernel.now() - startedAt}`);
      await clock.sleep(100, 'work');
      log.push(`${key} ends ${kernel.now() - startedAt}`);
    },
  });
  return { queue, log, run: (ms: number) => kernel.run({ untilMs: startedAt + ms, drain }) };
}

test('[API-2] a key that is added while it runs runs once more afterwards, however often it was added', async () => {
  const { queue, log, run } = createWorld(8);
  queue.add('a');
  queue.add('a');
  await run(50);
  queue.add('a');
  queue.add('a');
  await run(1000);
  assert.deepEqual(log, ['a starts 0', 'a ends 100', 'a starts 100', 'a ends 200']);
});

test('no more keys run at once than there are workers', async () => {
  const { queue, log, run } = createWorld(2);
  for (const key of ['a', 'b', 'c']) queue.add(key);
  await run(1000);
  assert.deepEqual(
    log.filter((line) => line.includes('starts')),
    ['a starts 0', 'b starts 0', 'c starts 100'],
  );
});

test('of several delays the shortest counts, and an add beats them all', async () => {
  const { queue, log, run } = createWorld(2);
  queue.addAfter('a', 500);
  queue.addAfter('a', 300);
  queue.addAfter('a', 700);
  queue.addAfter('b', 500);
  queue.add('b');
  await run(2000);
  assert.deepEqual(
    log.filter((line) => line.includes('starts')),
    ['b starts 0', 'a starts 300'],
  );
});

test('stop waits for what runs and starts nothing more', async () => {
  const { queue, log, run } = createWorld(1);
  queue.add('a');
  queue.add('b');
  const stopped = queue.stop();
  await run(1000);
  await stopped;
  assert.deepEqual(log, ['a starts 0', 'a ends 100']);
});

const WORK_MS = 100;

test('a look at many keys leaves workers to a key with news', async () => {
  const { queue, log, run } = createWorld(8);
  queue.lookAt(Array.from({ length: 200 }, (_, n) => `k${n}`));
  await run(WORK_MS / 2);
  queue.add('news');
  await run(100 * WORK_MS);
  const started = log.filter((line) => line.includes('starts'));
  const place = started.findIndex((line) => line.startsWith('news '));
  assert.ok(place < 40, `news came as number ${place}`);
  assert.equal(new Set(started).size, 201);
});

test('a look goes on while keys with news never end', async () => {
  const { queue, log, run } = createWorld(1);
  for (let n = 0; n < 40; n += 1) queue.add(`busy${n}`);
  queue.lookAt(['quiet']);
  await run(100 * WORK_MS);
  assert.ok(log.some((line) => line.startsWith('quiet starts')));
});

test('a key that is looked at and has news as well runs once', async () => {
  const { queue, log, run } = createWorld(1);
  queue.lookAt(['a']);
  queue.add('a');
  await run(10 * WORK_MS);
  assert.deepEqual(log, ['a starts 0', 'a ends 100']);
});
