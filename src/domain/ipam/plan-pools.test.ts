// Several pools on one node: each ENIConfig that pods chose has its own ENIs, within the room that the instance has.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { SecurityGroupId, SubnetId } from '../ids.ts';
import { podKey, type PodKey } from '../ids.ts';
import type { NodeView, Obstacle, PodPool } from './node-view.ts';
import { type Plan, plan } from './plan.ts';
import {
  addresses,
  eniId,
  inOtherSubnet,
  inPodSubnet,
  nodeView,
  noSelection,
  NODES_GROUP,
  NOW,
  OTHER_SUBNET,
  pod,
  POD_SUBNET,
  podEni,
  pods,
  published,
  settings,
  settled,
} from './testing.ts';

const GROUP = 'sg-0000000000000000b' as SecurityGroupId;

const pool = (podCount: number, name = 'pods-b', subnetId: SubnetId = OTHER_SUBNET): PodPool => ({
  selection: {
    kind: 'EniConfig',
    name,
    subnetId,
    securityGroupIds: [GROUP],
    source: 'Annotation',
    reason: 'test',
  },
  pods: Array.from({ length: podCount }, (_, n) => podKey(name, `p${n + 1}`)),
});

const chosenEni = (n: number, count: number) =>
  podEni(n, { eniConfig: 'pods-b', subnetId: OTHER_SUBNET, addresses: addresses(500 + 20 * n, count) });

function planned(view: NodeView): Plan {
  const result = plan(view);
  assert.ok(result !== undefined, 'the view can be planned');
  return result;
}

const LARGE = { ...nodeView().limits, eniMax: 5 };
const still = { ...settings, targets: { warmIp: 1, warmEni: 0 } };

describe('[POD-4] pools per ENIConfig', () => {
  it('a pod that chose gets an ENI of its ENIConfig with just what is needed, beside the node’s own', () => {
    const view = nodeView({
      podEnis: [podEni(1, { addresses: addresses(1, 3) })],
      podPools: [pool(3)],
      settings: still,
    });
    const [intent] = planned(view).spec.intents;
    assert.deepEqual(
      [intent?.eniConfig, intent?.subnetId, intent?.addressCount],
      ['pods-b', OTHER_SUBNET, 3],
      'three, and nothing warm',
    );
  });

  it('[LV-1] what EC2 refuses of the node’s own ENIConfig holds up no pod that chose another, and the reverse', () => {
    const refused = (subnetId: SubnetId, groups: readonly SecurityGroupId[]): Obstacle => ({
      code: 'Ec2Refused',
      of: 'Growth',
      message: 'too many groups',
      fix: 'name fewer',
      until: NOW + 1,
      choice: { subnetId, securityGroupIds: groups },
    });
    const made = (obstacle: Obstacle): readonly (string | undefined)[] => {
      const view = nodeView({ pods: pods(1), podPools: [pool(1)], settings: still, obstacles: [obstacle] });
      return planned(view).spec.intents.map(({ eniConfig }) => eniConfig);
    };
    assert.deepEqual(made(refused(POD_SUBNET, [GROUP])), ['pods-b']);
    assert.deepEqual(made(refused(OTHER_SUBNET, [GROUP])), ['pods-a']);
    assert.deepEqual(made(refused(OTHER_SUBNET, [NODES_GROUP])), ['pods-a', 'pods-b'], 'others by now');
  });

  it('its ENI is marked as theirs alone, and the node’s own is not', () => {
    const view = nodeView({
      podEnis: [podEni(1, { addresses: addresses(1, 1) }), chosenEni(2, 2)],
      podPools: [pool(2)],
      settings: still,
    });
    const marks = planned(settled(view)).spec.enis.map((eni) => [
      eni.deviceIndex,
      eni.chosenOnly,
      eni.cordoned,
    ]);
    assert.deepEqual(marks, [
      [0, undefined, false],
      [1, undefined, false],
      [2, true, false],
    ]);
  });

  it('an ENI that a wrong choice of the node keeps from being attached takes no room from pods that chose', () => {
    const { attachment: _, ...loose } = podEni(2, { addresses: addresses(40, 1) });
    const view = nodeView({
      selection: noSelection,
      podEnis: [podEni(1, { addresses: addresses(1, 1) }), loose],
      podPools: [pool(1)],
      settings: still,
      limits: { ...nodeView().limits, eniMax: 3 },
    });
    assert.deepEqual(
      planned(view).spec.intents.map(({ eniConfig }) => eniConfig),
      ['pods-b'],
    );
  });

  it('two pools that need an ENI in the same round note two intents with ids of their own', () => {
    const view = nodeView({ podPools: [pool(1, 'x'), pool(1, 'y')], settings: still, limits: LARGE });
    const ids = planned(view).spec.intents.map(({ id }) => id);
    assert.deepEqual([ids.length, new Set(ids).size], [3, 3]);
  });

  it('neither pool counts the other’s free addresses as its own', () => {
    const view = nodeView({
      podEnis: [podEni(1, { addresses: addresses(1, 5) }), chosenEni(2, 1)],
      pods: pods(2),
      podPools: [pool(3)],
      settings: still,
    });
    const [action] = planned(settled(view)).actions;
    assert.ok(action?.do === 'AssignAddresses');
    assert.deepEqual([action.eniId, action.count, action.subnetId], [eniId(2), 2, OTHER_SUBNET]);
  });

  it('an ENI whose last pod is gone is given back', () => {
    const view = nodeView({
      podEnis: [podEni(1, { addresses: addresses(1, 1) }), chosenEni(2, 2)],
      settings: still,
    });
    const eni = planned(view).spec.enis.find((one) => one.eniId === eniId(2));
    assert.deepEqual([eni?.cordoned, eni?.withdrawing.length, eni?.chosenOnly], [true, 2, undefined]);
  });

  it('and never becomes everybody’s: neither with Keep, nor while the selection cannot be known', () => {
    const before = settled(
      nodeView({
        podEnis: [chosenEni(2, 2)],
        podPools: [pool(2)],
        settings: { ...still, onEniConfigChange: 'Keep' },
      }),
    );
    const unknown: NodeView['selection'] = { ...noSelection, problem: 'EniConfigUnresolved' } as never;
    for (const selection of [before.selection, unknown]) {
      const after = settled({ ...before, selection, podPools: [] });
      const eni = planned(after).spec.enis.find((one) => one.eniId === eniId(2));
      assert.equal(eni?.cordoned, true, selection.kind);
    }
  });

  it('one that chose the ENIConfig of its own node gets one of its ENIs, and waits for no address that Keep has kept [POD-3]', () => {
    const earlier = podEni(2, { eniConfig: 'pods-b', subnetId: OTHER_SUBNET, addresses: addresses(520, 3) });
    const before = settled(
      nodeView({
        podEnis: [earlier],
        selection: inOtherSubnet,
        settings: { ...still, onEniConfigChange: 'Keep' },
      }),
    );
    const now = podEni(1, { addresses: addresses(1, 1) });
    const used = [{ pod: pod(1), ip: addresses(1, 1)[0]! }];
    const view: NodeView = {
      ...before,
      enis: [...before.enis, now],
      selection: inPodSubnet,
      pods: pods(2),
    };
    const kept = published(settled(view), { used });
    const name = 'pods-a';
    const doOf = (chose: readonly PodKey[]): readonly string[] => {
      const decided = chose.map((one) => ({
        kind: 'EniConfig' as const,
        pod: one,
        uid: 'u',
        eniConfig: name,
      }));
      const { actions } = planned({ ...kept, choosing: { namespaces: [], pods: decided } });
      return actions.map((action) => (action.do === 'AssignAddresses' ? action.eniId : action.do));
    };
    assert.deepEqual(doOf([]), []);
    assert.deepEqual(doOf([pod(2)]), [eniId(1)]);
  });

  it('pods that chose are served although the node’s own selection fails', () => {
    const view = nodeView({ selection: noSelection, podPools: [pool(1)], pods: pods(1) });
    const next = planned(view);
    assert.equal(next.spec.intents[0]?.eniConfig, 'pods-b');
    assert.equal(next.conditions[0]?.status, 'False');
  });

  it('when no ENI is left, the pods that wait are told so, and others go on', () => {
    const view = nodeView({
      podEnis: [podEni(1, { addresses: addresses(1, 9) }), podEni(2, { addresses: addresses(20, 2) })],
      pods: pods(10),
      podPools: [pool(2)],
      settings: still,
    });
    const served = published(view, {
      used: pods(10).map((pod, n) => ({
        pod,
        ip: addresses(1, 9).concat(addresses(20, 2))[n] ?? addresses(1, 1)[0]!,
      })),
    });
    const next = planned(settled(served));
    const stuck = next.stuck.find(({ pods: waiting }) => waiting.includes(podKey('pods-b', 'p1')));
    assert.equal(stuck?.blocked.reason, 'InstanceFull');
    assert.match(stuck?.blocked.message ?? '', /^pods that chose ENIConfig "pods-b" wait: /);
    assert.equal(next.conditions[1]?.reason, 'InstanceFull');
  });

  it('a refused pod is told why, and is nobody’s demand', () => {
    const refused = podKey('default', 'lost');
    const view = nodeView({
      choosing: {
        namespaces: [],
        pods: [
          {
            kind: 'Refused',
            pod: refused,
            uid: 'u',
            reason: 'EniConfigNotFound',
            message: 'no such ENIConfig',
          },
        ],
      },
    });
    const next = planned(view);
    assert.deepEqual(next.stuck, [
      {
        pods: [refused],
        blocked: {
          type: 'AddressesAvailable',
          status: 'False',
          reason: 'EniConfigNotFound',
          message: 'no such ENIConfig',
        },
      },
    ]);
    assert.equal(next.conditions[1]?.status, 'True');
    assert.deepEqual(next.spec.choosing, view.choosing);
  });
});

describe('[U102] ten pods of X and twenty of Y on an m5.xlarge', () => {
  it('get one ENI and two, and no more', () => {
    // 4 ENIs of 15 addresses: the primary, and three of 14 pod addresses.
    const view: NodeView = {
      ...nodeView({ podPools: [pool(10, 'x', OTHER_SUBNET), pool(20, 'y', OTHER_SUBNET)] }),
      selection: { ...inOtherSubnet, name: 'none-of-them' } as NodeView['selection'],
      settings: { ...settings, targets: { warmEni: 0, exact: true } },
    };
    const limits = { ...view.limits, instanceType: 'm5.xlarge', eniMax: 4, ipv4PerEniMax: 15 };
    const made: { eniConfig: string; addressCount: number }[] = [];
    let now: NodeView = { ...view, limits };
    for (let round = 0; round < 12; round += 1) {
      const next = planned(now);
      const [create] = next.actions.flatMap((action) => (action.do === 'CreateEni' ? [action.intent] : []));
      now = {
        ...now,
        freshIntentId: `fresh-${round}` as NodeView['freshIntentId'],
        published: {
          spec: next.spec,
          status: now.published?.status ?? {
            observedGeneration: 0,
            used: [],
            cooling: [],
            withdrawn: [],
            conditions: [],
          },
        },
      };
      if (create === undefined) continue;
      const n = made.push({ eniConfig: create.eniConfig, addressCount: create.addressCount });
      const eni = podEni(n, {
        eniConfig: create.eniConfig,
        subnetId: OTHER_SUBNET,
        addresses: addresses(100 * n, create.addressCount),
        intentId: create.id,
      });
      now = { ...now, enis: [...now.enis, eni] };
    }
    const sorted = made.map(({ eniConfig, addressCount }) => `${eniConfig} ${addressCount}`).sort();
    assert.deepEqual(sorted, ['x 10', 'y 14', 'y 6']);
  });
});

describe('[POD-4] over any mix of pools', () => {
  it('no plan makes an ENI beyond the instance’s limit, or touches an ENI of another pool’s for a pool', () => {
    const count = fc.nat(12);
    fc.assert(
      fc.property(fc.tuple(count, count, count), fc.nat(9), fc.nat(9), ([own, x, y], heldOwn, heldX) => {
        const view = settled(
          nodeView({
            podEnis: [
              podEni(1, { addresses: addresses(1, heldOwn) }),
              podEni(2, { eniConfig: 'x', subnetId: OTHER_SUBNET, addresses: addresses(300, heldX) }),
            ],
            pods: pods(own),
            podPools: [pool(x, 'x'), pool(y, 'y')].filter(({ pods: waiting }) => waiting.length > 0),
            settings: still,
          }),
        );
        const next = planned(view);
        const ids = next.spec.intents.map(({ id }) => id);
        assert.equal(new Set(ids).size, ids.length, 'each intent has an id of its own');
        const coming = view.enis.length + ids.length;
        assert.ok(coming <= view.limits.eniMax, `${coming} ENIs`);
        for (const action of next.actions) {
          if (action.do !== 'AssignAddresses') continue;
          const eni = view.enis.find((one) => one.eniId === action.eniId);
          assert.equal(eni?.subnetId, action.subnetId);
        }
        for (const eni of next.spec.enis)
          assert.equal(eni.chosenOnly, eni.eniConfig === 'x' && x > 0 ? true : undefined);
      }),
      { seed: 20_261, numRuns: 500 },
    );
  });
});
