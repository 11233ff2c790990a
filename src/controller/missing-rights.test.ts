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
