// A right that the controller's role lacks: told where a person looks, once, with the fix.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ControllerWorld, createControllerWorld } from './testing-controller.ts';

/** Texts of the Events of a reason on a node. */
const eventsOf = ({ cluster }: ControllerWorld, node: string, reason: string): readonly string[] =>
  cluster.admin
    .events()
    .filter(({ about, reason: said }) => about.name === node && said === reason)
    .map(({ message }) => message);

const READS = [
  'DescribeInstances',
  'DescribeNetworkInterfaces',
  'DescribeSubnets',
  'DescribeSecurityGroups',
  'DescribeVpcs',
  'DescribeInstanceTypes',
] as const;
for (const action of READS)
  test(`U14 the right to ${action} is missing from the start: the node and its ENIConfig say so, and when it is over`, async () => {
    const world = createControllerWorld();
    world.ec2.admin.denyAction(action);
    world.restartController();
    const node = world.joinNode('n1', 'z-a');
    await world.run(60);
    const [said, ...more] = eventsOf(world, node, 'Unauthorized');
    assert.match(
      said ?? '',
      new RegExp(`EC2 refuses ${action} to the controller: .*; allow ec2:${action} in`),
    );
    assert.deepEqual(more, []);
    const isOfEniConfigs = action === 'DescribeSubnets' || action === 'DescribeSecurityGroups';
    const status = world.cluster.admin.get('EniConfig', 'z-a')?.status;
    if (isOfEniConfigs) assert.match(status?.message ?? '', new RegExp(`allow ec2:${action}`));
    assert.equal(status?.ready, !isOfEniConfigs);

    world.ec2.admin.allowAction(action);
    await world.run(60);
    assert.equal(eventsOf(world, node, 'NetworkRecovered').length, 1);
    assert.equal(world.cluster.admin.get('EniConfig', 'z-a')?.status?.ready, true);
  });

test('U14 the right to make ENIs is missing: one Event says so, however often EC2 refuses in words of its own', async () => {
  const world = createControllerWorld();
  world.ec2.admin.denyAction('CreateNetworkInterface');
  const node = world.joinNode('n1', 'z-a');
  world.startPods(node, 3);
  await world.run(600);
  const [said, ...more] = eventsOf(world, node, 'Unauthorized');
  assert.match(said ?? '', /allow ec2:CreateNetworkInterface and ec2:CreateTags in the policy/);
  assert.deepEqual(more, []);
});

/** What the node is denied is needed for a warm pool alone: no pod is there. */
const GROWTH = [
  ['CreateNetworkInterface', 'ec2:CreateNetworkInterface and ec2:CreateTags'],
  ['AttachNetworkInterface', 'ec2:AttachNetworkInterface'],
] as const;
for (const [action, rights] of GROWTH)
  test(`U14 the right to ${action} is missing: a node without a pod says so at once, steadily, and until it is over`, async () => {
    const world = createControllerWorld();
    world.ec2.admin.denyAction(action);
    const node = world.joinNode('n1', 'z-a');
    const condition = () =>
      world.cluster.admin
        .nodeNetwork(node)
        ?.status.conditions.find((one) => one.type === 'AddressesAvailable');
    await world.run(20);
    const first = condition();
    assert.deepEqual([first?.status, first?.reason], ['False', 'Unauthorized']);
    assert.match(first?.message ?? '', new RegExp(`; allow ${rights} in the policy`));
    for (let second = 0; second < 600; second += 1) {
      await world.run(1);
      assert.deepEqual(condition(), first);
    }
    assert.equal(eventsOf(world, node, 'Unauthorized').length, 1);
    assert.deepEqual(eventsOf(world, node, 'NetworkRecovered'), []);

    world.ec2.admin.allowAction(action);
    await world.run(90);
    assert.equal(condition()?.status, 'True');
    assert.equal(world.podEnis(node).length, 1);
    assert.equal(eventsOf(world, node, 'NetworkRecovered').length, 1);
  });

test('U14 the right to ModifyNetworkInterfaceAttribute is missing: the node grows, and one Event says what its ENIs lack', async () => {
  const world = createControllerWorld();
  world.ec2.admin.denyAction('ModifyNetworkInterfaceAttribute');
  const node = world.joinNode('n1', 'z-a');
  world.startPods(node, 12);
  await world.run(600);
  assert.equal(world.podEnis(node).length, 2);
  const [said, ...more] = eventsOf(world, node, 'Unauthorized');
  assert.match(
    said ?? '',
    /may not set delete-on-termination .*; allow ec2:ModifyNetworkInterfaceAttribute in/,
  );
  assert.deepEqual(more, []);
});

test('U14 the right to DetachNetworkInterface is missing: one Event says so, and pods go on being served', async () => {
  const world = createControllerWorld();
  const node = world.joinNode('n1', 'z-a');
  await world.run(30);
  world.ec2.admin.denyAction('DetachNetworkInterface');
  world.cluster.admin.setAnnotation({ kind: 'Node', name: node }, 'k8s.amazonaws.com/eniConfig', 'z-a-2');
  await world.run(5);
  await world.answer(node, { withdrawn: world.podEnis(node).flatMap((eni) => eni.withdrawing) });
  world.startPods(node, 3);
  await world.run(600);
  assert.deepEqual(
    world.podEnis(node).map((eni) => `${eni.eniConfig} ${eni.cordoned} ${eni.addresses.length}`),
    ['z-a true 1', 'z-a-2 false 4'],
  );
  const [said, ...more] = eventsOf(world, node, 'Unauthorized');
  assert.match(said ?? '', /may not detach a network interface .*; allow ec2:DetachNetworkInterface in/);
  assert.deepEqual(more, []);
});
