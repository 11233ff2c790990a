// Label selectors on one line, as kubectl takes them.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { matchesLabels } from './label-selector.ts';
import { parseLabelSelector } from './label-selector-text.ts';

const labels = { zone: 'internal', tier: 'web' };
const rows: readonly [string, boolean][] = [
  ['zone in (internal)', true],
  ['zone in ( edge ,internal )', true],
  ['zone in (edge)', false],
  ['zone notin (edge), tier=web', true],
  ['app notin (edge)', true],
  ['tier==web', true],
  ['tier = db', false],
  ['tier!=db', true],
  ['zone', true],
  ['app', false],
  ['!app', true],
  ['! zone', false],
  ['example.com/zone in (a)', false],
];

describe('[POD-2] a selector in an annotation', () => {
  for (const [text, matches] of rows)
    it(`"${text}" ${matches ? 'matches' : 'does not match'} zone=internal, tier=web`, () => {
      const parsed = parseLabelSelector(text);
      assert.ok(parsed.ok, parsed.ok ? '' : parsed.error);
      assert.equal(matchesLabels(parsed.value, labels), matches);
    });

  for (const text of [
    '',
    '  ',
    ',',
    'zone in internal',
    'zone in (a',
    'a=b=c',
    'zone in (a b)',
    '=x',
    'a,,b',
    '(a)',
  ])
    it(`"${text}" is refused`, () => {
      const parsed = parseLabelSelector(text);
      assert.ok(!parsed.ok);
      assert.notEqual(parsed.error, '');
    });
});
