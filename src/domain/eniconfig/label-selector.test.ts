// Label selectors as Kubernetes reads them.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type LabelSelector, matchesLabels } from './label-selector.ts';

const labels = { zone: 'internal', tier: 'web', empty: '' };
const rows: readonly [string, Partial<LabelSelector>, boolean][] = [
  ['nothing asked for', {}, true],
  ['a label with its value', { matchLabels: { zone: 'internal' } }, true],
  ['a label with another value', { matchLabels: { zone: 'external' } }, false],
  ['two labels, one of them missing', { matchLabels: { zone: 'internal', app: 'x' } }, false],
  ['an empty value', { matchLabels: { empty: '' } }, true],
  ['a key that every object has', { matchLabels: { constructor: '' } }, false],
  ['In', { matchExpressions: [{ key: 'tier', operator: 'In', values: ['db', 'web'] }] }, true],
  ['In, key missing', { matchExpressions: [{ key: 'app', operator: 'In', values: ['web'] }] }, false],
  ['NotIn', { matchExpressions: [{ key: 'tier', operator: 'NotIn', values: ['web'] }] }, false],
  ['NotIn, key missing', { matchExpressions: [{ key: 'app', operator: 'NotIn', values: ['web'] }] }, true],
  ['Exists', { matchExpressions: [{ key: 'empty', operator: 'Exists', values: [] }] }, true],
  ['Exists, key missing', { matchExpressions: [{ key: 'app', operator: 'Exists', values: [] }] }, false],
  ['DoesNotExist', { matchExpressions: [{ key: 'tier', operator: 'DoesNotExist', values: [] }] }, false],
];

describe('a label selector', () => {
  for (const [title, selector, matches] of rows)
    it(`${matches ? 'matches' : 'does not match'}: ${title}`, () => {
      assert.equal(matchesLabels({ matchLabels: {}, matchExpressions: [], ...selector }, labels), matches);
    });
});
