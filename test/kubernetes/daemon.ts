// A program that runs as long as a test wants it to, and never longer than the test.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';

export interface Daemon {
  /** 0 when it could not be started. */
  readonly pid: number;
  /** How it ended, with the last lines of its log; undefined while it runs. */
  whyEnded(): string | undefined;
  /** Resolves when it has ended; also when it had ended before. */
  stop(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void>;
}

export interface DaemonOptions {
  readonly argv: readonly string[];
  /** Appended to. */
  readonly logPath: string;
  /** The network namespace to run in; the test's own when absent. */
  readonly netnsPath?: string;
  readonly environment?: Readonly<Record<string, string>>;
}

/** A program that does not heed SIGTERM is killed then. */
const STOP_MS = 20_000;
const LAST_LINES = 15;

/** Starts it. The kernel kills it when the test's process ends, however that ends. */
export function startDaemon({ argv, logPath, netnsPath, environment }: DaemonOptions): Daemon {
  const log = openSync(logPath, 'a');
  const inside = netnsPath === undefined ? [] : ['nsenter', `--net=${netnsPath}`];
  const [program = '', ...values] = [...inside, 'setpriv', '--pdeathsig', 'KILL', ...argv];
  const child = spawn(program, values, {
    stdio: ['ignore', log, log],
    ...(environment !== undefined && { env: { ...process.env, ...environment } }),
  });
  closeSync(log);
  let failure: string | undefined;
  child.once('error', (error) => {
    failure = error.message;
  });
  const hasEnded = (): boolean =>
    failure !== undefined || child.exitCode !== null || child.signalCode !== null;
  return {
    pid: child.pid ?? 0,
    whyEnded: () =>
      hasEnded()
        ? `${argv[0]} ended (${failure ?? child.exitCode ?? child.signalCode}); ${logPath}:\n${lastLines(logPath)}`
        : undefined,
    stop: async (signal = 'SIGTERM') => {
      if (!hasEnded()) await endChild(child, signal);
    },
  };
}

async function endChild(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  const ended = once(child, 'exit');
  child.kill(signal);
  const late = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
  await ended;
  clearTimeout(late);
}

const lastLines = (path: string): string =>
  readFileSync(path, 'utf8').trimEnd().split('\n').slice(-LAST_LINES).join('\n');
