// What waits its turn, and for how many.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { createSlots } from './slots.ts';

test('so many are inside at once, and the others enter in the order in which they came', async () => {
  const slots = createSlots(2);
  const entered: number[] = [];
  const releases: (() => void)[] = [];
  for (const number of [1, 2, 3, 4]) {
    void slots.take().then((release) => {
      entered.push(number);
      releases.push(release);
    });
  }
  await turn();
  assert.deepEqual(entered, [1, 2]);
  releases[1]?.();
  await turn();
  assert.deepEqual(entered, [1, 2, 3]);
  releases[0]?.();
  releases[2]?.();
  await turn();
  assert.deepEqual(entered, [1, 2, 3, 4]);
  releases[3]?.();
  assert.equal(typeof (await slots.take()), 'function', 'and those who are gone leave their places');
});
