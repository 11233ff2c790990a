// What a node holds at rest, by the controller's own planner: the users' cases, and bounds for all types.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import * as fc from 'fast-check';
import type { NodeHolding, PlannedGroup } from './model.ts';
import { subnetUse } from './model.ts';
import { maxPodsOf, settleNode } from './settle-node.ts';
import type { SubnetRoom } from './subnet-room.ts';
import { group } from './testing.ts';

const MANY = 100_000;
const room = (freeAddressCount: number): SubnetRoom => ({
  freeAddressCount,
  freeBlockCount: Math.floor(freeAddressCount / 16),
});
const settle = (with_: Parameters<typeof group>[0], podCount: number, freeAddressCount = MANY): NodeHolding =>
  settleNode({ group: group(with_), podCount, room: room(freeAddressCount) });

suite('a node at rest', () => {
  const ip = (warmIp: number, minimumIp = 0): PlannedGroup['targets'] => ({
    warmIp,
    minimumIp,
    warmEni: 1,
    warmPrefix: 0,
  });

  // The warm-target tables of the AWS VPC CNI's documents, t3.small: 3 ENIs of 3 usable addresses. Ours leaves the
  // primary ENI out, and counts WARM_ENI_TARGET in addresses.
  const rows: readonly [string, PlannedGroup['targets'], number, number, number][] = [
    ['WARM_IP=1 MIN=1, no pod', ip(1, 1), 0, 1, 1],
    ['WARM_IP=1 MIN=1, 5 pods', ip(1, 1), 5, 2, 6],
    ['WARM_IP=2 MIN=5, no pod', ip(2, 5), 0, 2, 5],
    ['WARM_ENI=1, no pod', { warmEni: 1, warmPrefix: 0 }, 0, 1, 3],
    ['WARM_ENI=1, 3 pods', { warmEni: 1, warmPrefix: 0 }, 3, 2, 6],
  ];
  for (const [title, targets, podCount, eniCount, addressCount] of rows)
    test(`t3.small, ${title}: ${eniCount} ENIs and ${addressCount} addresses`, () => {
      const found = settle({ type: 't3.small', targets }, podCount);
      assert.deepEqual(
        [found.eniCount, found.podAddressCount, found.podCount],
        [eniCount, addressCount, podCount],
      );
    });

  test('U88 targets are those of the group: WARM_IP=8 holds 13 for 5 pods, WARM_PREFIX=1 holds 32', () => {
    assert.equal(settle({ targets: ip(8) }, 5).podAddressCount, 13);
    assert.equal(settle({ mode: 'Prefix', targets: { warmEni: 0, warmPrefix: 1 } }, 5).podAddressCount, 32);
  });

  // What a node takes from its subnet with the default targets, own addresses of the ENIs included. A greater figure
  // would empty users' subnets with the next release.
  const golden: readonly [string, number, number][] = [
    ['m5.large', 0, 10],
    ['m5.large', 8, 19],
    ['m5.large', 18, 20],
    ['m5.xlarge', 0, 15],
    ['m5.xlarge', 10, 26],
    ['t3.small', 6, 8],
    ['c5.4xlarge', 50, 82],
  ];
  for (const [type, podCount, used] of golden)
    test(`U89 ${type} with ${podCount} pods takes ${used} addresses of its subnet`, () => {
      assert.equal(subnetUse(settle({ type }, podCount)), used);
    });

  test('U14 a full subnet is named as the cause, and the pods that fit are served', () => {
    const found = settle({}, 10, 6);
    assert.equal(found.podCount, 5);
    assert.match(found.blocked ?? '', /subnet .* is full/);
  });

  test('[LV-2] comes to rest for every type and number of pods, never holding more than it can or the subnet has', () => {
    const types = ['t3.small', 'm5.large', 'm5.xlarge', 'c5.4xlarge', 'p5.48xlarge', 'd3en.xlarge'];
    const targets = fc.record({
      warmIp: fc.nat({ max: 12 }),
      minimumIp: fc.nat({ max: 20 }),
      warmEni: fc.nat({ max: 2 }),
      warmPrefix: fc.nat({ max: 2 }),
    });
    const question = fc.record({
      type: fc.constantFrom(...types),
      targets,
      pods: fc.nat({ max: 60 }),
      free: fc.oneof(fc.nat({ max: 60 }), fc.constant(MANY)),
      mode: fc.constantFrom('SecondaryIP' as const, 'Prefix' as const),
    });
    fc.assert(
      fc.property(question, ({ type, targets, pods, free, mode }) => {
        const planned = group({ type, targets, mode });
        const podCount = Math.min(pods, maxPodsOf(planned) - 2);
        const found = settleNode({ group: planned, podCount, room: room(free) });
        assert.ok(subnetUse(found) <= free);
        assert.ok(found.podCount <= podCount && found.podCount <= found.podAddressCount);
        assert.ok(found.eniCount <= planned.limits.eniMax - 1);
        if (free === MANY) assert.equal(found.podCount, podCount);
      }),
      { seed: 6_001, numRuns: 150 },
    );
  });
});
