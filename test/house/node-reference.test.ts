// The references of the node say what the code says: every setting, error, Event and metric is on its page.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { documents, isProduct, sourceFiles, under } from './tree.ts';

const page = (path: string): string => documents.get(path) ?? assert.fail(`${path} is missing`);
const none: readonly string[] = [];

const text = sourceFiles
  .filter((file) => isProduct(file) && under(file, 'agent', 'cni', 'protocol/cni', 'adapters/system'))
  .map((file) => file.text)
  .join('\n');

const matches = (source: string, pattern: RegExp): readonly string[] => [
  ...new Set([...source.matchAll(pattern)].map((match) => match[1] ?? '')),
];

/** What is put in at run time is `...` on the page. */
const asWritten = (literal: string): string => literal.replaceAll(/\$\{[^}]*\}/g, '...');

function missingFrom(path: string, words: readonly string[]): readonly string[] {
  assert.ok(words.length > 0, 'something was found in the code');
  return words.filter((word) => !page(path).includes(word));
}

test('node reference: every setting of the agent', () => {
  const source = sourceFiles.find(({ path }) => path === 'src/agent/agent-settings.ts')?.text ?? '';
  const names = matches(source, /['[]'?([A-Z][A-Z0-9]+(?:_[A-Za-z0-9]+)+)'/g);
  assert.ok(names.includes('MY_NODE_NAME') && names.includes('ENIWHERE_TUNING_SYSCTLS'));
  assert.deepEqual(
    missingFrom(
      'docs/node-reference.md',
      names.map((name) => `\`${name}\``),
    ),
    none,
  );
});

test('node reference: every error of the plugin and the agent', () => {
  const coded = matches(text, /(?:cniError|errorReply)\(\s*(?:CNI_ERROR\.\w+|code),\s*['`]([^'`]+)['`]/g);
  const later = matches(text, /tryAgainLater\(\s*['`]([^'`]+)['`]/g);
  const named = matches(text, /const (?:msg|what) = ['`]([^'`]+)['`]/g);
  const errors = [...coded, ...later, ...named].map(asWritten);
  assert.ok(errors.includes('no address for pod ... on node ...'), errors.join('\n'));
  assert.deepEqual(missingFrom('docs/node-reference.md', errors), none);
});

test('node reference: every Event of the agent', () => {
  const source = sourceFiles
    .filter((file) => isProduct(file) && under(file, 'agent') && file.text.includes('cluster.emit('))
    .map((file) => file.text)
    .join('\n');
  const reasons = matches(source, /'([A-Z][a-z]+(?:[A-Z][a-z]+)+)'/g);
  assert.ok(reasons.includes('AddressNotReady') && reasons.includes('AwsCniLeftovers'), reasons.join());
  assert.deepEqual(
    missingFrom(
      'docs/node-reference.md',
      reasons.map((reason) => `\`${reason}\``),
    ),
    none,
  );
});

test('metrics: every metric of the agent, and every rare event', () => {
  const metrics = matches(text, /'((?:awscni|eniwhere|process)_[a-z0-9_]+)'/g);
  const marks = matches(text, /log\.mark\('([a-z-]+)'\)/g);
  assert.ok(metrics.includes('awscni_assigned_ip_addresses') && marks.includes('journal-torn'));
  assert.deepEqual(
    missingFrom(
      'docs/metrics.md',
      [...metrics, ...marks].map((name) => `\`${name}\``),
    ),
    none,
  );
});
