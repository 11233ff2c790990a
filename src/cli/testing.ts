// Runs commands in tests: what they print, and how they end.

import { setImmediate } from 'node:timers/promises';
import { systemClock } from '../adapters/system/clock.ts';
import { calm } from '../lab/faults/fault-profile.ts';
import { openMemoryLab } from '../lab/scenario/open-lab.ts';
import type { SimulationResult } from '../lab/scenario/simulation/simulate.ts';
import type { Log } from '../ports/log.ts';
import type { CliContext, LabAnswer, LabRequest, SimulationMachine } from './context.ts';
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

/** Runs that take no time; those of even seeds break a rule unless all hold. */
export function simulationOf(allHold: boolean): SimulationMachine {
  const runOne: SimulationMachine['runOne'] = ({ seed, ...plan }, onLog) => {
    onLog?.(`+0.000s info something happens in seed ${seed}`);
    const result: SimulationResult = {
      seed,
      ...(allHold || seed % 2 === 1
        ? {}
        : { broken: { rule: 'IP-1', what: '10.0.0.4 is live twice', afterMs: 1000 } }),
      nodeCount: plan.nodeCount ?? 3,
      faultyMinutes: plan.faultyMinutes ?? 6,
      profile: plan.profile ?? calm,
      eventCount: 10,
      virtualMs: 3_600_000,
      traceHash: '00',
      marks: new Map(),
      coverage: new Map(),
      recentEvents: [],
      podsServed: 2,
    };
    return Promise.resolve(result);
  };
  return {
    nowMs: () => 0,
    coreCount: 2,
    runOne,
    runMany: async (plans, { onResult }) => {
      for (const plan of plans.toReversed()) onResult(await runOne(plan));
    },
  };
}

/** A lab in memory, always the same one for a scenario. */
export async function openTestLab({ scenario }: LabRequest): Promise<LabAnswer> {
  const deps = { seed: 1, log: quiet, labLog: quiet, why: 'a test', drain: () => setImmediate() };
  return { kind: 'Open', open: await openMemoryLab(scenario, deps) };
}

/** A machine without files, AWS or cluster, on which a lab runs in memory; `overrides` say what it has. */
export async function runCommand(args: readonly string[], overrides: Partial<CliContext> = {}): Promise<Ran> {
  let out = '';
  let err = '';
  const exitCode = await runCli(args, {
    version: '1.2.3',
    programName: 'eniwhere',
    write: (text) => {
      out += text;
    },
    complain: (text) => {
      err += text;
    },
    colour: false,
    readFile: (path) => Promise.resolve({ ok: false, error: `${path}: no such file` }),
    writeFile: (path) => Promise.resolve({ ok: false, error: `${path} cannot be written: a test` }),
    openLab: openTestLab,
    agent: () => Promise.reject(new Error('there is no agent here')),
    openEc2: () =>
      Promise.resolve({ ok: false, error: 'no AWS Region is set: give --region, or set AWS_REGION' }),
    openCluster: () => Promise.resolve({ ok: false, error: 'there is no kubeconfig' }),
    clock: systemClock,
    serveEc2: () => Promise.resolve({ kind: 'Impossible', message: 'no port is free' }),
    simulation: simulationOf(true),
    whenInterrupted: new Promise(() => {}),
    ...overrides,
  });
  return { exitCode, out, err };
}
