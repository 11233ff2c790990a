// Structural equality, against the one of node:util over what JSON would keep.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import * as fc from 'fast-check';
import { sameData } from './same-data.ts';

const SEED = 20_260_105;

/** Few keys and few values, so that two drawn values are often the same, or nearly so. */
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom<unknown>(undefined, null, true, 0, 1, '', 'a'),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('value'), { maxKeys: 3, noNullPrototype: true }),
  ),
}));

/** The value without keys that are undefined. */
function withoutAbsent(data: unknown): unknown {
  if (Array.isArray(data)) return data.map(withoutAbsent);
  if (typeof data !== 'object' || data === null) return data;
  return Object.fromEntries(
    Object.entries(data).flatMap(([key, one]) => (one === undefined ? [] : [[key, withoutAbsent(one)]])),
  );
}

test('two values are the same when all that is present in them is', () => {
  fc.assert(
    fc.property(value, value, (a, b) => {
      assert.equal(sameData(a, b), isDeepStrictEqual(withoutAbsent(a), withoutAbsent(b)));
      assert.ok(sameData(a, structuredClone(a)));
    }),
    { seed: SEED, numRuns: 2000 },
  );
});
