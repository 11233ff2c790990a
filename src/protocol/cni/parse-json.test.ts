// JSON errors name the place: by table, and against the engine's own parser.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { parseJson } from './parse-json.ts';

describe('JSON that is not JSON is refused with the place of the first flaw', () => {
  for (const [json, error] of [
    ['', 'line 1, column 1: expected a value, the text ends'],
    ['{', 'line 1, column 2: expected a key in double quotes, the text ends'],
    ['{"a":1,}', 'line 1, column 8: expected a key in double quotes, found "}"'],
    ['{\n  "a": 1\n  "b": 2\n}', 'line 3, column 3: expected "," or "}", found "\\""'],
    ['{"a" 1}', 'line 1, column 6: expected ":" after the key, found "1"'],
    ['[1 2]', 'line 1, column 4: expected "," or "]", found "2"'],
    ["{'a': 1}", 'line 1, column 2: expected a key in double quotes, found "\'"'],
    ['{"a": .5}', 'line 1, column 7: expected a value, found "."'],
    ['{"a": 01}', 'line 1, column 8: expected "," or "}", found "1"'],
    ['"a', "line 1, column 3: expected the string's closing quote, the text ends"],
    ['"a\nb"', 'line 1, column 3: expected no raw control character in a string, found "\\n"'],
    ['"\\x"', 'line 1, column 3: expected an escape such as \\n or \\u0041, found "x"'],
    ['"\\u12g4"', 'line 1, column 6: expected a hex digit, found "g"'],
    ['{} {}', 'line 1, column 4: expected nothing after the value, found "{"'],
    ['[NaN]', 'line 1, column 2: expected a value, found "N"'],
  ] as const) {
    test(JSON.stringify(json), () => {
      assert.deepEqual(parseJson(json), { ok: false, error });
    });
  }

  test('nesting deeper than any configuration is refused, not overflowed', () => {
    const result = parseJson('['.repeat(100_000));
    assert.ok(!result.ok);
    assert.match(result.error, /^line 1, column 258: expected at most 256 levels of nesting/);
  });
});

const SEED = 7;

/** The engine's verdict. */
function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch (error) {
    assert.ok(error instanceof SyntaxError);
    return false;
  }
}

test('any JSON is read as the engine reads it', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      assert.deepEqual(parseJson(text), { ok: true, value: JSON.parse(text) });
    }),
    { seed: SEED, numRuns: 500 },
  );
});

test('any damaged JSON is refused exactly when the engine refuses it', () => {
  const damaged = fc
    .tuple(fc.json(), fc.nat(), fc.nat({ max: 3 }), fc.string({ maxLength: 2 }))
    .map(([text, at, cut, put]) => {
      const place = at % (text.length + 1);
      return text.slice(0, place) + put + text.slice(place + cut);
    });
  let refusedCount = 0;
  fc.assert(
    fc.property(damaged, (text) => {
      const isGood = parseJson(text).ok;
      if (!isGood) refusedCount += 1;
      assert.equal(isGood, isJson(text), text);
    }),
    { seed: SEED, numRuns: 3000 },
  );
  assert.ok(refusedCount > 300, 'the damage was damage');
});
