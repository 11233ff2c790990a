// `eniwhere doctor`: its exit codes, and what it reads.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { suite, test } from 'node:test';
import { ok } from '../domain/result.ts';
import { CHECKS } from '../domain/doctor/run-checks.ts';
import { type Ran, runCommand } from './testing.ts';

const doctor = (scenario: string, args: readonly string[] = []): Promise<Ran> =>
  runCommand(['doctor', '--scenario', scenario, ...args], {
    readFile: (path) => Promise.resolve(ok(readFileSync(path, 'utf8'))),
  });

suite('eniwhere doctor', () => {
  test('ends with 0 on a cluster in order', async () => {
    const { exitCode, out } = await doctor('scenarios/smoke.yaml');
    assert.equal(exitCode, 0, out);
    assert.match(out, /0 errors, 0 warnings, 0 for information/);
  });

  test('ends with 2 on errors, each with its reason and its fix', async () => {
    const { exitCode, out } = await doctor('docs/examples/trouble.yaml');
    assert.equal(exitCode, 2);
    assert.equal(out.match(/^✗ error/gm)?.length, 4);
    assert.equal(out.match(/^ {2}why: /gm)?.length, 4);
    assert.equal(out.match(/^ {2}fix: /gm)?.length, 4);
  });

  test('--all lists what was found in order, and what could not be checked', async () => {
    const { out } = await doctor('scenarios/smoke.yaml', ['--all']);
    const lines = out.split('\n').filter((line) => /^(✓|- not checked:)/.test(line));
    assert.equal(lines.length, CHECKS.length);
  });

  test('gives programs the findings', async () => {
    const { out } = await doctor('docs/examples/trouble.yaml', ['-o', 'json']);
    const { findings } = JSON.parse(out);
    assert.deepEqual(
      findings.map((one: { check: string }) => one.check),
      ['eniconfigs', 'selection', 'waiting', 'free-addresses'],
    );
  });

  test('its page names every check', () => {
    const page = readFileSync('docs/doctor.md', 'utf8');
    assert.deepEqual(
      [...page.matchAll(/^\| ([a-z-]+) \| /gm)].map((match) => match[1]).filter((id) => id !== 'check'),
      CHECKS.map(({ id }) => id),
    );
  });
});
