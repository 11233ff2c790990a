// Runs the ip, nft and mount programs, with their commands on standard input.

import { spawn } from 'node:child_process';
import { err, ok } from '../../domain/result.ts';
import type { FabricFailure, FabricResult } from './fabric-failure.ts';

/** The Debian package of each program that the fabric runs. */
const PACKAGES: Readonly<Record<string, string>> = {
  ip: 'iproute2',
  nft: 'nftables',
  mount: 'mount',
  unshare: 'util-linux',
};

/** A batch takes a few milliseconds; one that takes this long hangs. */
const RUN_TIMEOUT_MS = 20_000;

export interface ProgramRun {
  readonly argv: readonly string[];
  /** Standard input; none when absent. */
  readonly input?: string;
}

export interface ProgramEnd {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

export function missingProgram(program: string): FabricFailure {
  const name = PACKAGES[program] ?? program;
  return {
    kind: 'program-missing',
    message: `the program ${program} is missing; install it with: apt-get install ${name}`,
  };
}

const commandFailed = (argv: readonly string[], words: string): FabricFailure => ({
  kind: 'command-failed',
  message: `${argv.join(' ')}: ${words}`,
});

/** Answers how the program ended, whatever its exit code; fails when it cannot be run to its end. */
export function endProgram({ argv, input }: ProgramRun): Promise<FabricResult<ProgramEnd>> {
  const [program = '', ...values] = argv;
  return new Promise((resolve) => {
    const child = spawn(program, values, { stdio: ['pipe', 'pipe', 'pipe'], timeout: RUN_TIMEOUT_MS });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    child.once('error', (error: NodeJS.ErrnoException) => {
      resolve(err(error.code === 'ENOENT' ? missingProgram(program) : commandFailed(argv, error.message)));
    });
    child.once('close', (exitCode, signal) => {
      resolve(
        exitCode === null
          ? err(commandFailed(argv, `stopped by ${signal}; ${RUN_TIMEOUT_MS} ms is the limit`))
          : ok({ exitCode, stdout, stderr }),
      );
    });
    // A program that ends before it has read its input closes the pipe; its exit code tells the story.
    child.stdin.on('error', () => {});
    child.stdin.end(input ?? '');
  });
}

/** Answers what the program printed; an exit code other than 0 is a failure with the program's own words. */
export async function runProgram(run: ProgramRun): Promise<FabricResult<string>> {
  const end = await endProgram(run);
  if (!end.ok) return end;
  const { exitCode, stdout, stderr } = end.value;
  return exitCode === 0
    ? ok(stdout)
    : err(commandFailed(run.argv, `${stderr.trim()} (exit code ${exitCode})`));
}

const batchText = (lines: readonly string[]): string => `${lines.join('\n')}\n`;

const ipArgv = (namespace: string | undefined): readonly string[] =>
  namespace === undefined ? ['ip'] : ['ip', '-n', namespace];

/** Runs `ip` commands in one process, in the named namespace if one is given; stops at the first that fails. */
export async function runIp(
  namespace: string | undefined,
  lines: readonly string[],
): Promise<FabricResult<void>> {
  if (lines.length === 0) return ok(undefined);
  const argv = [...ipArgv(namespace), '-batch', '-'];
  const end = await endProgram({ argv, input: batchText(lines) });
  if (!end.ok) return end;
  if (end.value.exitCode === 0) return ok(undefined);
  const words = end.value.stderr.trim();
  const line = /^Command failed -:([0-9]+)/m.exec(words)?.[1];
  const command = line === undefined ? undefined : lines[Number(line) - 1];
  return err(commandFailed(argv, `${command ?? 'before the first command'}: ${words}`));
}

/** What `ip` and the kernel say of a thing that is not there: for a removal that is success. */
const ALREADY_GONE =
  /Cannot find device|No such (?:device|process|file)|Cannot assign requested address|^Command failed/;

/** Runs `ip` commands that remove things, all of them; what is already gone is no failure. */
export async function removeWithIp(
  namespace: string | undefined,
  lines: readonly string[],
): Promise<FabricResult<void>> {
  if (lines.length === 0) return ok(undefined);
  const argv = [...ipArgv(namespace), '-force', '-batch', '-'];
  const end = await endProgram({ argv, input: batchText(lines) });
  if (!end.ok) return end;
  const amiss = end.value.stderr.split('\n').filter((line) => line !== '' && !ALREADY_GONE.test(line));
  return amiss.length === 0 ? ok(undefined) : err(commandFailed(argv, amiss.join('; ')));
}
