// Compiles the CNI plugin into an executable: build/eniwhere-cni, for this machine; --cc aarch64-linux-gnu-gcc for another.
//
// Its TypeScript becomes bytecode for QuickJS, linked with the engine and a host in C into one static file that starts in a
// millisecond. Where no C compiler or no engine is to be had, Bun makes an executable of the same TypeScript that starts in
// five: --by quickjs or --by bun allow only the one.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { QUICKJS_ID, type QuickJs, quickJs } from './quickjs.ts';
import { bunCompiler } from './support/bun-compiler.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const { values } = parseArgs({
  options: {
    by: { type: 'string' },
    cc: { type: 'string', default: 'gcc' },
    out: { type: 'string', default: 'build/eniwhere-cni' },
  },
});
const HOST = 'src/cni/plugin-host.c';
const BYTECODE = 'scripts/compile-bytecode.c';
/** Beginning the minified script as a function of its own, it leaves nothing in the global object but `host`. */
const BUNDLE = ['--minify', '--format=iife', '--target=browser'];
/** The plugin reads nothing from the directory in which a runtime happens to start it. */
const BUN = [
  '--compile',
  '--minify',
  '--format=esm',
  '--no-compile-autoload-dotenv',
  '--no-compile-autoload-bunfig',
];
const WARNINGS = ['-Wall', '-Wextra', '-Werror'];

function sources(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .map((name) => join(folder, name))
    .sort();
}

/** Everything that the executable is made of. */
function fingerprint(by: string): string {
  const hash = createHash('sha256').update([by, ...BUNDLE, ...BUN].join(' '));
  const files = [
    ...sources('src/cni'),
    ...sources('src/protocol'),
    ...sources('src/domain'),
    HOST,
    BYTECODE,
    'src/bin/cni.ts',
    'src/bin/cni-by-bun.ts',
    'scripts/build-cni.ts',
    'package-lock.json',
  ];
  for (const file of files) hash.update(file).update(readFileSync(join(root, file)));
  return hash.digest('hex');
}

const run = (program: string, options: readonly string[], input?: Buffer): Buffer =>
  execFileSync(program, options, { cwd: root, stdio: ['pipe', 'pipe', 'inherit'], ...(input && { input }) });

function buildByBun(out: string): void {
  run(bunCompiler(root), ['build', ...BUN, 'src/bin/cni-by-bun.ts', '--outfile', out]);
}

/** `native` compiles the script here; `engine` goes into the plugin. Bytecode is the same for all machines of a byte order. */
function buildByQuickJs(native: QuickJs, engine: QuickJs, out: string): void {
  const directory = mkdtempSync(join(tmpdir(), 'eniwhere-cni-'));
  const at = (name: string): string => join(directory, name);
  const options = ['-O2', ...WARNINGS, '-isystem', engine.include];
  const libraries = ['-lm', '-lpthread'];
  try {
    run(bunCompiler(root), ['build', ...BUNDLE, 'src/bin/cni.ts', '--outfile', at('bundle.js')]);
    run(native.compiler, [...options, BYTECODE, ...native.objects, ...libraries, '-o', at('compile')]);
    writeFileSync(at('bytecode.c'), run(at('compile'), [], readFileSync(at('bundle.js'))));
    const linked = [HOST, at('bytecode.c'), ...engine.objects, ...libraries];
    run(engine.compiler, [...options, '-static', '-s', ...linked, '-o', out]);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** The engine for this machine and for the plugin's, unless Bun is asked for, or is all that there is. */
function chooseEngines(): readonly [native: QuickJs, engine: QuickJs] | undefined {
  if (values.by === 'bun') return undefined;
  if (values.by !== undefined && values.by !== 'quickjs') throw new Error('--by is quickjs or bun');
  const native = quickJs('gcc');
  const engine = 'missing' in native ? native : quickJs(values.cc);
  if (!('missing' in native) && !('missing' in engine)) return [native, engine];
  const missing = 'missing' in engine ? engine.missing : '';
  if (values.by === 'quickjs' || values.cc !== 'gcc') throw new Error(missing);
  console.log(`${missing}\nso the plugin is built by Bun, and starts in five milliseconds in place of one`);
  return undefined;
}

const out = join(root, values.out);
const stamp = `${out}.inputs`;
const engines = chooseEngines();
const inputs = fingerprint(engines === undefined ? 'bun' : `${QUICKJS_ID} ${values.cc}`);
if (existsSync(out) && existsSync(stamp) && readFileSync(stamp, 'utf8') === inputs) {
  console.log(`${values.out} is up to date`);
} else {
  mkdirSync(join(root, 'build'), { recursive: true });
  const next = `${out}.next`;
  if (engines === undefined) buildByBun(next);
  else buildByQuickJs(...engines, next);
  renameSync(next, out);
  writeFileSync(stamp, inputs);
  console.log(`${values.out} is built by ${engines === undefined ? 'Bun' : QUICKJS_ID}`);
}
