// Pods that choose, seen from the controller: ENIs per ENIConfig, decisions in the spec, and Events for what is wrong.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { podKey } from '../domain/ids.ts';
import { type ControllerWorld, createControllerWorld } from './testing-controller.ts';

type Node = ReturnType<ControllerWorld['joinNode']>;

const WISH = (name: string) => ({ 'eniwhere.io/eni-config': name });

function startPod(
  { cluster }: ControllerWorld,
  node: Node,
  pod: { name: string; namespace?: string; annotations?: Readonly<Record<string, string>> },
): string {
  const { name, namespace = 'default', annotations = {} } = pod;
  cluster.admin.applyPod({ namespace, name, annotations });
  cluster.admin.bindPod(podKey(namespace, name), node);
  return name;
}

const eniTexts = (world: ControllerWorld, node: Node): readonly string[] =>
  world
    .podEnis(node)
    .map((eni) => `${eni.eniConfig} ${eni.addresses.length}${eni.chosenOnly ? ' chosen' : ''}`)
    .sort();

const decisions = (world: ControllerWorld, node: Node): readonly string[] =>
  (world.spec(node)?.choosing?.pods ?? []).map((one) =>
    one.kind === 'EniConfig' ? `${one.pod} ${one.eniConfig}` : `${one.pod} ${one.reason}`,
  );

test('[POD-4] a pod that chose brings an ENI of its ENIConfig to the node, and takes it away again', async () => {
  const world = createControllerWorld();
  const node = world.joinNode('n1', 'z-a');
  await world.run(30);
  startPod(world, node, { name: 'plain' });
  startPod(world, node, { name: 'picky', annotations: WISH('z-a-2') });
  await world.run(30);
  assert.deepEqual(eniTexts(world, node), ['z-a 2', 'z-a-2 1 chosen']);
  assert.deepEqual(decisions(world, node), ['default/picky z-a-2']);
  world.cluster.admin.deletePod(podKey('default', 'picky'));
  await world.run(5);
  assert.deepEqual(decisions(world, node), []);
  assert.ok(world.podEnis(node).some((eni) => eni.eniConfig === 'z-a-2' && eni.cordoned));
});

test('[POD-7] on a full instance an idle ENI of the warm pool goes for a pod that chose, and nobody is told of trouble', async () => {
  const world = createControllerWorld({ WARM_IP_TARGET: '18' });
  const node = world.joinNode('n1', 'z-a');
  await world.run(30);
  assert.deepEqual(eniTexts(world, node), ['z-a 9', 'z-a 9']);
  startPod(world, node, { name: 'picky', annotations: WISH('z-a-2') });
  await world.run(5);
  const [leaving, ...more] = world.podEnis(node).filter((eni) => eni.cordoned);
  assert.deepEqual([leaving?.withdrawing.length, more], [9, []]);
  await world.answer(node, { withdrawn: leaving?.withdrawing ?? [] });
  await world.run(60);
  assert.deepEqual(eniTexts(world, node), ['z-a 9', 'z-a-2 1 chosen']);
  assert.deepEqual(
    world.cluster.admin.events().filter(({ type }) => type === 'Warning'),
    [],
  );
});

test('[POD-2] a pod that chose what the node has anyway shares its pool', async () => {
  const world = createControllerWorld();
  const node = world.joinNode('n1', 'z-a');
  startPod(world, node, { name: 'same', annotations: WISH('z-a') });
  await world.run(30);
  assert.deepEqual(eniTexts(world, node), ['z-a 2']);
  assert.deepEqual(decisions(world, node), ['default/same z-a']);
});

test('[POD-2] by labels, and by the namespace', async () => {
  const world = createControllerWorld();
  const node = world.joinNode('n1', 'z-a');
  world.cluster.admin.setLabel({ kind: 'EniConfig', name: 'z-a-2' }, 'tenant', 'red');
  world.cluster.admin.applyNamespace({
    name: 'red',
    annotations: { 'eniwhere.io/eni-config-selector': 'tenant in (red)' },
  });
  startPod(world, node, { name: 'p1', namespace: 'red' });
  await world.run(30);
  assert.deepEqual(decisions(world, node), ['red/p1 z-a-2']);
  assert.deepEqual(world.spec(node)?.choosing?.namespaces, ['red']);
  assert.deepEqual(eniTexts(world, node), ['z-a 1', 'z-a-2 1 chosen']);
});

test('[POD-1] a choice that cannot be: no address, an Event on the pod, and nothing else suffers', async () => {
  const world = createControllerWorld();
  const node = world.joinNode('n1', 'z-a');
  startPod(world, node, { name: 'lost', annotations: WISH('ghost') });
  startPod(world, node, { name: 'far', annotations: WISH('z-b') });
  startPod(world, node, { name: 'plain' });
  await world.run(30);
  assert.deepEqual(decisions(world, node), [
    'default/far EniConfigInOtherZone',
    'default/lost EniConfigNotFound',
  ]);
  assert.deepEqual(eniTexts(world, node), ['z-a 2']);
  const events = world.cluster.admin
    .events()
    .map(({ about, reason, message }) => `${about.name} ${reason} ${message}`);
  assert.ok(events.some((text) => text.startsWith('lost EniConfigNotFound') && text.includes('"ghost"')));
  assert.ok(events.some((text) => text.startsWith('far EniConfigInOtherZone') && text.includes('z-b')));
  assert.ok(!events.some((text) => text.startsWith('n1 ')), 'the node itself is in order');
});

test('[POD-4] a controller that starts anew keeps the pools of pods that chose', async () => {
  const world = createControllerWorld();
  const node = world.joinNode('n1', 'z-a');
  startPod(world, node, { name: 'picky', annotations: WISH('z-a-2') });
  await world.run(30);
  const before = eniTexts(world, node);
  world.restartController();
  await world.run(1);
  assert.deepEqual(eniTexts(world, node), before);
  assert.ok(world.podEnis(node).every((eni) => !eni.cordoned));
  await world.run(120);
  assert.deepEqual(eniTexts(world, node), before);
  assert.ok(world.podEnis(node).every((eni) => !eni.cordoned && eni.withdrawing.length === 0));
});

test('[POD-1] where pods may not choose the spec says nothing of them', async () => {
  const world = createControllerWorld({ ENIWHERE_POD_ENI_CONFIG: 'false' });
  const node = world.joinNode('n1', 'z-a');
  startPod(world, node, { name: 'picky', annotations: WISH('z-a-2') });
  await world.run(30);
  assert.equal(world.spec(node)?.choosing, undefined);
  assert.deepEqual(eniTexts(world, node), ['z-a 2']);
});

test('[POD-6] nodes say how many addresses of a wished ENIConfig they have, before the pod is put anywhere', async () => {
  const world = createControllerWorld();
  const [inA, inB] = [world.joinNode('n1', 'z-a'), world.joinNode('n2', 'z-b')];
  await world.run(30);
  const resources = (node: Node) => world.cluster.admin.get('Node', node)?.extendedResources;
  assert.deepEqual([resources(inA), resources(inB)], [{}, {}]);
  world.cluster.admin.applyPod({ namespace: 'default', name: 'picky', annotations: WISH('z-a-2') });
  await world.run(5);
  assert.deepEqual([resources(inA), resources(inB)], [{ 'eniwhere.io/ip.z-a-2': 18 }, {}]);
  world.cluster.admin.deletePod(podKey('default', 'picky'));
  await world.run(40);
  assert.deepEqual(resources(inA), {});
});
