// The startup taint: a node takes no pods before it can give them the address that its selection says.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Condition } from '../domain/ipam/node-network.ts';
import { type ControllerWorld, createControllerWorld } from './testing-controller.ts';

const KEY = 'eniwhere.io/network-not-ready';
const OWN = { key: KEY, effect: 'NoSchedule' } as const;
const OTHER = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' } as const;
const SERVING: Condition = {
  type: 'AgentReady',
  status: 'True',
  reason: 'Serving',
  message: 'pods get addresses and are wired',
  lastTransitionAt: 0,
};

type Node = ReturnType<ControllerWorld['joinNode']>;

const taintsOf = ({ cluster }: ControllerWorld, node: Node): readonly string[] =>
  (cluster.admin.get('Node', node)?.taints ?? []).map(({ key }) => key);

/** The agent's answer to the newest spec, beside the controller's own conditions. */
async function serve(world: ControllerWorld, node: Node, ready: Condition = SERVING): Promise<void> {
  const record = world.cluster.admin.nodeNetwork(node);
  assert.ok(record);
  const others = record.status.conditions.filter(({ type }) => type !== 'AgentReady');
  await world.answer(node, { observedGeneration: record.generation, conditions: [...others, ready] });
  await world.run(5);
}

test('[K8S-3] [U19] the taint stays until the agent serves the newest spec, and other taints stay for ever', async () => {
  const world = createControllerWorld();
  const node = world.joinNode('n1', 'z-a', [OWN, OTHER]);
  await world.run(30);
  assert.deepEqual(taintsOf(world, node), [KEY, 'dedicated'], 'no agent has answered');
  await serve(world, node, { ...SERVING, status: 'False', reason: 'Starting', message: 'links are missing' });
  assert.deepEqual(taintsOf(world, node), [KEY, 'dedicated'], 'the agent does not serve');
  await world.answer(node, { observedGeneration: 1 });
  await world.run(5);
  assert.deepEqual(taintsOf(world, node), [KEY, 'dedicated'], 'the agent has acted on an old spec');
  await serve(world, node);
  assert.deepEqual(taintsOf(world, node), ['dedicated']);
});

test('[K8S-3] the taint stays while the selection fails, although the agent serves', async () => {
  const world = createControllerWorld();
  const node = world.joinNode('n1', 'z-a', [OWN]);
  world.cluster.admin.setAnnotation({ kind: 'Node', name: node }, 'k8s.amazonaws.com/eniConfig', 'ghost');
  await world.run(30);
  await serve(world, node);
  assert.deepEqual(taintsOf(world, node), [KEY]);
  world.cluster.admin.setAnnotation({ kind: 'Node', name: node }, 'k8s.amazonaws.com/eniConfig', undefined);
  await world.run(30);
  assert.deepEqual(taintsOf(world, node), [KEY], 'the agent has not acted on the new spec');
  await serve(world, node);
  assert.deepEqual(taintsOf(world, node), []);
});

test('[K8S-3] the taint stays while the subnet is full and no address is held', async () => {
  const world = createControllerWorld();
  world.occupyAllBut(world.subnetOf('z-a'), 0);
  const node = world.joinNode('n1', 'z-a', [OWN]);
  await world.run(30);
  await serve(world, node);
  assert.deepEqual(taintsOf(world, node), [KEY]);
});

test('[K8S-3] with no warm pool at all the agent and the selection are enough', async () => {
  const world = createControllerWorld({ WARM_IP_TARGET: '0', WARM_ENI_TARGET: '0' });
  const node = world.joinNode('n1', 'z-a', [OWN]);
  await world.run(30);
  assert.deepEqual(world.podEnis(node), []);
  await serve(world, node);
  assert.deepEqual(taintsOf(world, node), []);
});

test('[K8S-3] another key can be set', async () => {
  const world = createControllerWorld({ ENIWHERE_STARTUP_TAINT: 'example.com/wait' });
  const node = world.joinNode('n1', 'z-a', [OWN, { key: 'example.com/wait', effect: 'NoExecute' }]);
  await world.run(30);
  await serve(world, node);
  assert.deepEqual(taintsOf(world, node), [KEY]);
});
