// Bytes of a text, compared with the platform's own encoder.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { utf8Length } from './utf8-length.ts';

const SEED = 20_261_130;

test('as many bytes as the text takes in UTF-8, whatever is in it', () => {
  for (const [text, length] of [
    ['', 0],
    ['eth0', 4],
    ['é', 2],
    ['€', 3],
    ['😀', 4],
    ['\ud800', 3],
  ] as const) {
    assert.equal(utf8Length(text), length, JSON.stringify(text));
  }
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => utf8Length(text) === Buffer.byteLength(text)),
    { seed: SEED },
  );
});
