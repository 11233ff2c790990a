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
  world.applyClass('workers', { addressFamilies: ['IPv5'] });
  await world.run(40);
  const refused = world.cluster.admin.get('NodeNetworkClass', 'workers')?.status;
  assert.equal(refused?.ready, false);
  assert.match(refused?.message ?? '', /spec\.addressFamilies\[0\] is "IPv5"/);
});

const TAGGED = {
  eniConfigs: { subnetTags: { 'eniwhere.io/pods': 'prod' }, securityGroups: ['sg-0000000b'] },
};

const eniConfigNames = (world: ReturnType<typeof createControllerWorld>): readonly string[] =>
  world.cluster.admin.list('EniConfig').map(({ name }) => name);

test('[SEL-14] [U51] a class with subnet tags gets an ENIConfig for every tagged subnet, and its nodes the one of their zone', async () => {
  const world = createControllerWorld();
  world.tagSubnet('z-a-2', { 'eniwhere.io/pods': 'prod' });
  world.tagSubnet('z-b', { 'eniwhere.io/pods': 'prod' });
  world.tagSubnet('z-a', { 'eniwhere.io/pods': 'test' });
  world.applyClass('prod', TAGGED);
  const [inA, inB] = [world.joinNode('n1', 'z-a'), world.joinNode('n2', 'z-b')];
  await world.run(60);
  assert.deepEqual(eniConfigNames(world).slice(3), ['prod.00000011', 'prod.00000012']);
  assert.equal(world.selectionText(inA), 'prod.00000011 by Class');
  assert.equal(world.selectionText(inB), 'prod.00000012 by Class');
  assert.equal(world.podEnis(inA)[0]?.subnetId, world.subnetOf('z-a-2'));
  const status = world.cluster.admin.get('NodeNetworkClass', 'prod')?.status;
  assert.deepEqual([status?.ready, status?.nodeCount], [true, 2]);
});

test('[SEL-14] what somebody changes of such an ENIConfig is set right again; those of others are left alone', async () => {
  const world = createControllerWorld();
  world.tagSubnet('z-a-2', { 'eniwhere.io/pods': 'prod' });
  world.applyClass('prod', TAGGED);
  world.joinNode('n1', 'z-a');
  await world.run(60);
  const { admin } = world.cluster;
  const before = admin.get('EniConfig', 'prod.00000011');
  assert.ok(before?.spec.kind === 'Parsed');
  const others = admin.get('EniConfig', 'z-a');
  admin.applyEniConfig({
    name: before.name,
    spec: { kind: 'Parsed', eniConfig: { ...before.spec.eniConfig, securityGroupIds: [] } },
  });
  await world.run(40);
  assert.deepEqual(admin.get('EniConfig', before.name)?.spec, before.spec);
  assert.equal(admin.get('EniConfig', 'z-a')?.generation, others?.generation);
});

test('[SEL-14] a subnet that loses the tag loses its ENIConfig once that is certain; the last ones stay', async () => {
  const world = createControllerWorld();
  for (const name of ['z-a', 'z-a-2']) world.tagSubnet(name, { 'eniwhere.io/pods': 'prod' });
  world.applyClass('prod', TAGGED);
  world.joinNode('n1', 'z-a');
  await world.run(60);
  world.tagSubnet('z-a', {});
  await world.run(60);
  assert.ok(eniConfigNames(world).includes('prod.00000010'), 'EC2 may not have said the newest yet');
  await world.run(120);
  assert.deepEqual(eniConfigNames(world).slice(3), ['prod.00000011']);
  world.tagSubnet('z-a-2', {});
  await world.run(300);
  assert.deepEqual(eniConfigNames(world).slice(3), ['prod.00000011']);
  const status = world.cluster.admin.get('NodeNetworkClass', 'prod')?.status;
  assert.equal(status?.ready, false);
  assert.match(
    status?.message ?? '',
    /no subnet carries its tags; the ENIConfigs that were made for it stay/,
  );
});

test('[SEL-14] a class that is deleted takes its ENIConfigs with it; pods keep their addresses', async () => {
  const world = createControllerWorld();
  world.tagSubnet('z-a-2', { 'eniwhere.io/pods': 'prod' });
  world.applyClass('prod', TAGGED);
  const node = world.joinNode('n1', 'z-a');
  await world.run(60);
  world.cluster.admin.deleteNodeNetworkClass('prod');
  await world.run(60);
  assert.equal(eniConfigNames(world).length, 3);
  assert.equal(world.selectionText(node), 'z-a by Zone');
  assert.ok(world.podEnis(node).some((eni) => eni.eniConfig === 'prod.00000011' && eni.cordoned));
});

test('[SEL-14] a class that comes back is not answered from before: its tag may be elsewhere by now', async () => {
  const world = createControllerWorld();
  world.tagSubnet('z-a-2', { 'eniwhere.io/pods': 'prod' });
  world.applyClass('prod', TAGGED);
  world.joinNode('n1', 'z-a');
  await world.run(60);
  world.cluster.admin.deleteNodeNetworkClass('prod');
  await world.run(60);
  world.tagSubnet('z-a-2', {});
  world.tagSubnet('z-a', { 'eniwhere.io/pods': 'prod' });
  const made: string[] = [];
  world.cluster.admin.onChange(({ kind, object }) => void (kind === 'EniConfig' && made.push(object.name)));
  world.applyClass('prod', TAGGED);
  await world.run(10);
  assert.deepEqual(
    [...new Set(made)].filter((name) => name.startsWith('prod.')),
    ['prod.00000010'],
  );
});

test('[U52] [SEL-14] while EC2 refuses to describe subnets, tagged classes make nothing and no other subnet is used', async () => {
  const world = createControllerWorld();
  world.tagSubnet('z-a-2', { 'eniwhere.io/pods': 'prod' });
  world.ec2.admin.denyAction('DescribeSubnets');
  world.applyClass('prod', { ...TAGGED, fallback: 'None' });
  const node = world.joinNode('n1', 'z-a');
  world.startPods(node, 2);
  await world.run(120);
  assert.equal(world.ec2.calls.writeCount(), 0);
  world.ec2.admin.allowAction('DescribeSubnets');
  await world.run(60);
  assert.equal(world.podEnis(node)[0]?.subnetId, world.subnetOf('z-a-2'));
});
