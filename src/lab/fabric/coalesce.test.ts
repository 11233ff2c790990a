// One run at a time, and one for all who ask meanwhile.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { coalesce } from './coalesce.ts';

interface Runs {
  readonly ask: () => Promise<number>;
  /** Ends the run that is under way. */
  end(result: number | Error): Promise<void>;
  readonly started: () => number;
}

function makeRuns(): Runs {
  let started = 0;
  let running: PromiseWithResolvers<number> | undefined;
  return {
    ask: coalesce(() => {
      assert.equal(running, undefined, 'no run begins while one is under way');
      started += 1;
      running = Promise.withResolvers();
      return running.promise;
    }),
    end: async (result) => {
      const ended = running;
      running = undefined;
      if (result instanceof Error) ended?.reject(result);
      else ended?.resolve(result);
      await new Promise((resolve) => setImmediate(resolve));
    },
    started: () => started,
  };
}

test('calls during a run are answered together, by one run that begins after it', async () => {
  const runs = makeRuns();
  const first = runs.ask();
  const [second, third] = [runs.ask(), runs.ask()];
  assert.equal(runs.started(), 1);
  await runs.end(1);
  assert.equal(await first, 1);
  assert.equal(runs.started(), 2);
  const fourth = runs.ask();
  await runs.end(2);
  assert.deepEqual(await Promise.all([second, third]), [2, 2]);
  await runs.end(3);
  assert.equal(await fourth, 3);
  assert.equal(runs.started(), 3);
});

test('a call right after the end of a run never begins a second run beside the waiting one', async () => {
  const runs = makeRuns();
  const first = runs.ask();
  const second = runs.ask();
  const third = first.then(() => runs.ask());
  await runs.end(1);
  await runs.end(2);
  await runs.end(3);
  assert.equal(await second, 2);
  assert.ok([2, 3].includes(await third));
});

test('a run that fails fails its callers, and the next one begins', async () => {
  const runs = makeRuns();
  const first = runs.ask();
  const second = runs.ask();
  const failed = assert.rejects(first, /no/);
  await runs.end(new Error('no'));
  await failed;
  await runs.end(2);
  assert.equal(await second, 2);
});
