// Bundles the agent into plain JavaScript: build/agent/eniwhere-agent.js, with its Workers beside it.
//
// Node.js strips types with a parser of its own, once for each thread: run from its sources the agent takes 70 MB more.
// Names stay as they are, for the stacks in its log; white space goes, since each thread keeps the text.
// Only koffi, which is native code, is still read from node_modules.

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bunCompiler } from './support/bun-compiler.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const ENTRIES = ['src/bin/eniwhere-agent.ts', 'src/adapters/linux/stack-worker.ts'];

execFileSync(
  bunCompiler(root),
  [
    'build',
    '--target=node',
    '--format=esm',
    '--external=koffi',
    '--minify-syntax',
    '--minify-whitespace',
    '--entry-naming=[name].js',
    `--outdir=${join(root, 'build/agent')}`,
    ...ENTRIES,
  ],
  { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] },
);
console.log('build/agent/eniwhere-agent.js is built');
