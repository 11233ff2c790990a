// Clusters whose pods have both address families, on a virtual clock with faults drawn by seed.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { simulationMachine } from '../../src/bin/eniwhere-simulation.ts';
import type { RunPlan, SimulationResult } from '../../src/lab/scenario/simulation/simulate.ts';

const FROM = 24_000;
const COUNT = 40;

test(`[IP-1] [IP-8] [IP-9] [LV-2] every rule holds where pods have both families, in ${COUNT} seeds`, async () => {
  const plans = Array.from({ length: COUNT }, (_, n): RunPlan => ({ seed: FROM + n, dualStack: true }));
  const broken: string[] = [];
  let podsServed = 0;
  const onResult = (result: SimulationResult): void => {
    podsServed += result.podsServed;
    if (result.broken !== undefined)
      broken.push(`seed ${result.seed}: ${result.broken.rule}: ${result.broken.what}`);
  };
  await simulationMachine.runMany(plans, { workerCount: simulationMachine.coreCount, onResult });
  assert.deepEqual(broken, []);
  assert.ok(podsServed > COUNT, `only ${podsServed} pods were served`);
});
