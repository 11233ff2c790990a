// A million hostile inputs to the plugin and the agent's socket. `node bench/fuzz.ts [COUNT [FIRST_SEED]]`.

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

// The fuzzers belong to the tests, which run fewer inputs.
const main = join(fileURLToPath(new URL('..', import.meta.url)), 'test/runtime/fuzz-process.ts');
const { status } = spawnSync(process.execPath, [main, ...process.argv.slice(2)], { stdio: 'inherit' });
process.exitCode = status ?? 1;
