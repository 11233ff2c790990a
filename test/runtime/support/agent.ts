// Starts, asks and kills the agent's process.

import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, closeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { AgentSnapshot } from '../../../src/agent/agent-snapshot.ts';
import type { AgentLine, AgentOptions } from './agent-options.ts';

const MAIN = fileURLToPath(new URL('../agent-process.ts', import.meta.url));

export interface AgentProcess {
  /** Resolves once the plugin can reach it; rejects when it ends before. */
  readonly listening: Promise<void>;
  /** Resolves once ADD can be served. */
  readonly serving: Promise<void>;
  readonly ended: Promise<unknown>;
  describe(): Promise<AgentSnapshot>;
  /** SIGKILL, and its end. */
  kill(): Promise<void>;
}

/** Starts an agent whose log is added to the file. */
export function startAgentProcess(options: AgentOptions, logPath: string): AgentProcess {
  const log = openSync(logPath, 'a');
  const child = spawn(process.execPath, [MAIN, JSON.stringify(options)], {
    stdio: ['pipe', 'pipe', log],
  }) as ChildProcessByStdio<Writable, Readable, null>;
  closeSync(log);
  const ended = once(child, 'exit');
  const listening = Promise.withResolvers<void>();
  const serving = Promise.withResolvers<void>();
  const asked: ((snapshot: AgentSnapshot) => void)[] = [];
  createInterface({ input: child.stdout }).on('line', (text) => {
    const line = JSON.parse(text) as AgentLine;
    if (line.kind === 'Listening') listening.resolve();
    else if (line.kind === 'Serving') serving.resolve();
    else asked.shift()?.(line.snapshot as AgentSnapshot);
  });
  const gone = endOf(child, ended, logPath);
  // One that nobody waits for may end as it likes: tests kill agents at any time.
  for (const waiting of [listening, serving]) {
    gone.catch((error: unknown) => waiting.reject(error));
    waiting.promise.catch(ignoreEnd);
  }
  child.stdin.on('error', ignoreEnd);
  return {
    listening: listening.promise,
    serving: serving.promise,
    ended,
    describe: () => {
      const snapshot = new Promise<AgentSnapshot>((resolve) => asked.push(resolve));
      child.stdin.write('describe\n');
      return Promise.race([snapshot, gone]);
    },
    kill: async () => {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** Rejects when the process ends. */
async function endOf(child: ChildProcess, ended: Promise<unknown[]>, logPath: string): Promise<never> {
  await ended;
  throw new Error(`the agent has ended (${child.signalCode ?? child.exitCode}); its log is ${logPath}`);
}

/** The end of a process that was killed on purpose, or before it was asked. */
function ignoreEnd(): void {
  // Whoever awaits the same promise hears of it.
}
