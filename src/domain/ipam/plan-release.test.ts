// What is given back where targets count in whole ENIs, and where single addresses serve in the place of a block.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { EniView } from './node-view.ts';
import { plan } from './plan.ts';
import {
  addresses,
  cidr,
  nodeView,
  OTHER_SUBNET,
  POD_SUBNET,
  podEni,
  pods,
  published,
  settings,
  settled,
} from './testing.ts';

describe('WARM_ENI_TARGET gives back what can go whole', () => {
  const blocks = (count: number) => Array.from({ length: count }, (_, n) => cidr(`10.2.1.${64 + 16 * n}/28`));
  const kept = (prefixCount: number) =>
    podEni(2, { subnetId: OTHER_SUBNET, eniConfig: 'pods-b', prefixes: blocks(prefixCount) });
  const cases: readonly (readonly [string, EniView, number, number, number])[] = [
    ['a full ENI beside one that is enough', podEni(2, { addresses: addresses(30, 9) }), 1, 0, 9],
    ['an ENI that its subnet could not fill', podEni(2, { addresses: addresses(30, 4) }), 1, 0, 4],
    ['no part of an ENI', podEni(2, { addresses: addresses(30, 4) }), 1, 1, 0],
    ['a kept ENI with a whole prefix, which is more than an ENI has of single addresses', kept(1), 1, 0, 16],
    ['one of two prefixes of a kept ENI that cannot go as a whole', kept(2), 2, 0, 16],
    ['no part of a prefix', kept(1), 2, 0, 0],
  ];
  for (const [title, second, warmEni, usedCount, expected] of cases) {
    test(title, () => {
      const targets = { warmEni };
      const enis = [podEni(1, { addresses: addresses(10, 9) }), second];
      const view = nodeView({
        podEnis: enis,
        pods: pods(usedCount),
        settings: { ...settings, targets, onEniConfigChange: 'Keep' },
        excessSince: 0,
      });
      const used = addresses(10, usedCount).map((ip, n) => ({ ip, pod: pods(usedCount)[n]! }));
      const before = plan(view)?.spec;
      assert.ok(before !== undefined, 'the view can be planned');
      const inUse = {
        ...before,
        enis: before.enis.map((eni) => ({ ...eni, cordoned: false, withdrawing: [] })),
      };
      const lasted = settled(published(view, { used }, inUse));
      const asked = (plan(lasted)?.spec.enis ?? []).flatMap((eni) => eni.withdrawing);
      assert.equal(asked.length, expected);
    });
  }
});

describe('single addresses that serve in the place of a block', () => {
  const cases: readonly (readonly [string, number, number])[] = [
    ['those beyond the target are given back while no block is to be had', 7, 1],
    ['as many as the target asks for stay', 8, 0],
  ];
  for (const [title, usedCount, expected] of cases) {
    test(`[PFX-2] ${title}`, () => {
      const used = addresses(64, usedCount).map((ip, n) => ({ ip, pod: pods(usedCount)[n]! }));
      const view = nodeView({
        podEnis: [podEni(1, { addresses: addresses(10, 8), prefixes: [cidr('10.1.0.64/28')] })],
        pods: pods(usedCount),
        settings: {
          ...settings,
          mode: 'Prefix',
          targets: { warmEni: 0, warmPrefix: 1, maxEni: 2 },
        },
        blockRefusals: new Map([[POD_SUBNET, { message: 'no block', freeAddressCount: 1000, until: 0 }]]),
        excessSince: 0,
      });
      const before = plan(view)?.spec;
      assert.ok(before !== undefined, 'the view can be planned');
      const inUse = { ...before, enis: before.enis.map((eni) => ({ ...eni, withdrawing: [] })) };
      const asked = (plan(published(view, { used }, inUse))?.spec.enis ?? []).flatMap(
        (eni) => eni.withdrawing,
      );
      assert.equal(asked.length, expected);
    });
  }
});
