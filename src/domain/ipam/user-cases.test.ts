// What operators report of addresses that a node holds, replayed: the golden table of steady states.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { plan } from './plan.ts';
import { nodeView, pods, settings } from './testing.ts';
import type { WarmTargets } from './warm-targets.ts';

/** Addresses that a new m5.large (9 pod addresses per ENI) asks for at once. */
function asksFor(podCount: number, targets: WarmTargets): number {
  const planned = plan(nodeView({ pods: pods(podCount), settings: { ...settings, targets } }));
  return planned?.spec.intents[0]?.addressCount ?? 0;
}

describe('[U07] [U89] addresses on a node with ENIs of ten do not rise from release to release', () => {
  const rows: readonly [string, number, WarmTargets, number][] = [
    ['one pod and the default warm ENI: nine, not eighteen', 1, { warmEni: 1 }, 9],
    ['eight pods and a warm address: nine on one ENI', 8, { warmIp: 1, warmEni: 1 }, 9],
    ['no pods and no warm pool: none', 0, { warmEni: 0 }, 0],
    ['two pods, two warm: four', 2, { warmIp: 2, warmEni: 1 }, 4],
    ['two pods, a minimum of six: six', 2, { minimumIp: 6, warmEni: 1 }, 6],
    ['a class that counts to zero: just the pods', 3, { warmIp: 0, warmEni: 0, exact: true }, 3],
  ];
  for (const [title, podCount, targets, expected] of rows)
    it(title, () => {
      assert.equal(asksFor(podCount, targets), expected);
    });
});
