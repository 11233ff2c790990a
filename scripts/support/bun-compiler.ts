// The compiler of what is shipped compiled.

import { existsSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The platform's Bun from the lock, and not the package `bun`, whose install script does not run here. Its baseline
 * build compiles for its own kind without a download.
 */
export function bunCompiler(root: string): string {
  const name = process.arch === 'arm64' ? 'bun-linux-aarch64' : 'bun-linux-x64-baseline';
  const bun = join(root, 'node_modules/@oven', name, 'bin/bun');
  if (existsSync(bun)) return bun;
  throw new Error(`${bun} is missing: it compiles on Linux (x64 or arm64), after npm ci`);
}
