// moto, an EC2 that others wrote: installed from PyPI into a cache outside the tree, and run on a local port.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
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

/** Installs moto when it is not there yet (half a minute), and starts it. */
export async function startMoto(): Promise<MotoServer> {
  install();
  const inVenv = join(HOME, 'venv/bin/python');
  const child = spawn(
    existsSync(join(HOME, 'packages')) ? 'python3' : inVenv,
    ['-m', 'moto.server', '--host', '127.0.0.1', '--port', '0'],
    {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, PYTHONPATH: join(HOME, 'packages') },
    },
  );
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
