// What an agent costs a node that does nothing: memory with 230 pods, and processor time. `node bench/agent-memory.ts`, as root.

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

// The node that it runs on belongs to the tests.
const main = join(fileURLToPath(new URL('..', import.meta.url)), 'test/runtime/agent-memory-process.ts');
const { status } = spawnSync(process.execPath, [main], { stdio: 'inherit' });
process.exitCode = status ?? 1;
