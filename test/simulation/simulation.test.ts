// Whole clusters, controller and agents unchanged, on a virtual clock with faults drawn by seed.
//
// SIM_SEED_FROM and SIM_SEED_COUNT choose other seeds; scripts/simulate.ts replays one with its log.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { type SimulationResult, simulate } from '../../src/lab/scenario/simulation/simulate.ts';

const FROM = Number(process.env['SIM_SEED_FROM'] ?? 1);
const COUNT = Number(process.env['SIM_SEED_COUNT'] ?? 200);

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
];

const drain = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function story({ seed, broken, recentEvents }: SimulationResult): string {
  const events = recentEvents.join('\n  ');
  return `seed ${seed} breaks ${broken?.rule}: ${broken?.what}\n  ${events}\nreplay: node scripts/simulate.ts --seed ${seed} --log`;
}

const marks = new Map<string, number>();
let podsServed = 0;

async function run(seed: number): Promise<SimulationResult> {
  const result = await simulate({ seed, drain });
  for (const [name, count] of result.marks) marks.set(name, (marks.get(name) ?? 0) + count);
  podsServed += result.podsServed;
  return result;
}

const rules =
  '[IP-1] [IP-2] [IP-5] [IP-6] [IP-7] [ENI-1] [ENI-2] [ENI-3] [ENI-6] [SEL-1] [CNI-2] [NET-1] [LV-1] [LV-2] [LV-5]';

test(`${rules} hold in seeds ${FROM} to ${FROM + COUNT - 1}`, async () => {
  for (let seed = FROM; seed < FROM + COUNT; seed += 1) {
    const result = await run(seed);
    assert.equal(result.broken, undefined, story(result));
  }
});

interface KnownSeed {
  readonly seed: number;
  readonly story: string;
}
const known = JSON.parse(
  readFileSync(new URL('seeds.json', import.meta.url), 'utf8'),
) as readonly KnownSeed[];
for (const { seed, story: what } of known) {
  test(`seed ${seed}, which once showed that ${what}, holds every rule`, async () => {
    const result = await run(seed);
    assert.equal(result.broken, undefined, story(result));
  });
}

test('the same seed gives the same run, event for event', async () => {
  for (const seed of [FROM, FROM + 1, FROM + 2]) {
    const [first, second] = [await simulate({ seed, drain }), await simulate({ seed, drain })];
    assert.equal(first.traceHash, second.traceHash);
    assert.equal(first.eventCount, second.eventCount);
  }
});

test('the runs were worth it: every kind of trouble was met, and pods were served all the same', () => {
  const unmet = COUNT < 200 ? [] : MARKS.filter((name) => !marks.has(name));
  assert.deepEqual(unmet, []);
  assert.ok(podsServed > COUNT * 10, `${podsServed} pods served in ${COUNT} seeds`);
});
