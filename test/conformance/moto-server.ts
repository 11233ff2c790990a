// moto, an EC2 that others wrote, and boto3, the client that the AWS command-line tools are made of: installed from PyPI into a cache outside the tree, and run on a local port.

import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

const REQUIREMENT = 'moto[ec2,server]==5.2.5';
const CACHE = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'eniwhere');
const HOME = join(CACHE, 'moto-5.2.5');
/** Written last, so that an installation that was broken off is begun again. */
const COMPLETE = join(HOME, 'complete');
const START_MS = 60_000;
const INSTALL_MS = 300_000;
const SCRIPT_MS = 60_000;

export interface MotoServer {
  readonly url: string;
  stop(): Promise<void>;
}

export const hasPython = (): boolean => spawnSync('python3', ['--version']).status === 0;

function run(program: string, args: readonly string[]): string | undefined {
  const child = spawnSync(program, args, { encoding: 'utf8', timeout: INSTALL_MS });
  if (child.status === 0) return undefined;
  return `${program} ${args.join(' ')}: ${child.error?.message ?? `${child.stdout}${child.stderr}`}`;
}

/** A virtual environment where Python can make one; where it cannot (Debian without python3-venv), a folder of packages. */
function install(): void {
  if (existsSync(COMPLETE)) return;
  rmSync(HOME, { recursive: true, force: true });
  mkdirSync(HOME, { recursive: true });
  const quiet = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'];
  const noVenv = run('python3', ['-m', 'venv', join(HOME, 'venv')]);
  const trouble =
    noVenv === undefined
      ? run(join(HOME, 'venv/bin/python'), [...quiet, REQUIREMENT])
      : run('python3', [...quiet, '--target', join(HOME, 'packages'), REQUIREMENT]);
  if (trouble !== undefined) {
    throw new Error(
      `${REQUIREMENT} cannot be installed: ${trouble}${noVenv === undefined ? '' : `\n${noVenv}`}`,
    );
  }
  writeFileSync(COMPLETE, REQUIREMENT);
}

interface Python {
  readonly program: string;
  readonly env: NodeJS.ProcessEnv;
}

/** A Python that finds moto, and boto3 with it; installs them when they are not there yet (half a minute). */
function installedPython(): Python {
  install();
  const packages = join(HOME, 'packages');
  return {
    program: existsSync(packages) ? 'python3' : join(HOME, 'venv/bin/python'),
    env: { ...process.env, PYTHONPATH: packages },
  };
}

/** Runs a Python script that may use boto3. Resolves with what it printed; rejects with what it complained of. */
export function runPython(script: string, args: readonly string[]): Promise<string> {
  const { program, env } = installedPython();
  return new Promise((resolve, reject) => {
    execFile(program, ['-c', script, ...args], { env, timeout: SCRIPT_MS }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${error.message}\n${stderr}`));
    });
  });
}

export async function startMoto(): Promise<MotoServer> {
  const { program, env } = installedPython();
  const child = spawn(program, ['-m', 'moto.server', '--host', '127.0.0.1', '--port', '0'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env,
  });
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
  });
  return {
    url: await announcedUrl(child),
    stop: () => {
      child.kill();
      return ended;
    },
  };
}

function announcedUrl(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = '';
    const fail = (why: string): void => {
      child.kill();
      reject(new Error(`moto ${why}: ${said}`));
    };
    const timeout = setTimeout(() => fail(`did not say within ${START_MS} ms where it listens`), START_MS);
    child.once('error', (error) => fail(error.message));
    child.once('exit', () => fail('ended at once'));
    child.stderr?.on('data', (chunk: Buffer) => {
      said = (said + chunk.toString()).slice(-10_000);
      const url = /Running on (http:\/\/127\.0\.0\.1:\d+)/.exec(said)?.[1];
      if (url === undefined) return;
      clearTimeout(timeout);
      resolve(url);
    });
  });
}
