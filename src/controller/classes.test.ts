// NodeNetworkClasses in a running controller: changes take effect on running nodes, and statuses say what holds.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createControllerWorld } from './testing-controller.ts';

const NAMES = ['z-a', 'z-a-2', 'z-b'];

test('[SEL-8] a class that is applied, changed and deleted takes effect on a running node', async () => {
  const world = createControllerWorld();
  const node = world.joinNode('n1', 'z-a');
  await world.run(20);
  assert.equal(world.selectionText(node), 'z-a by Zone');
  world.applyClass('workers', { eniConfigs: { names: ['z-a-2'] } });
  await world.run(20);
  assert.equal(world.selectionText(node), 'z-a-2 by Class');
  assert.ok(world.podEnis(node).some((eni) => eni.eniConfig === 'z-a-2' && !eni.cordoned));
  assert.ok(world.podEnis(node).some((eni) => eni.eniConfig === 'z-a' && eni.cordoned));
  world.applyClass('workers', { eniConfigs: { names: ['z-a-2'] }, match: { nodeGroups: ['others'] } });
  await world.run(20);
  assert.equal(world.selectionText(node), 'z-a by Zone');
  world.applyClass('workers', { eniConfigs: { names: ['z-a-2'] } });
  await world.run(20);
  world.cluster.admin.deleteNodeNetworkClass('workers');
  await world.run(20);
  assert.equal(world.selectionText(node), 'z-a by Zone');
});

test('[U88] warm targets, SNAT and what happens to old ENIs are those of the class, node by node', async () => {
  const world = createControllerWorld();
  const [small, big] = [world.joinNode('n1', 'z-a'), world.joinNode('n2', 'z-a')];
  world.cluster.admin.setLabel({ kind: 'Node', name: big }, 'karpenter.sh/nodepool', 'big');
  world.applyClass('big', {
    match: { nodeGroups: ['big'] },
    warm: { ipTarget: 6 },
    snat: { external: true, excludeCIDRs: ['192.168.0.0/16'] },
  });
  await world.run(60);
  const held = (name: typeof small): number =>
    world.podEnis(name).reduce((sum, eni) => sum + eni.addresses.length, 0);
  assert.deepEqual([held(small), held(big)], [1, 6]);
  const settings = world.spec(big)?.settings;
  assert.equal(settings?.externalSnat, true);
  assert.ok(settings?.directCidrs.includes('192.168.0.0/16' as never));
  assert.equal(world.spec(small)?.settings.externalSnat, false);
  world.applyClass('big', { match: { nodeGroups: ['big'] }, warm: { ipTarget: 2 } });
  await world.run(90);
  const { withdrawing = [] } = world.podEnis(big)[0] ?? {};
  assert.equal(withdrawing.length, 4, 'the excess is asked back without a restart');
});

test('[U49] [SEL-11] nodes that join together are split evenly', async () => {
  for (const strategy of ['MostFree', 'Spread']) {
    const world = createControllerWorld();
    world.applyClass('workers', { eniConfigs: { names: NAMES }, strategy });
    const nodes = Array.from({ length: 6 }, (_, n) => world.joinNode(`n${n + 1}`, 'z-a'));
    await world.run(60);
    const counts = new Map<string, number>();
    for (const node of nodes) {
      const text = world.selectionText(node);
      counts.set(text, (counts.get(text) ?? 0) + 1);
    }
    assert.deepEqual(Object.fromEntries(counts), { 'z-a by Class': 3, 'z-a-2 by Class': 3 }, strategy);
  }
});

test('[U06] [SEL-11] a subnet runs short: the next ENI is in the other, without a restart', async () => {
  const world = createControllerWorld();
  world.applyClass('workers', { eniConfigs: { names: ['z-a', 'z-a-2'] }, strategy: 'MostFree' });
  const node = world.joinNode('n1', 'z-a');
  await world.run(30);
  const [first] = world.podEnis(node);
  world.occupyAllBut(first?.subnetId, 2);
  world.startPods(node, 8);
  await world.run(90);
  const enis = world.podEnis(node);
  assert.equal(new Set(enis.map((eni) => eni.subnetId)).size, 2);
  const held = enis.reduce((sum, eni) => sum + eni.addresses.length, 0);
  assert.ok(held >= 8, `${held} addresses for 8 pods`);
});

test('[SEL-13] [U14] the status of a class says whom it claims and what is wrong with it', async () => {
  const world = createControllerWorld();
  world.joinNode('n1', 'z-a');
  world.applyClass('workers', { eniConfigs: { names: ['z-a', 'ghost'] } });
  await world.run(40);
  const status = world.cluster.admin.get('NodeNetworkClass', 'workers')?.status;
  assert.deepEqual([status?.ready, status?.nodeCount, status?.eniConfigs], [false, 1, ['z-a', 'ghost']]);
  assert.match(status?.message ?? '', /ENIConfig "ghost" does not exist/);
  world.applyClass('workers', { mode: 'Prefix' });
  await world.run(40);
  const refused = world.cluster.admin.get('NodeNetworkClass', 'workers')?.status;
  assert.equal(refused?.ready, false);
  assert.match(refused?.message ?? '', /spec\.mode is Prefix.*set spec\.mode/);
});
