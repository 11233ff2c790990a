// The rules of the house for code: who imports whom, what is banned where, and how long things may be.
// Each test answers with a list of faults, one `file:line` each, and expects it to be empty.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findBanned } from './house/bans.ts';
import { findFunctions, type FunctionSpan, lineCount, ownLineCount } from './house/functions.ts';
import { findCycle, type Import, reachable, resolveImport } from './house/imports.ts';
import { importFault, packages } from './house/layers.ts';
import {
  importGraph,
  isTest,
  place,
  productFiles,
  type SourceFile,
  sourceFiles,
  under,
} from './house/tree.ts';

const fileLinesMax = 400;
const functionLinesMax = 70;

const none: readonly string[] = [];
const isPackage = (one: Import): boolean =>
  !one.specifier.startsWith('.') && !one.specifier.startsWith('node:');
const packageOf = (specifier: string): string =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');

/** Every import of `files` that `fault` objects to. */
function importFaults(
  files: readonly SourceFile[],
  fault: (file: SourceFile, one: Import) => string | undefined,
): readonly string[] {
  return files.flatMap((file) =>
    file.imports.flatMap((one) => {
      const text = fault(file, one);
      return text === undefined ? [] : [`${place(file, one.line)} ${one.specifier}: ${text}`];
    }),
  );
}

test('house: imports follow the matrix', () => {
  const faults = importFaults(productFiles, (file, one) => {
    const to = resolveImport(file.path, one.specifier);
    if (to === undefined || isTest(to)) return undefined;
    return to.startsWith('src/') ? importFault(file.path, to) : 'the product imports src/ alone';
  });
  assert.deepEqual(faults, none);
});

test('house: nothing imports tests', () => {
  const others = sourceFiles.filter((file) => !isTest(file.path));
  const faults = importFaults(others, (file, one) =>
    isTest(resolveImport(file.path, one.specifier) ?? '')
      ? 'this is a test, or a helper of tests'
      : undefined,
  );
  assert.deepEqual(faults, none);
});

test('house: imports make no cycle, types included', () => {
  assert.equal(findCycle(importGraph(sourceFiles))?.join(' -> '), undefined);
});

test('house: each npm package is imported by its own folders alone', () => {
  const faults = importFaults(productFiles, (file, one) => {
    const folders = packages.get(packageOf(one.specifier)) ?? [];
    if (!isPackage(one) || folders.some((folder) => file.path.startsWith(folder))) return undefined;
    return `it belongs to ${folders.join(', ') || 'no folder'}`;
  });
  assert.deepEqual(faults, none);
});

test('house: the CNI plugin reaches no package from npm', () => {
  const graph = importGraph(productFiles);
  const starts = productFiles.filter((file) => under(file, 'cni') || /^src\/bin\/cni[^/]*$/.test(file.path));
  const reached = new Set(starts.flatMap((file) => [...reachable(graph, file.path)]));
  const faults = importFaults(
    productFiles.filter((file) => reached.has(file.path)),
    (_file, one) =>
      isPackage(one) && !one.typeOnly ? 'the plugin starts in milliseconds, without packages' : undefined,
  );
  assert.deepEqual(faults, none);
});

test('house: domain imports nothing of Node, and simulated code does no I/O of its own', () => {
  const simulated = productFiles.filter(
    (file) =>
      under(file, 'domain', 'protocol', 'ports', 'controller', 'agent', 'lab') &&
      !under(file, 'lab/fabric', 'lab/ec2-http'),
  );
  // What only computes.
  const harmless = new Set(['node:util', 'node:path', 'node:path/posix']);
  const faults = importFaults(simulated, (file, one) =>
    one.specifier.startsWith('node:') && (under(file, 'domain') || !harmless.has(one.specifier))
      ? 'effects come through ports'
      : undefined,
  );
  assert.deepEqual(faults, none);
});

test('house: nothing banned is used where it is banned', () => {
  const faults = sourceFiles.flatMap(findBanned).map((fault) => `${fault.at} ${fault.found}: ${fault.why}`);
  assert.deepEqual(faults, none);
});

test('house: no file holds a note of work left undone', () => {
  const words = ['TO-DO', 'FIX-ME', 'XX-X'].map((word) => word.replace('-', ''));
  const note = new RegExp(`\\b(${words.join('|')})\\b`);
  const faults = sourceFiles.filter((file) => note.test(file.text)).map((file) => file.path);
  assert.deepEqual(faults, none);
});

test('house: every file is named in kebab-case and opens with a sentence on what it is', () => {
  const faults = sourceFiles
    .filter((file) => {
      const name = file.path.split('/').at(-1) ?? '';
      const first = file.text.split('\n').find((line) => !line.startsWith('#!')) ?? '';
      return !/^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z]+)*\.ts$/.test(name) || !/^\/\/ \S/.test(first);
    })
    .map((file) => file.path);
  assert.deepEqual(faults, none);
});

test(`house: no file has more than ${fileLinesMax} lines`, () => {
  const faults = sourceFiles
    .map((file) => ({ path: file.path, lines: file.text.split('\n').length - 1 }))
    .filter((file) => file.lines > fileLinesMax)
    .map((file) => `${file.path} ${file.lines}`);
  assert.deepEqual(faults, none);
});

test(`house: no function has more than ${functionLinesMax} lines`, () => {
  const faults = sourceFiles.flatMap((file) => {
    const spans = findFunctions(file.text);
    const lines = file.text.split('\n');
    // A `describe` is a section of its file, and what a test registers inside itself is not its own length.
    const measured = isTest(file.path)
      ? spans.filter((span) => !/\b(describe|suite)\(/.test(lines[span.firstLine - 1] ?? ''))
      : spans;
    const length = (span: FunctionSpan): number =>
      isTest(file.path) ? ownLineCount(span, spans) : lineCount(span);
    return measured
      .filter((span) => length(span) > functionLinesMax)
      .map((span) => `${place(file, span.firstLine)} ${span.name}: ${length(span)} lines`);
  });
  assert.deepEqual(faults, none);
});
