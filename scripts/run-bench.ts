// Runs the benchmarks one after another: `node scripts/run-bench.ts [NAME...]`, where NAME is a file of bench/ without its suffix.

import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { basename } from 'node:path';

function run(wanted: readonly string[]): number {
  const files = globSync('bench/*.ts').sort();
  const names = files.map((file) => basename(file, '.ts'));
  const strangers = wanted.filter((name) => !names.includes(name));
  if (files.length === 0 || strangers.length > 0) {
    console.error(
      `run-bench: no benchmark ${strangers.join(', ')}; there are: ${names.join(', ') || 'none'}`,
    );
    return 2;
  }
  let failures = 0;
  for (const file of files) {
    if (wanted.length > 0 && !wanted.includes(basename(file, '.ts'))) continue;
    console.log(`== ${file}`);
    // Benchmarks share the machine's few cores, so they never run side by side.
    const child = spawnSync(process.execPath, [file], { stdio: ['ignore', 'inherit', 'inherit'] });
    if (child.status !== 0) {
      failures += 1;
      console.error(`run-bench: ${file} failed (${child.signal ?? `exit code ${child.status}`})`);
    }
  }
  return failures === 0 ? 0 : 1;
}

process.exitCode = run(process.argv.slice(2));
