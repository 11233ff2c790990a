// A network namespace for a benchmark, held by a process that ends with ours.

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';

export interface HeldNamespace {
  readonly path: string;
  /** The process that holds it, as `ip link ... netns PID` takes it. */
  readonly pid: string;
  /** Runs a shell script inside; answers what it printed. Throws when a line of it fails. */
  sh(...lines: readonly string[]): string;
  remove(): Promise<void>;
}

export async function holdNamespace(): Promise<HeldNamespace> {
  const holder = spawn('unshare', ['--net', 'sh', '-c', 'echo ready; exec cat >/dev/null'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(holder, 'exit');
  await Promise.race([once(holder.stdout, 'data'), ended]);
  if (holder.exitCode !== null) throw new Error('no network namespace can be made here: run as root');
  const path = `/proc/${holder.pid}/ns/net`;
  return {
    path,
    pid: String(holder.pid),
    sh: (...lines) =>
      execFileSync('nsenter', [`--net=${path}`, 'sh', '-e'], {
        encoding: 'utf8',
        input: `${lines.join('\n')}\n`,
        stdio: 'pipe',
      }),
    remove: async () => {
      holder.stdin.end();
      await ended;
    },
  };
}
