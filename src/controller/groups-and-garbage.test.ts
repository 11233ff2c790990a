// The controller over the simulated EC2: security groups changed in place, and leaked ENIs collected.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { NodeName, SecurityGroupId, SubnetId } from '../domain/ids.ts';
import { must } from '../lab/ec2/testing.ts';
import {
  type ControllerWorld,
  createControllerWorld,
  NODES_GROUP,
  PODS_GROUP,
  VPC,
} from './testing-controller.ts';

const MINUTE = 60;
const POD_SUBNET = 'subnet-00000010' as SubnetId;

async function worldWithNode(): Promise<{ world: ControllerWorld; node: NodeName }> {
  const world = createControllerWorld();
  const node = world.joinNode('n1', 'z-a');
  await world.run(30);
  assert.equal(world.podEnis(node).length, 1);
  return { world, node };
}

function applyGroups(world: ControllerWorld, securityGroupIds: readonly SecurityGroupId[]): void {
  const eniConfig = { name: 'z-a', labels: {}, subnetId: POD_SUBNET, securityGroupIds };
  world.cluster.admin.applyEniConfig({ name: 'z-a', spec: { kind: 'Parsed', eniConfig } });
}

const eventsOf = (world: ControllerWorld, reason: string): readonly string[] =>
  world.cluster.admin
    .events()
    .filter((event) => event.reason === reason)
    .map((event) => event.message);

suite('[ENI-7] security groups of an ENIConfig', () => {
  test('are changed in place, in one call, with an Event; the ENI stays and grows on', async () => {
    const { world, node } = await worldWithNode();
    const { securityGroupId } = must(world.ec2.admin.createSecurityGroup({ vpcId: VPC, name: 'new' }));
    const [before] = world.podEnis(node);
    const writes = world.ec2.calls.writeCount();
    applyGroups(world, [securityGroupId]);
    await world.run(10);
    assert.equal(world.ec2.calls.writeCount() - writes, 1);
    const [after] = world.podEnis(node);
    assert.deepEqual([after?.eniId, after?.cordoned], [before?.eniId, false]);
    assert.deepEqual(after?.securityGroupIds, [securityGroupId]);
    assert.ok(before !== undefined);
    assert.deepEqual(world.ec2.truth.eni(before.eniId)?.securityGroupIds, [securityGroupId]);
    assert.match(eventsOf(world, 'SecurityGroupsChanged')[0] ?? '', /ENIConfig "z-a" now has sg-/);
    world.startPods(node, 3);
    await world.run(10);
    assert.equal(world.podEnis(node)[0]?.addresses.length, 4);
    assert.equal(world.podEnis(node).length, 1);
  });

  test("without any, they follow those of the node's primary ENI", async () => {
    const { world, node } = await worldWithNode();
    applyGroups(world, []);
    await world.run(10);
    assert.deepEqual(world.podEnis(node)[0]?.securityGroupIds, [NODES_GROUP]);
    const primary = world.spec(node)?.instance.primaryEniId;
    assert.ok(primary !== undefined);
    must(world.ec2.admin.setEniGroups(primary, [NODES_GROUP, PODS_GROUP]));
    await world.run(MINUTE);
    assert.deepEqual(world.podEnis(node)[0]?.securityGroupIds, [NODES_GROUP, PODS_GROUP]);
    assert.equal(world.podEnis(node).length, 1);
  });

  test('that EC2 refuses are told, tried again each minute, and hold up no pod', async () => {
    const { world, node } = await worldWithNode();
    world.ec2.admin.denyAction('ModifyNetworkInterfaceAttribute');
    applyGroups(world, [NODES_GROUP]);
    world.startPods(node, 3);
    await world.run(20);
    assert.equal(world.podEnis(node)[0]?.addresses.length, 4);
    assert.match(eventsOf(world, 'Unauthorized')[0] ?? '', /ec2:ModifyNetworkInterfaceAttribute/);
    world.ec2.admin.allowAction('ModifyNetworkInterfaceAttribute');
    await world.run(2 * MINUTE);
    assert.deepEqual(world.podEnis(node)[0]?.securityGroupIds, [NODES_GROUP]);
  });
});

suite('[ENI-5] [LV-3] ENIs of nodes that are gone', () => {
  const ownEnis = (world: ControllerWorld): readonly string[] =>
    world.ec2.truth
      .enis()
      .filter((eni) => 'eniwhere.io/cluster' in eni.tags)
      .map((eni) => eni.eniId);

  test('are collected within minutes, and nobody else is', async () => {
    const { world, node } = await worldWithNode();
    const other = world.joinNode('n2', 'z-a');
    const foreign = must(
      world.ec2.admin.createForeignEni({ subnetId: POD_SUBNET, tags: { 'eniwhere.io/cluster': 'another' } }),
    );
    await world.run(4 * MINUTE);
    const [leaked] = world.podEnis(node);
    assert.ok(leaked !== undefined);
    must(world.ec2.admin.detachEni(leaked.eniId));
    const { instanceId } = world.cluster.admin.get('Node', node)!;
    must(world.ec2.admin.terminateInstance(instanceId!));
    world.cluster.admin.deleteNode(node);
    await world.run(MINUTE);
    assert.ok(world.ec2.truth.eni(leaked.eniId) !== undefined, 'one sighting is not enough');
    await world.run(2 * MINUTE);
    assert.equal(world.ec2.truth.eni(leaked.eniId), undefined);
    assert.ok(world.ec2.truth.eni(foreign.eniId) !== undefined);
    assert.deepEqual(
      ownEnis(world).filter((eniId) => eniId !== foreign.eniId),
      world.podEnis(other).map((eni) => eni.eniId),
    );
    const writes = world.ec2.calls.writeCount();
    await world.run(10 * MINUTE);
    assert.equal(world.ec2.calls.writeCount(), writes);
  });

  test('that are attached stay while the instance lives, and then go with it', async () => {
    const { world, node } = await worldWithNode();
    const [eni] = world.podEnis(node);
    const { instanceId } = world.cluster.admin.get('Node', node)!;
    world.cluster.admin.deleteNode(node);
    await world.run(10 * MINUTE);
    assert.equal(world.ec2.truth.eni(eni!.eniId)?.status, 'in-use');
    must(world.ec2.admin.terminateInstance(instanceId!));
    await world.run(5 * MINUTE);
    assert.deepEqual(ownEnis(world), []);
  });

  test('are kept when the node comes back between the two sightings', async () => {
    const { world, node } = await worldWithNode();
    await world.run(4 * MINUTE);
    const [eni] = world.podEnis(node);
    const { instanceId, zone } = world.cluster.admin.get('Node', node)!;
    world.cluster.admin.deleteNode(node);
    await world.run(MINUTE);
    world.cluster.admin.applyNode({ name: node, instanceId: instanceId!, zone: zone! });
    await world.run(10 * MINUTE);
    assert.deepEqual(ownEnis(world), [eni?.eniId]);
  });
});
