// The query protocol's parameters.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Params, parseForm } from './form.ts';

function parse(form: string): Params {
  const parsed = parseForm(form);
  assert.ok(parsed.ok);
  return parsed.value;
}

test('texts are decoded, and absent ones are undefined', () => {
  const params = parse('Action=A&Description=one+%26%20t%C3%BCwo&Empty=');
  assert.deepEqual(params.names, ['Action', 'Description', 'Empty']);
  assert.equal(params.text('Description'), 'one & tüwo');
  assert.equal(params.text('Empty'), '');
  assert.equal(params.text('None'), undefined);
});

test('numbers are whole or none', () => {
  const params = parse('A=7&B=-1&C=1.5&D=x&E=');
  assert.deepEqual(['A', 'B', 'C', 'D', 'E', 'F'].map(params.integer), [
    7,
    -1,
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});

test('lists come in the order of their numbers, which is not that of the text', () => {
  const params = parse('Id.10=ten&Id.2=two&Id.1=one&Identity.1=no');
  assert.deepEqual(params.texts('Id'), ['one', 'two', 'ten']);
  assert.deepEqual(params.texts('None'), []);
});

test('structures hold lists of their own', () => {
  const params = parse(
    'Filter.2.Name=b&Filter.2.Value.1=z&Filter.1.Name=a&Filter.1.Value.2=y&Filter.1.Value.1=x&Filter.x.Name=no',
  );
  assert.deepEqual(
    params.structures('Filter').map((filter) => [filter.text('Name'), filter.texts('Value')]),
    [
      ['a', ['x', 'y']],
      ['b', ['z']],
    ],
  );
});

test('a request of too many parameters is refused', () => {
  const form = Array.from({ length: 10_001 }, (_, n) => `Id.${n}=x`).join('&');
  assert.equal(parseForm(form).ok, false);
});
