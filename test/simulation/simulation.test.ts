// Whole clusters, controller and agents unchanged, on a virtual clock with faults drawn by seed.
//
// The seeds are fresh ones for every commit, and the same at each run of it; SIM_SEED_FROM and SIM_SEED_COUNT choose them. A
// failure says how to replay it.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { simulationMachine } from '../../src/bin/eniwhere-simulation.ts';
import { failureReport, parseFaultList } from '../../src/lab/scenario/simulation/failure-report.ts';
import { shrink } from '../../src/lab/scenario/simulation/shrink.ts';
import type { RunPlan, SimulationResult } from '../../src/lab/scenario/simulation/simulate.ts';
import {
  addResult,
  describeCoverage,
  describeTally,
  emptyTally,
} from '../../src/lab/scenario/simulation/tally.ts';
import { pairCount, unmetPairs } from '../../src/lab/scenario/simulation/coverage.ts';

const FROM = Number(process.env['SIM_SEED_FROM'] ?? seedOfCommit());
const COUNT = Number(process.env['SIM_SEED_COUNT'] ?? 500);
const { runOne, runMany, coreCount: workerCount, nowMs } = simulationMachine;

/** Whoever tests the same commit tests the same seeds. */
function seedOfCommit(): number {
  const git = spawnSync('git', ['rev-parse', '--short=7', 'HEAD'], { encoding: 'utf8' });
  return git.status === 0 ? Number.parseInt(git.stdout, 16) : randomInt(2 ** 28);
}

/** What must have happened in some of the seeds, or the run was not worth its name. */
const MARKS = [
  'ec2-throttled',
  'ec2-subnet-full',
  'ec2-server-error',
  'ec2-not-found',
  'unknown-outcome',
  'status-conflict',
  'stale-spec-refused',
  'journal-torn',
  'wiring-failed',
  'eni-link-pending',
  'pod-collected',
  'started-offline',
];
/** Of the pairs of a fault and a state, the share that must have come together in the seeds of one run. */
const COVERAGE_MIN = 0.9;

async function reportOf(failed: SimulationResult): Promise<string> {
  const small = await shrink(failed, (plan) => runOne(plan));
  const story: string[] = [];
  await runOne(small.plan, (line) => story.push(line));
  return failureReport(failed, small, story);
}

let tally = emptyTally;
async function runAll(plans: readonly RunPlan[]): Promise<readonly SimulationResult[]> {
  const broken: SimulationResult[] = [];
  const onResult = (result: SimulationResult): void => {
    tally = addResult(tally, result);
    if (result.broken !== undefined) broken.push(result);
  };
  await runMany(plans, { workerCount, onResult });
  return broken.sort((a, b) => a.seed - b.seed);
}

const rules =
  '[IP-1] [IP-2] [IP-3] [IP-5] [IP-6] [IP-7] [IP-8] [IP-9] [ENI-1] [ENI-2] [ENI-3] [ENI-6] [SEL-1] [SEL-8] [SEL-10] [SEL-11] [SEL-12] [SEL-13] [SEL-14] [SEL-15] [SEL-16] [POD-1] [POD-2] [POD-3] [POD-4] [CNI-1] [CNI-2] [LEAD-1] [NET-1] [RST-4] [WD-1] [WD-2] [LV-1] [LV-2] [LV-3] [LV-5] [LV-6]';

test(`${rules} hold in ${COUNT} seeds from ${FROM} on`, { timeout: 900_000 }, async (t) => {
  const startedAtMs = nowMs();
  const [first, ...others] = await runAll(
    Array.from({ length: COUNT }, (_, index) => ({ seed: FROM + index })),
  );
  t.diagnostic(describeTally(tally, (nowMs() - startedAtMs) / 1000));
  t.diagnostic(describeCoverage(tally));
  const all = [first, ...others].map((one) => one?.seed).join(', ');
  assert.equal(first, undefined, `${first && (await reportOf(first))}broken seeds: ${all}`);
});

interface KnownSeed {
  readonly seed: number;
  readonly story: string;
  /** As the replay command has them; drawn from the seed when absent. */
  readonly nodes?: number;
  readonly minutes?: number;
  readonly faults?: string;
}
const known = JSON.parse(
  readFileSync(new URL('seeds.json', import.meta.url), 'utf8'),
) as readonly KnownSeed[];

function planOf({ seed, nodes, minutes, faults }: KnownSeed): RunPlan {
  const profile = faults === undefined ? undefined : parseFaultList(faults);
  assert.ok(profile?.ok !== false, `the faults of seed ${seed} can be read`);
  return {
    seed,
    ...(nodes === undefined ? {} : { nodeCount: nodes }),
    ...(minutes === undefined ? {} : { faultyMinutes: minutes }),
    ...(profile === undefined ? {} : { profile: profile.value }),
  };
}

test('seeds that once showed a mistake hold every rule: test/simulation/seeds.json tells which', async () => {
  const [first] = await runAll(known.map(planOf));
  assert.equal(first, undefined, first && (await reportOf(first)));
});

test('the same seed gives the same run, event for event, in threads and outside', async () => {
  const seeds = [FROM, FROM + 1, FROM + 2];
  const inThreads = new Map<number, SimulationResult>();
  await runMany(
    seeds.map((seed) => ({ seed })),
    { workerCount, onResult: (result) => inThreads.set(result.seed, result) },
  );
  for (const seed of seeds) {
    const lines: [string[], string[]] = [[], []];
    const first = await runOne({ seed }, (line) => lines[0].push(line));
    const second = await runOne({ seed }, (line) => lines[1].push(line));
    assert.deepEqual(lines[0], lines[1]);
    assert.deepEqual(first, second);
    assert.deepEqual(first, inThreads.get(seed));
  }
});

test('the runs were worth it: every kind of trouble was met, and pods were served all the same', () => {
  const unmet = COUNT < 200 ? [] : MARKS.filter((name) => !tally.marks.has(name));
  assert.deepEqual(unmet, []);
  assert.ok(tally.podsServed > COUNT * 10, `${tally.podsServed} pods served in ${COUNT} seeds`);
  const met = pairCount() - unmetPairs(tally.coverage).length;
  assert.ok(COUNT < 200 || met >= COVERAGE_MIN * pairCount(), describeCoverage(tally));
});
