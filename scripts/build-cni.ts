// Compiles the CNI plugin into an executable: build/eniwhere-cni, for this machine; --target for another.
//
// Bun is the compiler of this one program only: it starts in a few milliseconds and needs nothing of the host but glibc.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = fileURLToPath(new URL('..', import.meta.url));
const { values } = parseArgs({
  options: {
    /** Such as bun-linux-arm64. Bun downloads what it needs for another kind of machine, past the lock. */
    target: { type: 'string' },
    out: { type: 'string', default: 'build/eniwhere-cni' },
  },
});

/** The plugin reads nothing from the directory in which a runtime happens to start it. */
const OPTIONS = [
  '--compile',
  '--minify',
  '--format=esm',
  ...(values.target === undefined ? [] : [`--target=${values.target}`]),
  '--no-compile-autoload-dotenv',
  '--no-compile-autoload-bunfig',
];

function sources(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .map((name) => join(folder, name))
    .sort();
}

/** Everything that the executable is made of. */
function fingerprint(): string {
  const hash = createHash('sha256').update(OPTIONS.join(' '));
  const files = [
    ...sources('src/cni'),
    ...sources('src/protocol'),
    ...sources('src/domain'),
    'src/bin/cni.ts',
    'package-lock.json',
  ];
  for (const file of files) hash.update(file).update(readFileSync(join(root, file)));
  return hash.digest('hex');
}

/**
 * The platform's Bun from the lock, and not the package `bun`, whose install script does not run here. Its baseline
 * build compiles for its own kind without a download.
 */
function compiler(): string {
  const name = process.arch === 'arm64' ? 'bun-linux-aarch64' : 'bun-linux-x64-baseline';
  const bun = join(root, 'node_modules/@oven', name, 'bin/bun');
  if (existsSync(bun)) return bun;
  throw new Error(`${bun} is missing: the plugin is compiled on Linux (x64 or arm64), after npm ci`);
}

const out = join(root, values.out);
const stamp = `${out}.inputs`;
const inputs = fingerprint();
if (existsSync(out) && existsSync(stamp) && readFileSync(stamp, 'utf8') === inputs) {
  console.log(`${values.out} is up to date`);
} else {
  mkdirSync(join(root, 'build'), { recursive: true });
  const next = `${out}.next`;
  execFileSync(compiler(), ['build', ...OPTIONS, 'src/bin/cni.ts', '--outfile', next], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  renameSync(next, out);
  writeFileSync(stamp, inputs);
  console.log(`${values.out} is built for ${values.target ?? 'this machine'}`);
}
