// The cases of operators: every one that docs/user-cases.md lists is named in the title of a test.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { documents, isTest, sourceFiles } from './tree.ts';

const PAGE = 'docs/user-cases.md';
const ROW = /^\| ([US]\d{2,3}) \| \S/gm;
const ID = /\b[US]\d{2,3}\b/g;

const listed = [...(documents.get(PAGE) ?? assert.fail(`${PAGE} is missing`)).matchAll(ROW)].map(
  ([, id = '']) => id,
);
const named = new Set(
  sourceFiles
    .filter(({ path }) => isTest(path) && path !== 'test/house/cases.test.ts')
    .flatMap(({ tokens }) => tokens)
    .filter(({ kind }) => kind === 'string' || kind === 'template')
    .flatMap(({ text }) => text.match(ID) ?? []),
);

test('cases: the page lists each once', () => {
  assert.ok(listed.length > 30, `${listed.length} rows`);
  assert.deepEqual(
    listed.filter((id, at) => listed.indexOf(id) !== at),
    [],
  );
});

test('cases: each has a test that is named after it', () => {
  assert.deepEqual(
    listed.filter((id) => !named.has(id)),
    [],
  );
});
