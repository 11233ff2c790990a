// What of a new spec can wait for another write: as a table, and by the controller over the simulated EC2 and cluster.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ip } from '../domain/address/testing.ts';
import { podKey } from '../domain/ids.ts';
import type { Action } from '../domain/ipam/action.ts';
import { emptyStatus, type NodeNetworkStatus } from '../domain/ipam/node-network.ts';
import { nodeView, published } from '../domain/ipam/testing.ts';
import { type EniOptions, specEni } from '../domain/ipam/testing-node.ts';
import { createControllerWorld } from './testing-controller.ts';
import { canWait } from './worth-a-write.ts';

/** More than one ENI of an m5.large holds. */
const POD_COUNT = 17;

test('[COST-2] the spec is made with the first intent, and written once for each ENI that comes', async () => {
  const world = createControllerWorld();
  const node = world.joinNode('n1', 'z-a');
  world.startPods(node, POD_COUNT);
  await world.run(60);
  assert.equal(world.podEnis(node).length, 2);
  assert.deepEqual(world.spec(node)?.intents, []);
  const generation = world.cluster.admin.nodeNetwork(node)?.generation ?? 0;
  assert.ok(generation <= 3, `the spec was written ${generation} times`);
});

test('[COST-2] an intent whose ENI is deleted unused is closed before, and makes no other', async () => {
  const world = createControllerWorld({ WARM_IP_TARGET: '0', WARM_ENI_TARGET: '0' });
  const node = world.joinNode('n1', 'z-a');
  world.ec2.admin.denyAction('AttachNetworkInterface');
  world.startPods(node, 1);
  await world.run(20);
  world.cluster.admin.deletePod(podKey('default', 'n1-p1'));
  world.ec2.admin.allowAction('AttachNetworkInterface');
  await world.run(120);
  assert.deepEqual(world.spec(node)?.intents, []);
  const left = world.ec2.truth.enis().filter(({ description }) => description.includes(node));
  assert.deepEqual(left, []);
});

describe('an ENI that has come is published with the next one [COST-2]', () => {
  const spec = published(nodeView()).published?.spec;
  assert.ok(spec);
  const attach: Action = {
    do: 'AttachEni',
    eniId: specEni({ deviceIndex: 3 }).eniId,
    deviceIndex: 3,
    networkCardIndex: 0,
    because: 'it is needed',
  };
  const protect: Action = {
    do: 'DeleteEni',
    eniId: specEni({ deviceIndex: 3 }).eniId,
    because: 'it is not needed',
  };
  const first = { addresses: ['10.1.0.4', '10.1.0.5'] };
  interface Case {
    readonly title: string;
    readonly before?: readonly EniOptions[];
    readonly action?: Action | undefined;
    readonly lateMs?: number;
    readonly used?: readonly string[];
    readonly waits: boolean;
  }
  const cases: readonly Case[] = [
    { title: 'while that is on its way', waits: true },
    { title: 'not when a second has passed', lateMs: 1_000, waits: false },
    { title: 'not when it is the first that pods can have', before: [], waits: false },
    { title: 'not when nothing is free on those before', used: ['10.1.0.4', '10.1.0.5'], waits: false },
    { title: 'as long as something is free on those before', used: ['10.1.0.4'], waits: true },
    { title: 'not when those before take no new pods', before: [{ ...first, cordoned: true }], waits: false },
    { title: 'not for pods of another ENIConfig', before: [{ ...first, eniConfig: 'red' }], waits: false },
    {
      title: 'not for pods that may not have it',
      before: [{ ...first, chosenOnly: true }],
      waits: false,
    },
    { title: 'not when nothing more is to be done', action: undefined, waits: false },
    { title: 'not when something else is done next', action: protect, waits: false },
  ];
  for (const { title, waits, ...given } of cases)
    test(title, () => {
      const before = (given.before ?? [first]).map(specEni);
      const enis = [...spec.enis, ...before];
      const status: NodeNetworkStatus = {
        ...emptyStatus,
        used: (given.used ?? []).map((address, n) => ({ ip: ip(address), pod: podKey('shop', `p${n}`) })),
      };
      const come = specEni({ deviceIndex: 2, addresses: ['10.1.0.14'] });
      assert.equal(
        canWait({
          published: { spec: { ...spec, enis, intents: [] }, status },
          next: { ...spec, enis: [...enis, come], intents: [] },
          enis: [],
          action: 'action' in given ? given.action : attach,
          lateMs: given.lateMs ?? 0,
        }),
        waits,
      );
    });
});
