// How many EC2 calls, and how many rounds of the controller, it takes until pods that come at once have their addresses: a
// release that needs more of either makes pods wait longer.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Mode } from '../ipam/mode.ts';
import { plan } from '../ipam/plan.ts';
import { sameData } from '../same-data.ts';
import { maxPodsOf } from './settle-node.ts';
import { answerOf, newNode, perform, podsOf, viewOf } from './simulated-node.ts';
import { ENDLESS } from './subnet-room.ts';
import { group } from './testing.ts';

interface Served {
  readonly callCount: number;
  /** What is published is one round, what is done another. */
  readonly roundCount: number;
}

const ROUNDS_MAX = 100;

/** From a new node until the last of `podCount` pods has its address, one call a round as in the controller. */
function serve(type: string, podCount: number, mode: Mode): Served {
  const planned = group({ type, mode });
  const pods = podsOf(podCount);
  let node = newNode(ENDLESS);
  let callCount = 0;
  for (let round = 1; round <= ROUNDS_MAX; round += 1) {
    const next = plan(viewOf(node, planned, { round, maxPods: maxPodsOf(planned), pods }));
    assert.ok(next !== undefined);
    const status = answerOf(next.spec, pods, round);
    const [action] = next.actions;
    if (node.published === undefined || !sameData(node.published.spec, next.spec)) {
      node = { ...node, published: { spec: next.spec, status } };
    } else if (action !== undefined) {
      callCount += 1;
      node = perform(node, action);
    }
    if ((node.published?.status.used.length ?? 0) >= podCount) return { callCount, roundCount: round };
  }
  assert.fail(`${podCount} pods on ${type} are not served within ${ROUNDS_MAX} rounds`);
}

suite('U89 growth on a new node takes no more than', () => {
  // Two calls an ENI: create with all its addresses, and attach.
  const golden: readonly [string, number, Served][] = [
    ['m5.large', 1, { callCount: 2, roundCount: 5 }],
    ['m5.large', 8, { callCount: 2, roundCount: 5 }],
    ['m5.large', 18, { callCount: 4, roundCount: 9 }],
    ['m5.xlarge', 42, { callCount: 6, roundCount: 13 }],
    ['c5.4xlarge', 100, { callCount: 8, roundCount: 17 }],
  ];
  for (const [type, podCount, expected] of golden)
    test(`${expected.callCount} EC2 calls in ${expected.roundCount} rounds for ${podCount} pods on ${type}`, () => {
      const { callCount, roundCount } = serve(type, podCount, 'SecondaryIP');
      assert.ok(callCount <= expected.callCount, `${callCount} calls`);
      assert.ok(roundCount <= expected.roundCount, `${roundCount} rounds`);
    });

  test('two calls in five rounds for 108 pods on m5.large with blocks: seven come with the ENI', () => {
    assert.deepEqual(serve('m5.large', 108, 'Prefix'), { callCount: 2, roundCount: 5 });
  });
});
