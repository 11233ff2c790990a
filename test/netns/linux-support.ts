// What the kernel tests of adapters/linux share: namespaces of their own, and the ip and nft programs as oracles.

import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Outcome } from '../../src/ports/outcome.ts';

export interface TestNamespace {
  readonly path: string;
  /** The process that holds the namespace, as `ip link ... netns PID` takes it. */
  readonly pid: string;
  /** Runs a program inside the namespace; answers what it printed. Throws when it fails. */
  run(program: string, ...values: readonly string[]): string;
  /** `ip -j ...`, parsed. */
  ip(...values: readonly string[]): readonly Readonly<Record<string, unknown>>[];
  /** Runs nft commands from text. */
  nft(commands: string): string;
  remove(): Promise<void>;
}

const PROGRAMS = ['ip', 'nft', 'nsenter', 'unshare'];

/** Why kernel tests cannot run here; undefined when they can. */
export function whyNoKernel(): string | undefined {
  if (process.platform !== 'linux') return 'network namespaces need Linux';
  if (process.getuid?.() !== 0) return 'network namespaces need root, or a user namespace (unshare -Urnm)';
  for (const program of PROGRAMS) {
    try {
      execFileSync(program, ['--version'], { stdio: 'pipe' });
    } catch (error) {
      // `ip` has no --version but answers with an error of its own; a missing program has ENOENT.
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') {
        return `the program ${program} is missing: apt-get install iproute2 nftables util-linux`;
      }
    }
  }
  try {
    execFileSync('unshare', ['--net', 'true'], { stdio: 'pipe' });
  } catch {
    return 'the kernel refuses to make a network namespace here';
  }
  return undefined;
}

/** The same, as test suites take it. */
export const skip: string | false = whyNoKernel() ?? false;

/**
 * A namespace held by a process that ends with ours: it waits for the end of its input. So nothing is left behind,
 * however a test ends.
 */
export async function makeNamespace(): Promise<TestNamespace> {
  const holder = spawn('unshare', ['--net', 'sh', '-c', 'echo ready; exec cat >/dev/null'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  await once(holder.stdout, 'data');
  const path = `/proc/${holder.pid}/ns/net`;
  const run = (program: string, ...values: readonly string[]): string =>
    execFileSync('nsenter', [`--net=${path}`, program, ...values], { encoding: 'utf8', stdio: 'pipe' });
  return {
    path,
    pid: String(holder.pid),
    run,
    ip: (...values) => {
      const printed = run('ip', '-j', ...values).trim();
      return printed === '' ? [] : (JSON.parse(printed) as readonly Readonly<Record<string, unknown>>[]);
    },
    nft: (commands) =>
      execFileSync('nsenter', [`--net=${path}`, 'nft', '-f', '-'], {
        encoding: 'utf8',
        input: commands,
        stdio: ['pipe', 'pipe', 'pipe'],
      }),
    remove: async () => {
      const ended = once(holder, 'exit');
      holder.stdin.end();
      await ended;
    },
  };
}

/** The value of an outcome that must be ok. */
export function valueOf<T, F>(outcome: Outcome<T, F>): T {
  if (outcome.kind === 'ok') return outcome.value;
  throw new Error(`expected ok, got ${JSON.stringify(outcome)}`);
}

/** Why there are no user namespaces here, as `unshare` with its options would make one; false when there are. */
export function whyNoUserNamespace([program = '', ...values]: readonly string[]): string | false {
  if (process.platform !== 'linux') return 'user namespaces need Linux';
  const tried = spawnSync(program, [...values, 'true'], { encoding: 'utf8' });
  return tried.status === 0 ? false : `the kernel refuses user namespaces here: ${tried.stderr}`;
}

/** Runs a test file of this folder in a user namespace; it must pass, and skip nothing. */
export function passesInside([program = '', ...values]: readonly string[], file: string): void {
  const path = fileURLToPath(new URL(file, import.meta.url));
  // NODE_TEST_CONTEXT would make the inner runner report to the outer one in its own binary form.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const ran = spawnSync(program, [...values, process.execPath, '--test', '--test-reporter=tap', path], {
    encoding: 'utf8',
    env,
  });
  assert.equal(ran.status, 0, ran.stdout + ran.stderr);
  assert.match(ran.stdout, /^# pass [1-9]/m);
  assert.match(ran.stdout, /^# skipped 0$/m);
}
