// Network namespaces for pods by the hundred, as files in a mount namespace of the benchmark's own: no process holds them.

import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Set for the child that has namespaces of its own: the network's is the node. */
const IN_NAMESPACE = 'ENIWHERE_BENCH_NAMESPACE';

/**
 * Runs `bench` in a child with network and mount namespaces of its own, which take with them what was made in them.
 * `file` is the benchmark's.
 */
export async function inOwnNamespaces(file: string, bench: () => Promise<void>): Promise<void> {
  if (process.env[IN_NAMESPACE] !== undefined) return await bench();
  const options = [
    '--net',
    '--mount',
    '--propagation',
    'private',
    process.execPath,
    file,
    ...process.argv.slice(2),
  ];
  const child = spawnSync('unshare', options, {
    stdio: 'inherit',
    env: { ...process.env, [IN_NAMESPACE]: '1' },
  });
  process.exitCode = child.status ?? 1;
}

/** Makes namespaces as files of the directory; answers their paths. */
export function makePodNamespaces(directory: string, name: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, n) => {
    const path = join(directory, `${name}-${n}`);
    writeFileSync(path, '');
    execFileSync('unshare', [`--net=${path}`, 'true']);
    return path;
  });
}

/** Lets go of them: the directory can be removed then. */
export function removePodNamespaces(paths: readonly string[]): void {
  for (const path of paths) execFileSync('umount', [path]);
}
