// What of a new spec can wait for another write: the controller over the simulated EC2 and cluster.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { podKey } from '../domain/ids.ts';
import { createControllerWorld } from './testing-controller.ts';

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
