// One seeded run of the whole system: faults first, then calm; every rule is checked against the world's truth.

import type { FaultProfile } from '../../faults/fault-profile.ts';
import { drawProfile } from '../../faults/fault-rows.ts';
import { drawBetween } from '../../kernel/draw.ts';
import { createKernel, type RunEnd } from '../../kernel/kernel.ts';
import type { Coverage } from './coverage.ts';
import type { BrokenRule } from './sim-judges.ts';
import { startWorld } from './sim-world.ts';

/** What one run is; absent parts are drawn from the seed, or take their default. */
export interface RunPlan {
  /** 32 bits. */
  readonly seed: number;
  /** At the start. */
  readonly nodeCount?: number;
  /** Of the faulty phase. */
  readonly faultyMinutes?: number;
  /** Faults instead of those that the seed draws. */
  readonly profile?: FaultProfile;
}

export interface SimulationOptions extends RunPlan {
  /** Lets promises go on: one macrotask turn. */
  readonly drain: () => Promise<void>;
  /** Hears every log line, deed and change with its virtual time, for a failing seed's trace. */
  readonly onLog?: (line: string) => void;
}

export interface SimulationResult {
  readonly seed: number;
  /** Absent when all rules held. `afterMs` counts from the start of the run. */
  readonly broken?: Omit<BrokenRule, 'atMs'> & { readonly afterMs: number };
  readonly nodeCount: number;
  readonly faultyMinutes: number;
  readonly profile: FaultProfile;
  readonly eventCount: number;
  /** How long the run was, virtual milliseconds. */
  readonly virtualMs: number;
  readonly traceHash: string;
  /** Rare branches that the run went through -> how often. */
  readonly marks: ReadonlyMap<string, number>;
  readonly coverage: Coverage;
  readonly recentEvents: readonly string[];
  readonly podsServed: number;
}

const FAULTY_MINUTES = 6;
const NODE_COUNT = { min: 2, max: 4 };
/** After the faults stop: time to heal, and then time in which nothing may be written. */
const HEALING_MS = 10 * 60_000;
const QUIET_MS = 5 * 60_000;
const MINUTE_MS = 60_000;

/** The faults that a seed draws. */
export const profileOf = (seed: number): FaultProfile =>
  drawProfile(createKernel({ seed }).random.fork('profile'));

/** Runs one seed. The same options give the same run, event for event. */
export async function simulate(options: SimulationOptions): Promise<SimulationResult> {
  const profile = options.profile ?? profileOf(options.seed);
  const kernel = createKernel({ seed: options.seed, randomTies: profile.kernel.randomTies });
  const nodeCount = options.nodeCount ?? drawBetween(kernel.random.fork('nodes'), NODE_COUNT);
  const faultyMinutes = options.faultyMinutes ?? FAULTY_MINUTES;
  const { judges, calm, marks, coverage } = startWorld({ ...options, kernel, profile, nodeCount });
  const startMs = kernel.now();
  const check = (): string | undefined => judges.brokenRule()?.rule;
  let end: RunEnd = { kind: 'TimeUp' };
  let untilMs = startMs;
  const phase = async (ms: number, after: () => void): Promise<void> => {
    if (end.kind !== 'TimeUp') return;
    untilMs += ms;
    end = await kernel.run({ untilMs, drain: options.drain, check, onEvent: judges.onEvent });
    if (end.kind === 'TimeUp') after();
    else if (end.kind !== 'Broken')
      judges.register.broken('LV-1', `the run ended early: ${JSON.stringify(end)}`);
  };
  await phase(faultyMinutes * MINUTE_MS, calm);
  await phase(HEALING_MS, judges.startQuiet);
  await phase(QUIET_MS, judges.atRest);

  const broken = judges.brokenRule();
  return {
    seed: options.seed,
    ...(broken === undefined
      ? {}
      : { broken: { rule: broken.rule, what: broken.what, afterMs: broken.atMs - startMs } }),
    nodeCount,
    faultyMinutes,
    profile,
    eventCount: kernel.eventCount(),
    virtualMs: kernel.now() - startMs,
    traceHash: kernel.traceHash(),
    marks,
    coverage: coverage(),
    recentEvents: kernel.recentEvents(),
    podsServed: judges.podsServed(),
  };
}
