// The rules of the house for what people read: SPEC, ARCHITECTURE, README and docs say what is so.

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path/posix';
import { test } from 'node:test';
import { matrix, packages } from './layers.ts';
import { readRules, rulesNamed } from './spec.ts';
import { documents, isTest, sourceFiles } from './tree.ts';

const none: readonly string[] = [];
const document = (path: string): string => documents.get(path) ?? assert.fail(`${path} is missing`);

test('documents: a rule is read with its mark, and one that cannot be read does not vanish', () => {
  const lines = ['- **IP-1** S. No two.', '- **IP-2** L. *(planned: later)* Never.', '- **ip-3** wrong'];
  assert.deepEqual(readRules(lines.join('\n')), [
    { id: 'IP-1', planned: undefined },
    { id: 'IP-2', planned: 'later' },
    { id: 'unreadable: - **ip-3** wrong', planned: undefined },
  ]);
});

const rules = readRules(document('SPEC.md'));
const named = new Map(
  sourceFiles
    .filter((file) => isTest(file.path) && !file.path.startsWith('test/house'))
    .flatMap((file) => rulesNamed(file.tokens).map((id) => [id, file.path] as const)),
);

test('SPEC: each rule has its own number', () => {
  const ids = rules.map((rule) => rule.id);
  assert.deepEqual(
    ids.filter((id, at) => ids.indexOf(id) !== at || id.startsWith('unreadable')),
    none,
  );
});

test('SPEC: every rule that holds is named by a test', () => {
  assert.deepEqual(
    rules.filter((rule) => rule.planned === undefined && !named.has(rule.id)).map((rule) => rule.id),
    none,
  );
});

test('SPEC: a rule that tests name is not called planned', () => {
  assert.deepEqual(
    rules.filter((rule) => rule.planned !== undefined && named.has(rule.id)).map((rule) => rule.id),
    none,
  );
});

test('SPEC: tests name no rule that is not there', () => {
  const known = new Set(rules.map((rule) => rule.id));
  assert.deepEqual(
    [...named].filter(([id]) => !known.has(id)).map(([id, path]) => `${path} ${id}`),
    none,
  );
});

test('ARCHITECTURE: every folder under src/ has its caption, and every caption its folder', () => {
  const folders = new Set(
    sourceFiles.filter((file) => file.path.startsWith('src/')).map((file) => `${dirname(file.path)}/`),
  );
  const captions = [...document('ARCHITECTURE.md').matchAll(/^\| `(src\/[^`]+\/)` \| \S/gm)].map(
    (match) => match[1] ?? '',
  );
  const isEmpty = (caption: string): boolean => ![...folders].some((folder) => folder.startsWith(caption));
  assert.deepEqual(
    {
      withoutCaption: [...folders].filter((folder) => !captions.includes(folder)),
      withoutFolder: captions.filter(isEmpty),
    },
    { withoutCaption: none, withoutFolder: none },
  );
});

test('ARCHITECTURE: the import matrix and the packages are those that the house test holds', () => {
  const text = document('ARCHITECTURE.md');
  const rows = [
    ...matrix.map((row) => `| ${row.from} | ${row.mayImport.join(', ')} |`),
    ...[...packages].map(
      ([name, folders]) => `| ${name} | ${folders.map((one) => `\`${one}\``).join(', ')} |`,
    ),
  ];
  assert.deepEqual(
    rows.filter((row) => !text.includes(row)),
    none,
  );
});

test('documents: every relative link leads to a file', () => {
  const faults = [...documents].flatMap(([path, text]) =>
    [...text.matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)[^)]*\)/g)]
      .map((match) => normalize(join(dirname(path), match[1] ?? '')))
      .filter((target) => !existsSync(target))
      .map((target) => `${path}: ${target}`),
  );
  assert.deepEqual(faults, none);
});

test('documents: every make target and npm script that is named exists', () => {
  const targets = new Set(
    [...readFileSync('Makefile', 'utf8').matchAll(/^([a-z0-9]+):/gm)].map((match) => match[1]),
  );
  const manifest: { scripts: Record<string, string> } = JSON.parse(readFileSync('package.json', 'utf8'));
  const faults = [...documents].flatMap(([path, text]) => {
    const made = [...text.matchAll(/(?:`|^)(?:sudo )?make ([a-z0-9]+)/gm)].filter(
      (match) => !targets.has(match[1]),
    );
    const ran = [...text.matchAll(/npm run (?:--silent )?([a-z:]+)/g)].filter(
      (match) => manifest.scripts[match[1] ?? ''] === undefined,
    );
    return [...made, ...ran].map((match) => `${path}: ${match[0]}`);
  });
  assert.deepEqual(faults, none);
});

test('decisions: each is numbered, dated, in four parts, and in the index', () => {
  const index = document('docs/decisions/README.md');
  const faults = [...documents]
    .filter(([path]) => /^docs\/decisions\/\d{4}-[a-z0-9-]+\.md$/.test(path))
    .filter(([path, text]) => {
      const name = path.split('/').at(-1) ?? '';
      const parts = ['## Context', '## Decision', '## Consequences', '## Rejected'];
      return (
        !index.includes(`](${name})`) ||
        !text.startsWith(`# ${name.slice(0, 4)}: `) ||
        !/^Date: \d{4}-\d{2}-\d{2}$/m.test(text) ||
        !parts.every((part) => text.includes(`\n${part}\n`))
      );
    })
    .map(([path]) => path);
  assert.deepEqual(faults, none);
});
