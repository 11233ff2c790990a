// QuickJS, the engine that the CNI plugin is linked with: its source from PyPI, pinned by hash, compiled into a cache outside the tree.

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** The Python package is a wrapper; what is taken is the source of the engine that it carries, QuickJS-ng 0.17.0. */
const PACKAGE = 'quickjs-ng';
const VERSION = '0.17.0.2';
const SHA256 = '43d2e48272208721a7aaea8e3f02d4b9318f12ef20cc4f5421b59d9a470706ef';
const PARTS = ['quickjs', 'dtoa', 'libregexp', 'libunicode'];
const CACHE = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'eniwhere');

export interface QuickJs {
  readonly compiler: string;
  /** Where quickjs.h is. */
  readonly include: string;
  /** Object files to link with. */
  readonly objects: readonly string[];
}

/** What the executable depends on beside the project's own sources. */
export const QUICKJS_ID = `${PACKAGE}-${VERSION}`;

/** The engine, compiled by the C compiler; or why it cannot be had here. The first time takes half a minute, and needs PyPI. */
export function quickJs(compiler: string): QuickJs | { readonly missing: string } {
  const machine = spawnSync(compiler, ['-dumpmachine'], { encoding: 'utf8' });
  if (machine.status !== 0) {
    return { missing: `the C compiler ${compiler} is missing: apt-get install gcc libc6-dev` };
  }
  const home = join(CACHE, QUICKJS_ID);
  const include = join(home, `quickjs_ng-${VERSION}`, 'upstream-quickjs');
  if (!existsSync(include)) {
    const trouble = download(home);
    if (trouble !== undefined) return { missing: `${PACKAGE} ${VERSION} cannot be had: ${trouble}` };
  }
  const built = join(home, machine.stdout.trim());
  const objects = PARTS.map((part) => join(built, `${part}.o`));
  if (!existsSync(built)) compileParts(compiler, include, built);
  return { compiler, include, objects };
}

function compileParts(compiler: string, include: string, built: string): void {
  const next = `${built}.${process.pid}`;
  mkdirSync(next, { recursive: true });
  console.log(`compiling ${QUICKJS_ID} (once)`);
  for (const part of PARTS) {
    const source = join(include, `${part}.c`);
    execFileSync(compiler, ['-O2', '-w', '-D_GNU_SOURCE', '-c', source, '-o', join(next, `${part}.o`)]);
  }
  publish(next, built);
}

/** Puts a finished directory in its place, unless another process was faster. */
function publish(next: string, place: string): void {
  if (existsSync(place)) rmSync(next, { recursive: true });
  else renameSync(next, place);
}

/** Unpacks the source into `home`; answers what went wrong. */
function download(home: string): string | undefined {
  const next = `${home}.${process.pid}`;
  mkdirSync(next, { recursive: true });
  try {
    const pip = findPip(next);
    if (pip === undefined) return 'Python has no pip: apt-get install python3-venv';
    const wanted = join(next, 'requirements.txt');
    writeFileSync(wanted, `${PACKAGE}==${VERSION} --hash=sha256:${SHA256}\n`);
    const options = ['--retries', '1', '--no-deps', '--no-binary', ':all:', '--require-hashes'];
    const got = spawnSync(pip, ['-m', 'pip', 'download', '-q', ...options, '-r', wanted, '-d', next], {
      encoding: 'utf8',
    });
    const archive = readdirSync(next).find((name) => name.endsWith('.tar.gz'));
    if (archive === undefined) return got.error?.message ?? got.stderr.trim();
    execFileSync('tar', ['-xzf', join(next, archive), '-C', next]);
    rmSync(join(next, 'venv'), { recursive: true, force: true });
    publish(next, home);
    return undefined;
  } finally {
    rmSync(next, { recursive: true, force: true });
  }
}

/** A Python that has pip; where the system's has none, that of a virtual environment. */
function findPip(directory: string): string | undefined {
  const has = (python: string): boolean => spawnSync(python, ['-m', 'pip', '--version']).status === 0;
  if (has('python3')) return 'python3';
  const venv = join(directory, 'venv');
  spawnSync('python3', ['-m', 'venv', venv]);
  const python = join(venv, 'bin/python');
  return has(python) ? python : undefined;
}
