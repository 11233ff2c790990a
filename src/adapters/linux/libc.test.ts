// Waiting on libuv's pool for descriptors: what a poll answers, and what ends it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { closeSocket, drainWakeUp, openWakeUp, pollInputFromPool, wakeUp } from './libc.ts';

test('a poll on the pool answers the descriptors that have input, and no others', async () => {
  const [quiet, woken] = [openWakeUp(), openWakeUp()];
  wakeUp(woken);
  assert.deepEqual(await pollInputFromPool([quiet, woken], 0), [woken]);
  drainWakeUp(woken);
  assert.deepEqual(await pollInputFromPool([quiet, woken], 0), []);
  for (const fd of [quiet, woken]) closeSocket(fd);
});

test('a wake-up ends a poll that has no end of its own', async () => {
  const fd = openWakeUp();
  const waiting = pollInputFromPool([fd], -1);
  wakeUp(fd);
  assert.deepEqual(await waiting, [fd]);
  closeSocket(fd);
});
