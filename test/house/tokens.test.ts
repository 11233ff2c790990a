// The tokenizer that the house rules stand on.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tokenize } from './tokens.ts';

const show = (source: string): string =>
  tokenize(source)
    .map((token) => `${token.kind[0]}:${token.text}`)
    .join(' ');

const cases: readonly (readonly [title: string, source: string, tokens: string])[] = [
  ['words and operators', 'a?.b => 1', 'w:a p:?. w:b p:=> n:1'],
  ['comments are no tokens', 'a // x\n/* y\n */ b', 'w:a w:b'],
  ['a string hides a comment', "'//' b", 's:// w:b'],
  ['a string ends at its own quote', `'a"\\'' "b'"`, `s:a"\\' s:b'`],
  ['a template is cut at its expressions', '`a${b}c`', 't:a w:b t:c'],
  ['an empty template', '`` b', 't: w:b'],
  ['a dollar alone opens nothing', '`$a $$` b', 't:$a $$ w:b'],
  ['braces inside an expression stay inside', '`${ { a: `${b}` } }!`', 't: p:{ w:a p:: t: w:b t: p:} t:!'],
  ['an escaped backtick does not end a template', '`\\`` b', 't:\\` w:b'],
  ['a slash behind a value divides', 'a / b / c', 'w:a p:/ w:b p:/ w:c'],
  ['a slash behind an operator opens a regular expression', 'x = /[/"{]\\//g;', 'w:x p:= r:/[/"{]\\//g p:;'],
  ['a slash behind return opens a regular expression', "return /'/;", "w:return r:/'/ p:;"],
  [
    'a slash behind a bracket divides',
    '(a) / b; c[0] / 2',
    'p:( w:a p:) p:/ w:b p:; w:c p:[ n:0 p:] p:/ n:2',
  ],
];

for (const [title, source, tokens] of cases) {
  test(`tokens: ${title}`, () => assert.equal(show(source), tokens));
}

test('tokens: each knows the line on which it begins', () => {
  const source = '/* 1\n2 */ a\n`3\n4${b}\n5` c\n"d"';
  assert.deepEqual(
    tokenize(source).map((token) => [token.text, token.line]),
    [
      ['a', 2],
      ['3\n4', 3],
      ['b', 4],
      ['\n5', 4],
      ['c', 5],
      ['d', 6],
    ],
  );
});
