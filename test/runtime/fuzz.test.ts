// A short run of the fuzzers; `npm run bench fuzz` runs a million inputs.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fuzzExecutable } from './support/fuzz-executable.ts';
import { type FuzzReport, fuzzPlugin } from './support/fuzz-plugin.ts';
import { fuzzSocket } from './support/fuzz-socket.ts';
import { whyNoPlugin } from './support/skip.ts';

const FIRST_SEED = 1;
const PLUGIN_INPUT_COUNT = 20_000;
const SOCKET_INPUT_COUNT = 4_000;
/** A process each. */
const EXECUTABLE_INPUT_COUNT = 1_000;

/** An input of that seed alone: FIRST_SEED = seed, count 1 (for the socket, what came before may matter). */
function judge({ faults, ends }: FuzzReport, expectedEnds: readonly string[]): void {
  assert.deepEqual(faults.slice(0, 5), []);
  assert.deepEqual(
    expectedEnds.filter((end) => ends[end] === undefined),
    [],
    `the inputs came to few ends: ${JSON.stringify(ends)}`,
  );
}

test('hostile environment, stdin and answers: the plugin always prints a result or a CNI error [CNI-6]', async () => {
  const report = await fuzzPlugin(FIRST_SEED, PLUGIN_INPUT_COUNT);
  const codes = [1, 4, 6, 7].map((code) => `not sent, error ${code}`);
  judge(report, [...codes, 'not sent, success', 'sent, success', 'sent, error 11', 'sent, error 999']);
});

test('the compiled plugin sends and prints what its source does, whatever it is given [CNI-6]', {
  skip: whyNoPlugin() ?? false,
}, async () => {
  const directory = mkdtempSync(join(tmpdir(), 'eniwhere-fuzz-'));
  try {
    const report = await fuzzExecutable(directory, FIRST_SEED, EXECUTABLE_INPUT_COUNT);
    judge(report, ['not sent, error 6', 'sent, success', 'sent, error 11', 'sent, error 999']);
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test('hostile callers of the socket: the agent answers the next one, and holds what it said it does [CNI-2] [CNI-3]', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'eniwhere-fuzz-'));
  try {
    const report = await fuzzSocket(directory, FIRST_SEED, SOCKET_INPUT_COUNT);
    judge(report, ['400', '404', 'Result', 'Done', 'error 7', 'hung up']);
  } finally {
    rmSync(directory, { recursive: true });
  }
});
