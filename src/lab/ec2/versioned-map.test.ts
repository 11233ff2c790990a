// The map that remembers, against a plain list of all changes.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { createVersionedMap } from './versioned-map.ts';

const HISTORY_MS = 100;

test('remembers what a key held at any time within its history, like a list of all changes would', () => {
  const step = fc.record({
    waitMs: fc.nat({ max: 40 }),
    key: fc.constantFrom('a', 'b'),
    value: fc.option(fc.nat(), { nil: undefined }),
    ageMs: fc.nat({ max: HISTORY_MS }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 50 }), (steps) => {
      let now = 1000;
      const map = createVersionedMap<string, number>({ now: () => now, historyMs: HISTORY_MS });
      const changes: { at: number; key: string; value: number | undefined }[] = [];
      for (const { waitMs, key, value, ageMs } of steps) {
        now += waitMs;
        if (value === undefined) map.delete(key);
        else map.put(key, value);
        changes.push({ at: now, key, value });
        for (const each of ['a', 'b']) {
          const at = now - ageMs;
          const expected = changes.findLast((change) => change.key === each && change.at <= at)?.value;
          assert.equal(map.asOf(each, at), expected);
          assert.equal(map.get(each), changes.findLast((change) => change.key === each)?.value);
          if (expected !== undefined) assert.ok(map.recentKeys().includes(each));
        }
      }
    }),
    { seed: 4711, numRuns: 300 },
  );
});

test('forgets a deleted key once nobody can ask for it any more', () => {
  let now = 0;
  const map = createVersionedMap<string, number>({ now: () => now, historyMs: HISTORY_MS });
  map.put('a', 1);
  map.delete('a');
  now += HISTORY_MS;
  assert.deepEqual(map.recentKeys(), ['a']);
  now += 1;
  assert.deepEqual(map.recentKeys(), []);
});
