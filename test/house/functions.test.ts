// The function finder that the length rule stands on.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findFunctions, lineCount, ownLineCount } from './functions.ts';

/** Each function as `name:lines`. */
const show = (source: string): readonly string[] =>
  findFunctions(source).map((span) => `${span.name}:${lineCount(span)}`);

const cases: readonly (readonly [title: string, source: string, functions: readonly string[]])[] = [
  ['a declaration', 'function f(a: number) {\n return a;\n}', ['f:3']],
  [
    'a declaration with types everywhere',
    'function f<T extends { a: 1 }>(\n a: T,\n): Map<T, U[]> {\n}',
    ['f:4'],
  ],
  ['an object type as return type', 'function f(): { readonly a: number } {\n}', ['f:2']],
  ['an array, a union and a predicate as return type', 'function f(a): a is A[] | B["c"] {\n}', ['f:2']],
  ['an assertion', 'function f(a): asserts a is B {\n}', ['f:2']],
  ['an overload has no body', 'function f(a: string): void;\nfunction f(a) {\n}', ['f:2']],
  ['an anonymous generator', 'x(function* () {\n});', ['function:2']],
  ['an arrow with a block', 'const f = (a) => {\n};', ['=>:2']],
  ['an arrow with an expression', 'const f = (a) =>\n g(\n  a,\n );', ['=>:4']],
  ['an arrow that answers a template', 'const f = () => `a\n${b}\nc`;', ['=>:3']],
  [
    'a method, an accessor, a constructor',
    '({ m(a) {\n}, get x() {\n}, async y(): Promise<A> {} })',
    ['m:2', 'x:2', 'y:1'],
  ],
  ['a call is none', 'f(a);\nconst b = f(a) ? g(b) : { c: 1 };\nnew F(a);', []],
  [
    'control flow is none',
    'if (a) {\n} else if (f(b)) {\n}\nfor (const a of b) {\n}\nswitch (a) {\n case f(a): {\n }\n}',
    [],
  ],
  ['awaiting in a loop is none', 'for await (const a of b(c)) {\n}\nwhile (a < b && c > (d)) {\n}', []],
  [
    'braces in strings and expressions count for nothing',
    'function f() {\n "}"; /}/; `}${"}"}`; // }\n}',
    ['f:3'],
  ],
  ['functions inside functions', 'function f() {\n function g() {\n }\n}', ['f:4', 'g:2']],
];

for (const [title, source, functions] of cases) {
  test(`functions: ${title}`, () => assert.deepEqual(show(source), functions));
}

test('functions: own lines leave out the functions inside', () => {
  const spans = findFunctions('describe(() => {\n a;\n test(() => {\n  b;\n });\n});');
  assert.deepEqual(
    spans.map((span) => [lineCount(span), ownLineCount(span, spans)]),
    [
      [6, 3],
      [3, 3],
    ],
  );
});
