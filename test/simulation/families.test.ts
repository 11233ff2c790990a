// Clusters whose pods have IPv6 addresses, on a virtual clock with the other faults drawn by seed.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { simulationMachine } from '../../src/bin/eniwhere-simulation.ts';
import {
  profileOf,
  type RunPlan,
  type SimulationResult,
} from '../../src/lab/scenario/simulation/simulate.ts';

const FROM = 24_000;
const COUNT = 40;

/** What the seed draws, but with IPv6. */
function withIpv6(seed: number): RunPlan {
  const drawn = profileOf(seed);
  return { seed, profile: { ...drawn, node: { ...drawn.node, ipv6: true } } };
}

test(`[SEL-16] [IP-1] [IP-8] [IP-9] [LV-2] every rule holds where pods have IPv6, in ${COUNT} seeds`, async () => {
  const plans = Array.from({ length: COUNT }, (_, n) => withIpv6(FROM + n));
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
