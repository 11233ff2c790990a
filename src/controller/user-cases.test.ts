// What operators report of full subnets, replayed on a running controller.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Ip } from '../domain/address/ip.ts';
import { podKey } from '../domain/ids.ts';
import type { Condition } from '../domain/ipam/node-network.ts';
import { type ControllerWorld, createControllerWorld } from './testing-controller.ts';

type Node = ReturnType<ControllerWorld['joinNode']>;

const TAINT = { key: 'eniwhere.io/network-not-ready', effect: 'NoSchedule' } as const;
const SERVING: Condition = {
  type: 'AgentReady',
  status: 'True',
  reason: 'Serving',
  message: 'pods get addresses and are wired',
  lastTransitionAt: 0,
};

/** The agent's answer to the newest spec, beside the controller's own conditions. */
async function serve(world: ControllerWorld, node: Node): Promise<void> {
  const record = world.cluster.admin.nodeNetwork(node);
  assert.ok(record);
  const others = record.status.conditions.filter(({ type }) => type !== 'AgentReady');
  await world.answer(node, { observedGeneration: record.generation, conditions: [...others, SERVING] });
  await world.run(5);
}

const isTainted = ({ cluster }: ControllerWorld, node: Node): boolean =>
  cluster.admin.get('Node', node)?.taints.some(({ key }) => key === TAINT.key) === true;

const addressesCondition = ({ cluster }: ControllerWorld, node: Node): Condition | undefined =>
  cluster.admin.nodeNetwork(node)?.status.conditions.find(({ type }) => type === 'AddressesAvailable');

const eventsAbout = ({ cluster }: ControllerWorld, name: string): readonly string[] =>
  cluster.admin
    .events()
    .filter(({ about }) => about.name === name)
    .map(({ reason, message }) => `${reason}: ${message}`);

test("S05 U04 [K8S-3] a node whose zone's pod subnet is full takes no pods and says why; those of other zones do", async () => {
  const world = createControllerWorld();
  world.occupyAllBut(world.subnetOf('z-a'), 0);
  const [inFull, elsewhere] = [world.joinNode('n1', 'z-a', [TAINT]), world.joinNode('n2', 'z-b', [TAINT])];
  await world.run(30);
  for (const node of [inFull, elsewhere]) await serve(world, node);
  assert.deepEqual([isTainted(world, inFull), isTainted(world, elsewhere)], [true, false]);

  const said =
    /subnet subnet-00000010 of ENIConfig "z-a" \(10\.0\.10\.0\/24, z-a\) is full: 0 addresses free/;
  const condition = addressesCondition(world, inFull);
  assert.deepEqual([condition?.status, condition?.reason], ['False', 'SubnetFull']);
  assert.match(condition?.message ?? '', said);
  assert.match(eventsAbout(world, inFull).join('\n'), said);
  assert.equal(addressesCondition(world, elsewhere)?.status, 'True');
  assert.equal(world.cluster.admin.get('EniConfig', 'z-a')?.status?.freeAddressCount, 0);
  assert.equal(world.podEnis(inFull).length, 0);

  // A pod that has to run in the full zone, for its volume is there.
  world.cluster.admin.applyPod({ namespace: 'default', name: 'db' });
  world.cluster.admin.bindPod(podKey('default', 'db'), inFull);
  await world.run(30);
  assert.match(
    eventsAbout(world, 'db').join('\n'),
    /^SubnetFull: waits for an address on node n1: subnet subnet-00000010/,
  );

  const subnetId = world.subnetOf('z-a');
  assert.ok(subnetId !== undefined);
  assert.ok(world.ec2.admin.vacateAddresses(subnetId, 20).ok);
  await world.run(90);
  await serve(world, inFull);
  assert.equal(world.podEnis(inFull).length, 1);
  assert.equal(isTainted(world, inFull), false);
});

test('S05 U04 [SEL-11] a class that takes the most free subnet leaves a full one of the zone alone', async () => {
  const world = createControllerWorld();
  world.occupyAllBut(world.subnetOf('z-a'), 0);
  world.applyClass('workers', { eniConfigs: { names: ['z-a', 'z-a-2', 'z-b'] }, strategy: 'MostFree' });
  const nodes = Array.from({ length: 4 }, (_, n) => world.joinNode(`n${n + 1}`, 'z-a'));
  await world.run(60);
  assert.deepEqual(
    nodes.map((node) => world.selectionText(node)),
    nodes.map(() => 'z-a-2 by Class'),
  );
  assert.ok(nodes.every((node) => world.podEnis(node).length === 1));
});

test('S07 U06 [SEL-11] a second subnet is added to a class while the first runs short: what comes next is in it', async () => {
  const world = createControllerWorld();
  world.applyClass('workers', { eniConfigs: { names: ['z-a'] }, strategy: 'MostFree' });
  const node = world.joinNode('n1', 'z-a');
  world.startPods(node, 4);
  await world.run(30);
  const [first] = world.podEnis(node);
  const pods = world.cluster.admin.list('Pod').map(({ key }) => key);
  const used = pods.flatMap((pod, n): readonly { pod: typeof pod; ip: Ip }[] => {
    const ip = first?.addresses[n];
    return ip === undefined ? [] : [{ pod, ip }];
  });
  await world.answer(node, { used });
  world.occupyAllBut(first?.subnetId, 3);
  await world.run(60);

  world.applyClass('workers', { eniConfigs: { names: ['z-a', 'z-a-2'] }, strategy: 'MostFree' });
  for (let n = 1; n <= 6; n += 1) {
    world.cluster.admin.applyPod({ namespace: 'default', name: `late-${n}` });
    world.cluster.admin.bindPod(podKey('default', `late-${n}`), node);
  }
  await world.run(20);
  const enis = world.podEnis(node);
  assert.deepEqual(
    enis.map(({ eniConfig, cordoned }) => [eniConfig, cordoned]),
    [
      ['z-a', true],
      ['z-a-2', false],
    ],
  );
  assert.deepEqual(
    first?.addresses.filter((ip) => !enis[0]?.addresses.includes(ip)),
    [],
    'pods that run keep their addresses',
  );
  assert.ok((enis[1]?.addresses.length ?? 0) >= 6);
  const refusals = world.ec2.calls.counts().filter(({ result }) => result !== 'ok');
  assert.deepEqual(refusals, [], 'the full subnet was not even asked');
});
