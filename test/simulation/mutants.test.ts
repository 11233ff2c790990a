// Whether the simulation would find mistakes: each of a list is planted into the product, and has to be found.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { parseFaultList } from '../../src/lab/scenario/simulation/failure-report.ts';
import type { RunPlan, SimulationResult } from '../../src/lab/scenario/simulation/simulate.ts';
import { MUTANTS_OF_CHOICES } from './mutants-of-choices.ts';
import { FAMILY_MUTANTS } from './family-mutants.ts';
import { MUTANTS, type Mutant } from './mutants.ts';

const WORKER = new URL('mutant-worker.ts', import.meta.url);

/** The first seed from 1 on in which a rule is broken; undefined: none of the mutant's. */
function firstBroken({ edits, faults, seedCount }: Mutant): Promise<SimulationResult | undefined> {
  const parsed = faults === undefined ? undefined : parseFaultList(faults);
  assert.ok(parsed?.ok !== false, 'the faults of a mutant can be read');
  const plan = (seed: number): RunPlan => ({
    seed,
    ...(parsed === undefined ? {} : { profile: parsed.value }),
  });
  return new Promise((resolve, reject) => {
    const worker = new Worker(WORKER, { workerData: { edits } });
    worker.once('error', reject);
    worker.on('message', (result: SimulationResult) => {
      const isOver = result.broken !== undefined || result.seed >= seedCount;
      if (!isOver) return worker.postMessage(plan(result.seed + 1), []);
      void worker.terminate().then(() => resolve(result.broken === undefined ? undefined : result));
    });
    worker.postMessage(plan(1), []);
  });
}

for (const mutant of [...MUTANTS, ...MUTANTS_OF_CHOICES, ...FAMILY_MUTANTS]) {
  test(`it is found within ${mutant.seedCount} seeds when ${mutant.name}`, async (t) => {
    const found = await firstBroken(mutant);
    assert.ok(found?.broken !== undefined, `no rule is broken in seeds 1 to ${mutant.seedCount}`);
    t.diagnostic(`seed ${found.seed}: ${found.broken.rule}: ${found.broken.what}`);
  });
}
