// Times, held against the runtime's own calendar.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import * as fc from 'fast-check';
import { formatTimestamp, parseTimestamp } from './timestamp.ts';

const LAST_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

suite('timestamps', () => {
  test('are written as the runtime writes them, and read back', () => {
    fc.assert(
      fc.property(fc.integer({ min: -62_167_219_200_000, max: LAST_MS }), (ms) => {
        assert.equal(formatTimestamp(ms), new Date(ms).toISOString());
        assert.deepEqual(parseTimestamp(formatTimestamp(ms)), { ok: true, value: ms });
      }),
    );
  });

  test('are read with whole seconds, as Kubernetes writes most, and with finer digits cut', () => {
    assert.deepEqual(parseTimestamp('1970-01-01T00:00:01Z'), { ok: true, value: 1000 });
    assert.deepEqual(parseTimestamp('1970-01-01T00:00:01.123456Z'), { ok: true, value: 1123 });
  });

  for (const text of ['', 'now', '2026-02-29T00:00:00Z', '2026-01-01T24:00:00Z', '2026-01-01 00:00:00', '1'])
    test(`"${text}" is none`, () => {
      const parsed = parseTimestamp(text);
      assert.ok(!parsed.ok);
      assert.match(parsed.error, /is not a time such as/);
    });
});
