// What the check of loops that run in a circle takes for one.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPaceChecker } from './pace-checker.ts';

interface Row {
  readonly title: string;
  readonly owner: string;
  readonly everyMs: number;
  readonly isBroken: boolean;
}

const rows: readonly Row[] = [
  { title: 'a timer each millisecond', owner: 'controller-1', everyMs: 1, isBroken: true },
  { title: 'one each five', owner: 'agent/n1', everyMs: 5, isBroken: true },
  { title: 'one ten times a second', owner: 'controller-1', everyMs: 100, isBroken: false },
  { title: 'what the world itself does', owner: 'world', everyMs: 1, isBroken: false },
];

for (const { title, owner, everyMs, isBroken } of rows) {
  test(`[LV-6] ${title} is ${isBroken ? '' : 'not '}a circle`, () => {
    const broken: string[] = [];
    const checker = createPaceChecker({ broken: (rule) => broken.push(rule) }, (one) => one !== 'world');
    for (let n = 0; n < 1000; n += 1) {
      checker.onEvent({ sequence: n, at: 10_000 + n * everyMs, owner, label: 'budget' });
    }
    assert.equal(broken.includes('LV-6'), isBroken);
  });
}
