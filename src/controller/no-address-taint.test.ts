// The taint for nodes without an address: pods stay where the scheduler and the autoscaler see them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { podKey } from '../domain/ids.ts';
import { type ControllerWorld, createControllerWorld } from './testing-controller.ts';

type Node = ReturnType<ControllerWorld['joinNode']>;

const KEY = 'eniwhere.io/no-address';
const OTHER = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' } as const;

const taintsOf = ({ cluster }: ControllerWorld, node: Node): readonly string[] =>
  (cluster.admin.get('Node', node)?.taints ?? []).map(({ key, effect }) => `${key}:${effect}`);

/** All pods that are bound have the first addresses that were granted. */
async function serveAll(world: ControllerWorld, node: Node): Promise<void> {
  const granted = world.podEnis(node).flatMap((eni) => (eni.cordoned ? [] : eni.addresses));
  const used = world.cluster.admin
    .list('Pod')
    .filter((pod) => pod.nodeName === node)
    .flatMap(({ key }, n) => {
      const ip = granted[n];
      return ip === undefined ? [] : [{ pod: key, ip }];
    });
  await world.answer(node, { used });
}

test('[K8S-5] U04 a node in a full subnet gets the taint once its last address is taken, and loses it when there is room', async () => {
  const world = createControllerWorld({ ENIWHERE_NO_ADDRESS_TAINT: KEY });
  const [node, elsewhere] = [world.joinNode('n1', 'z-a', [OTHER]), world.joinNode('n2', 'z-b')];
  await world.run(30);
  const subnetId = world.subnetOf('z-a');
  assert.ok(subnetId !== undefined);
  world.occupyAllBut(subnetId, 0);
  await world.run(60);
  assert.deepEqual(taintsOf(world, node), ['dedicated:NoSchedule'], 'one address is free on the node');

  world.startPods(node, 1);
  await serveAll(world, node);
  await world.run(5);
  assert.deepEqual(taintsOf(world, node), ['dedicated:NoSchedule'], 'it may pass');
  await world.run(10);
  assert.deepEqual(taintsOf(world, node), ['dedicated:NoSchedule', `${KEY}:NoSchedule`]);
  assert.deepEqual(taintsOf(world, elsewhere), []);

  world.restartController();
  await world.run(300);
  assert.deepEqual(taintsOf(world, node), ['dedicated:NoSchedule', `${KEY}:NoSchedule`]);
  assert.ok(world.ec2.admin.vacateAddresses(subnetId, 50).ok);
  await world.run(90);
  assert.deepEqual(taintsOf(world, node), ['dedicated:NoSchedule']);
});

test('[K8S-5] U01 a kubelet that was told too many pods gets the taint, and one that was told the right number does not', async () => {
  for (const [podCapacity, expected] of [
    [29, [`${KEY}:NoSchedule`]],
    [20, []],
  ] as const) {
    const world = createControllerWorld({ ENIWHERE_NO_ADDRESS_TAINT: KEY });
    const node = world.joinNode('n1', 'z-a');
    world.cluster.admin.applyNode({ name: node, podCapacity });
    world.startPods(node, 18);
    await world.run(60);
    await serveAll(world, node);
    await world.run(60);
    assert.deepEqual(taintsOf(world, node), expected, `max pods ${podCapacity}`);
    world.cluster.admin.deletePod(podKey('default', 'n1-p18'));
    await serveAll(world, node);
    await world.run(30);
    assert.deepEqual(taintsOf(world, node), []);
  }
});

test('[K8S-5] without the setting no node is written', async () => {
  const world = createControllerWorld();
  world.occupyAllBut(world.subnetOf('z-a'), 0);
  const node = world.joinNode('n1', 'z-a');
  world.startPods(node, 2);
  await world.run(120);
  assert.deepEqual(taintsOf(world, node), []);
});
