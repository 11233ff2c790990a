// Runs one suite of tests: `node scripts/run-tests.ts SUITE [node --test options]`. A suite without a file is an error.

import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';

interface Suite {
  readonly files: readonly string[];
  readonly options: readonly string[];
  /** A suite that takes longer is hung: it is ended, and has failed. */
  readonly minutesMax: number;
}

/** Pure tests share one process, which saves 0.3 s a file; what touches the kernel or the process gets its own. */
const oneProcess = ['--test-isolation=none'];
/** Two cores, and one kernel to share: one file at a time. */
const processPerFile = ['--test-concurrency=1', '--test-timeout=300000'];

/** Pods of a real cluster start in seconds, and a story has dozens of steps. */
const clusterPerFile = ['--test-concurrency=1', '--test-timeout=1500000'];

const suites: Readonly<Record<string, Suite>> = {
  house: { files: ['test/house.test.ts', 'test/house/*.test.ts'], options: oneProcess, minutesMax: 5 },
  unit: { files: ['src/**/*.test.ts'], options: oneProcess, minutesMax: 5 },
  netns: { files: ['test/netns/**/*.test.ts'], options: processPerFile, minutesMax: 15 },
  runtime: { files: ['test/runtime/*.test.ts'], options: processPerFile, minutesMax: 15 },
  conformance: { files: ['test/conformance/*.test.ts'], options: processPerFile, minutesMax: 15 },
  kubernetes: { files: ['test/kubernetes/*.test.ts'], options: clusterPerFile, minutesMax: 40 },
  simulation: { files: ['test/simulation/**/*.test.ts'], options: processPerFile, minutesMax: 15 },
};

function run(name: string | undefined, extra: readonly string[]): number {
  const suite = name === undefined ? undefined : suites[name];
  if (suite === undefined) {
    console.error(
      `run-tests: "${name ?? ''}" is not a suite; the suites are ${Object.keys(suites).join(', ')}`,
    );
    return 2;
  }
  const files = globSync(suite.files).sort();
  if (files.length === 0) {
    // node --test calls that a success.
    console.error(`run-tests: no file matches ${suite.files.join(' ')}`);
    return 1;
  }
  const child = spawnSync(process.execPath, ['--test', ...suite.options, ...extra, ...files], {
    stdio: ['ignore', 'inherit', 'inherit'],
    timeout: suite.minutesMax * 60_000,
    // A busy loop hears no softer signal.
    killSignal: 'SIGKILL',
  });
  if (child.error) console.error(`run-tests: ${name}: ${child.error.message}`);
  return child.status ?? 1;
}

process.exitCode = run(process.argv[2], process.argv.slice(3));
