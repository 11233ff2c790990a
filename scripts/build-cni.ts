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
    target: {
      type: 'string',
      default: process.arch === 'arm64' ? 'bun-linux-arm64' : 'bun-linux-x64-baseline',
    },
    out: { type: 'string', default: 'build/eniwhere-cni' },
  },
});

/** The plugin reads nothing from the directory in which a runtime happens to start it. */
const OPTIONS = [
  '--compile',
  '--minify',
  '--format=esm',
  `--target=${values.target}`,
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

const out = join(root, values.out);
const stamp = `${out}.inputs`;
const inputs = fingerprint();
if (existsSync(out) && existsSync(stamp) && readFileSync(stamp, 'utf8') === inputs) {
  console.log(`${values.out} is up to date`);
} else {
  mkdirSync(join(root, 'build'), { recursive: true });
  const next = `${out}.next`;
  execFileSync(
    join(root, 'node_modules/.bin/bun'),
    ['build', ...OPTIONS, 'src/bin/cni.ts', '--outfile', next],
    {
      cwd: root,
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  renameSync(next, out);
  writeFileSync(stamp, inputs);
  console.log(`${values.out} is built for ${values.target}`);
}
