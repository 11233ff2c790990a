// Whether one more pod would get an address: by the plan for it, not by counting.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { furtherPodObstacle } from './further-pod.ts';
import type { NodeView } from './node-view.ts';
import {
  addresses,
  nodeView,
  NOW,
  noSelection,
  podEni,
  pods,
  published,
  settings,
  settled,
} from './testing.ts';

const exact = { ...settings, targets: { warmIp: 0, warmEni: 0, exact: true as const } };

/** An m5.large whose first `usedCount` of `heldCount` addresses have pods, on as many ENIs as that takes. */
function holding(heldCount: number, usedCount: number, with_: Parameters<typeof nodeView>[0] = {}): NodeView {
  const all = addresses(1, heldCount);
  const podEnis = [all.slice(0, 9), all.slice(9)].flatMap((held, n) =>
    held.length === 0 ? [] : [podEni(n + 1, { addresses: held })],
  );
  const used = pods(usedCount).map((pod, n) => ({ pod, ip: all[n]! }));
  const view = nodeView({ podEnis, pods: pods(usedCount), settings: exact, ...with_ });
  return published(settled(published(view, { used })), { used });
}

describe('[K8S-5] a further pod', () => {
  const cases: readonly [string, string | undefined, NodeView][] = [
    ['takes a free address', undefined, holding(5, 4, { freeInPodSubnet: 0 })],
    ['gets one that EC2 assigns', undefined, holding(4, 4)],
    ['gets one of a new ENI', undefined, holding(9, 9)],
    ['finds the subnet full', 'SubnetFull', holding(4, 4, { freeInPodSubnet: 0 })],
    ['finds no address for another ENI', 'SubnetFull', holding(9, 9, { freeInPodSubnet: 1 })],
    ['finds the instance full', 'InstanceFull', holding(18, 18)],
    ['finds no ENIConfig', 'EniConfigNotFound', nodeView({ selection: noSelection })],
    [
      'finds a right missing',
      'Unauthorized',
      holding(4, 4, {
        obstacles: [{ code: 'Unauthorized', of: 'Growth', message: 'no', fix: 'allow', until: NOW + 1 }],
      }),
    ],
    [
      'takes a free address although a right is missing',
      undefined,
      holding(5, 4, {
        settings,
        obstacles: [{ code: 'Unauthorized', of: 'Growth', message: 'no', fix: 'allow', until: NOW + 1 }],
      }),
    ],
  ];
  for (const [title, reason, view] of cases)
    it(title, () => {
      assert.equal(furtherPodObstacle(view)?.reason, reason);
    });
});
