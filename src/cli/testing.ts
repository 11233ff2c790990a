// Runs commands in tests: what they print, and how they end.

import { setImmediate } from 'node:timers/promises';
import { systemClock } from '../adapters/system/clock.ts';
import { openMemoryLab } from '../lab/scenario/open-lab.ts';
import type { Log } from '../ports/log.ts';
import type { CliContext, LabAnswer } from './context.ts';
import { runCli } from './program.ts';

export const quiet: Log = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  mark: () => {},
};

export interface Ran {
  readonly exitCode: number;
  readonly out: string;
  readonly err: string;
}

/** A machine without files, AWS or cluster, on which a lab runs in memory; `overrides` say what it has. */
export async function runCommand(args: readonly string[], overrides: Partial<CliContext> = {}): Promise<Ran> {
  let out = '';
  let err = '';
  const exitCode = await runCli(args, {
    version: '1.2.3',
    write: (text) => {
      out += text;
    },
    complain: (text) => {
      err += text;
    },
    colour: false,
    readFile: (path) => Promise.resolve({ ok: false, error: `${path}: no such file` }),
    writeFile: (path) => Promise.resolve({ ok: false, error: `${path} cannot be written: a test` }),
    openLab: async ({ scenario }): Promise<LabAnswer> => ({
      kind: 'Open',
      open: await openMemoryLab(scenario, {
        seed: 1,
        log: quiet,
        labLog: quiet,
        why: 'a test',
        drain: () => setImmediate(),
      }),
    }),
    openEc2: () =>
      Promise.resolve({ ok: false, error: 'no AWS Region is set: give --region, or set AWS_REGION' }),
    clock: systemClock,
    serveEc2: () => Promise.resolve({ kind: 'Impossible', message: 'no port is free' }),
    whenInterrupted: new Promise(() => {}),
    ...overrides,
  });
  return { exitCode, out, err };
}
