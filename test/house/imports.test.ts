// The import reader that the layer rules stand on.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findCycle, findImports, type Graph, reachable, resolveImport } from './imports.ts';

const cases: readonly (readonly [source: string, imports: readonly string[]])[] = [
  ["import { a } from './a.ts';", ['./a.ts']],
  ["import a, { type B } from 'b';", ['b']],
  ["import * as a from 'node:fs';", ['node:fs']],
  ["import './a.ts';", ['./a.ts']],
  ["import type { A } from './a.ts';", ['type ./a.ts']],
  ["export { a } from './a.ts';", ['./a.ts']],
  ["export * from './a.ts';", ['./a.ts']],
  ["export type { A } from './a.ts';", ['type ./a.ts']],
  ["const a = await import('./a.ts');", ['./a.ts']],
  ["type A = import('./a.ts').A;", ['./a.ts']],
  ["new Worker(new URL('./w.ts', import.meta.url));", ['started ./w.ts']],
  ["spawn(new URL('w.ts', import.meta.url));", ['started ./w.ts']],
  ["spawn(new URL('../../build/plugin', import.meta.url));", []],
  ["export const a = 'from'; import.meta.url;", []],
  ["export { a }; const b = { from: 'c' };", []],
  ["export const a = { b: 1 }; f(from, 'x');", []],
  ["// import { a } from './a.ts'\n`import './b.ts'`;", []],
  ["new URL('https://example.com/');", []],
];

for (const [source, imports] of cases) {
  test(`imports of ${source}`, () => {
    const found = findImports(source).map(
      (one) => `${one.typeOnly ? 'type ' : one.started ? 'started ' : ''}${one.specifier}`,
    );
    assert.deepEqual(found, imports);
  });
}

test('imports: a relative one is a path of the tree, a package is none', () => {
  assert.equal(resolveImport('src/a/b.ts', '../c.ts'), 'src/c.ts');
  assert.equal(resolveImport('src/a/b.ts', 'zod'), undefined);
});

const graph: Graph = new Map([
  ['a', ['b']],
  ['b', ['c', 'd']],
  ['c', ['d']],
  ['d', []],
]);

test('imports: what a file reaches', () => {
  assert.deepEqual([...reachable(graph, 'b')].sort(), ['b', 'c', 'd']);
});

test('imports: a cycle is found, and a diamond is none', () => {
  assert.equal(findCycle(graph), undefined);
  assert.deepEqual(findCycle(new Map([...graph, ['d', ['b']]])), ['b', 'c', 'd', 'b']);
});
