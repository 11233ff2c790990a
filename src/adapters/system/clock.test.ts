// The machine's clocks, against what the kernel says of them.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { systemClock } from './clock.ts';

const CLOCK_BOOTTIME = 7;
const readBootTime = `import time; print(time.clock_gettime(${CLOCK_BOOTTIME}) * 1000)`;

test('[LEAD-1] the time since boot is the kernel’s CLOCK_BOOTTIME, which a sleep does not stop', (t) => {
  if (process.platform !== 'linux') return t.skip('only Linux has it');
  const before = systemClock.bootNow();
  const asked = Number(execFileSync('python3', ['-c', readBootTime], { encoding: 'utf8' }));
  const after = systemClock.bootNow();
  // /proc/uptime cuts off below a hundredth of a second.
  assert.ok(before <= asked && asked < after + 10, `${before} <= ${asked} < ${after} + 10`);
});
