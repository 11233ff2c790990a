// The import matrix, tried on pairs of files.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importFault } from './layers.ts';

const cases: readonly (readonly [from: string, to: string, allowed: boolean])[] = [
  ['src/domain/ipam/plan.ts', 'src/domain/ids.ts', true],
  ['src/domain/ipam/plan.ts', 'src/ports/ec2.ts', false],
  ['src/ports/ec2.ts', 'src/protocol/cni/result.ts', false],
  ['src/protocol/cni/result.ts', 'src/domain/address/ip.ts', true],
  ['src/adapters/linux/a.ts', 'src/adapters/linux/b.ts', true],
  ['src/adapters/linux/a.ts', 'src/adapters/system/clock.ts', true],
  ['src/adapters/linux/a.ts', 'src/adapters/aws/ec2.ts', false],
  ['src/adapters/system/clock.ts', 'src/adapters/system/log.ts', true],
  ['src/controller/act.ts', 'src/adapters/system/clock.ts', false],
  ['src/controller/act.ts', 'src/agent/pool.ts', false],
  ['src/agent/pool.ts', 'src/lab/kernel/kernel.ts', false],
  ['src/cni/plugin.ts', 'src/protocol/cni/result.ts', true],
  ['src/cni/plugin.ts', 'src/domain/result.ts', false],
  ['src/cli/lab.ts', 'src/lab/scenario/run.ts', true],
  ['src/cli/lab.ts', 'src/lab/ec2/region.ts', false],
  ['src/lab/ec2/region.ts', 'src/controller/act.ts', false],
  ['src/lab/scenario/simulation/run.ts', 'src/controller/act.ts', true],
  ['src/lab/scenario/run.ts', 'src/adapters/system/clock.ts', false],
  ['src/bin/eniwhere.ts', 'src/adapters/linux/a.ts', true],
  ['src/bin/eniwhere.ts', 'src/lab/scenario/run.ts', true],
  ['src/extra/a.ts', 'src/domain/ids.ts', false],
];

for (const [from, to, allowed] of cases) {
  test(`layers: ${from} ${allowed ? 'may' : 'may not'} import ${to}`, () => {
    assert.equal(importFault(from, to) === undefined, allowed);
  });
}
