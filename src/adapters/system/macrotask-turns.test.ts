// Turns of the event loop: what has happened when one is over.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { createMacrotaskTurns } from './macrotask-turns.ts';

/** More than are set at once. */
const TURN_COUNT = 500;

async function chain(length: number, onEnd: () => void): Promise<void> {
  for (let step = 0; step < length; step += 1) await Promise.resolve();
  onEnd();
}

test('when a turn is over, every promise that could go on has gone on, however long its chain', async () => {
  const turn = createMacrotaskTurns();
  let endedCount = 0;
  for (let n = 1; n <= TURN_COUNT; n += 1) {
    void chain(n, () => {
      endedCount += 1;
    });
    await turn();
    assert.equal(endedCount, n);
  }
});

test('a turn comes also after a while in which nobody waited', async () => {
  const turn = createMacrotaskTurns();
  await turn();
  for (let n = 0; n < 3; n += 1) await setImmediate();
  let ended = false;
  void chain(10, () => {
    ended = true;
  });
  await turn();
  assert.ok(ended);
});
