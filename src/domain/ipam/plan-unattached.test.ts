// What becomes of ENIs of ours that are on no instance.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Action } from './action.ts';
import type { NodeNetworkStatus } from './node-network.ts';
import type { EniView, NodeView } from './node-view.ts';
import { plan } from './plan.ts';
import {
  addresses,
  cidr,
  ip,
  noSelection,
  nodeView,
  OTHER_SUBNET,
  podEni,
  pods,
  published,
  settings,
  settled,
  unattached,
} from './testing.ts';

const verbs = (view: NodeView): readonly Action['do'][] =>
  (plan(view)?.actions ?? []).map((action) => action.do);
const idle = { ...settings, targets: { warmIp: 0, minimumIp: 0, warmEni: 0 } };

test('an ENI that is not attached is attached when needed and deleted when not', () => {
  const loose = unattached(podEni(1, { addresses: addresses(10, 3) }));
  assert.deepEqual(verbs(settled(nodeView({ podEnis: [loose], pods: pods(1) }))), ['AttachEni']);
  const idle = { ...settings, targets: { warmIp: 0, minimumIp: 0, warmEni: 0 } };
  assert.deepEqual(verbs(settled(nodeView({ podEnis: [loose], settings: idle }))), ['DeleteEni']);
});

test('[LV-5] an ENI that is not attached and holds more than it may on the instance is deleted, though one is needed', () => {
  const tooFull = unattached(podEni(1, { addresses: addresses(10, 10) }));
  const does = verbs(settled(nodeView({ podEnis: [tooFull], pods: pods(1) })));
  assert.deepEqual([...does].sort(), ['CreateEni', 'DeleteEni']);
});

describe('[ENI-3] an ENI that somebody has pulled off an instance', () => {
  const pulled = unattached(podEni(1, { addresses: addresses(10, 3) }));
  const used = [{ ip: addresses(10, 1)[0]!, pod: pods(1)[0]! }];
  const full = [podEni(2), podEni(3)];
  interface Case {
    readonly title: string;
    readonly eni?: EniView;
    readonly status: Partial<NodeNetworkStatus>;
    readonly beside?: readonly EniView[];
    readonly selection?: NodeView['selection'];
    readonly does: readonly Action['do'][];
  }
  const cases: readonly Case[] = [
    { title: 'goes back while a pod lives with an address of it', status: { used }, does: ['AttachEni'] },
    {
      title: 'goes back also when it is of an earlier choice',
      eni: { ...pulled, subnetId: OTHER_SUBNET, eniConfig: 'pods-b' },
      status: { used },
      does: ['AttachEni'],
    },
    {
      title: 'is deleted when only its IPv6 prefix covers what a pod has, whose IPv4 address is elsewhere',
      eni: { ...pulled, ipv6Prefixes: [cidr('2600:1f14:0:ab10:1::/80')] },
      status: { used: [{ ip: ip('2600:1f14:0:ab10:1:0:a01:999'), pod: pods(1)[0]! }] },
      does: ['DeleteEni'],
    },
    {
      title: 'waits for a place on the instance, and is not deleted',
      status: { used },
      beside: full,
      does: [],
    },
    { title: 'stays as it is while the selection fails', status: { used }, selection: noSelection, does: [] },
    { title: 'is not deleted while an address of it rests', status: { cooling: addresses(10, 1) }, does: [] },
    { title: 'is deleted once nobody has anything of it', status: {}, does: ['DeleteEni'] },
  ];
  for (const { title, eni = pulled, status, beside = [], does, ...more } of cases)
    test(title, () => {
      const podEnis = [eni, ...beside];
      const view = nodeView({ podEnis, pods: pods(status.used?.length ?? 0), settings: idle, ...more });
      const before = nodeView({ settings: idle });
      const spec = plan({ ...before, ...more })?.spec;
      assert.ok(spec !== undefined, 'the view can be planned');
      const now = settled(published(view, status, spec));
      assert.deepEqual(
        verbs(now).filter((verb) => verb !== 'DetachEni'),
        does,
      );
    });

  test('is as urgent as pods that wait', () => {
    const view = published(nodeView({ podEnis: [pulled], pods: pods(1), settings: idle }), { used });
    assert.equal(plan(view)?.isRestoring, true);
    assert.equal(plan(published(nodeView({ podEnis: [pulled], settings: idle })))?.isRestoring, false);
  });
});
