// What every Ec2 must do, simulated or real: run against each with the same words.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { prefixRules } from './ec2-prefixes.contract.ts';
import { readingRules } from './ec2-reading.contract.ts';
import type { Ip } from '../domain/address/ip.ts';
import type { SecurityGroupId } from '../domain/ids.ts';
import type { CreateEniRequest, Ec2Eni, Ec2Outcome } from './ec2.ts';
import {
  NO_ENI,
  NO_SUBNET,
  NO_GROUP,
  NO_INSTANCE,
  NO_ATTACHMENT,
  value,
  failsWith,
  eventually,
  creation,
  create,
  read,
  freeCount,
  attach,
  createAttached,
  type Ec2ContractWorld,
  type Ec2Rule,
} from './ec2-world.contract.ts';

export function ec2Contract(name: string, createWorld: () => Promise<Ec2ContractWorld>): void {
  const rule = (title: string, body: (world: Ec2ContractWorld) => Promise<void>): void => {
    test(title, async () => {
      const world = await createWorld();
      await world.run(() => body(world));
    });
  };
  describe(`${name}: creating ENIs`, () => creatingRules(rule));
  describe(`${name}: attaching and detaching`, () => attachingRules(rule));
  describe(`${name}: addresses`, () => addressRules(rule));
  describe(`${name}: prefixes`, () => prefixRules(rule));
  describe(`${name}: reading`, () => readingRules(rule));
}

function creatingRules(rule: Ec2Rule): void {
  rule('a new ENI has what was asked for, and is seen by id and by tag', async (world) => {
    const eni = await create(world, { tags: { purpose: 'contract', 'eniwhere.io/intent': 'one' } });
    assert.equal(eni.status, 'available');
    assert.equal(eni.attachment, undefined);
    assert.equal(eni.subnetId, world.subnetId);
    assert.equal(eni.vpcId, world.vpcId);
    assert.deepEqual(eni.securityGroupIds, [world.securityGroupId]);
    assert.equal(new Set([eni.primaryAddress, ...eni.addresses]).size, 3);
    assert.equal(eni.description, 'contract');
    assert.match(eni.mac, /^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/);
    await eventually(world, 'seen by id', async () => (await read(world, eni.eniId)) !== undefined);
    const tag = { key: 'eniwhere.io/intent', value: 'one' };
    await eventually(world, 'seen by tag', async () => {
      const seen = value(await world.ec2.describeNetworkInterfaces({ tag }));
      return seen.some(({ eniId }) => eniId === eni.eniId);
    });
  });

  rule('the same client token with the same request makes no second ENI', async (world) => {
    const request = creation(world, { tags: { token: 'once' } });
    const first = value(await world.ec2.createNetworkInterface(request));
    const second = value(await world.ec2.createNetworkInterface(request));
    assert.equal(second.eniId, first.eniId);
    const seen = value(await world.ec2.describeNetworkInterfaces({ tag: { key: 'token', value: 'once' } }));
    assert.deepEqual(
      seen.map(({ eniId }) => eniId),
      [first.eniId],
    );
  });

  rule('the same client token with another request is refused', async (world) => {
    const request = creation(world);
    value(await world.ec2.createNetworkInterface(request));
    const other = await world.ec2.createNetworkInterface({ ...request, secondaryAddressCount: 1 });
    failsWith(other, 'invalid', 'IdempotentParameterMismatch');
  });

  rule('an ENI made without groups gets one that nobody asked for: the default group', async (world) => {
    const { securityGroupIds } = await create(world, { securityGroupIds: [] });
    assert.equal(securityGroupIds.length, 1);
    assert.notEqual(securityGroupIds[0], world.securityGroupId);
  });

  rule('what does not exist, or lies in another VPC, is named as such', async (world) => {
    const refused = async (change: Partial<CreateEniRequest>): Promise<Ec2Outcome<Ec2Eni>> =>
      world.ec2.createNetworkInterface(creation(world, change));
    failsWith(await refused({ subnetId: NO_SUBNET }), 'not-found', 'InvalidSubnetID.NotFound');
    failsWith(await refused({ securityGroupIds: [NO_GROUP] }), 'not-found', 'InvalidGroup.NotFound');
    const otherVpc = await refused({ securityGroupIds: [world.otherVpcSecurityGroupId] });
    failsWith(otherVpc, 'invalid', 'InvalidParameter');
  });

  rule('a subnet without enough addresses gives none', async (world) => {
    const subnetId = world.smallSubnetId;
    assert.equal(await freeCount(world, subnetId), 11);
    const tooMany = await world.ec2.createNetworkInterface(
      creation(world, { subnetId, secondaryAddressCount: 11 }),
    );
    failsWith(tooMany, 'subnet-full', 'InsufficientFreeAddressesInSubnet');
    assert.equal(await freeCount(world, subnetId), 11);
    const last = await create(world, { subnetId, secondaryAddressCount: 10 });
    await eventually(world, 'the subnet is full', async () => (await freeCount(world, subnetId)) === 0);
    value(await world.ec2.deleteNetworkInterface({ eniId: last.eniId }));
    await eventually(world, 'the subnet is empty', async () => (await freeCount(world, subnetId)) === 11);
  });
}

function attachingRules(rule: Ec2Rule): void {
  rule('an ENI is attached after a while, and its attachment says where', async (world) => {
    const eni = await create(world);
    const attachmentId = value(await attach(world, eni.eniId, 1));
    await eventually(world, 'in use', async () => (await read(world, eni.eniId))?.status === 'in-use');
    assert.deepEqual((await read(world, eni.eniId))?.attachment, {
      attachmentId,
      instanceId: world.instanceId,
      deviceIndex: 1,
      networkCardIndex: 0,
      deleteOnTermination: false,
      status: 'attached',
    });
  });

  rule('delete-on-termination is set per attachment', async (world) => {
    const { eniId, attachment } = await createAttached(world, 1);
    assert.ok(attachment);
    value(await world.ec2.setDeleteOnTermination({ eniId, attachmentId: attachment.attachmentId }));
    await eventually(
      world,
      'the flag is seen',
      async () => (await read(world, eniId))?.attachment?.deleteOnTermination === true,
    );
    const wrong = await world.ec2.setDeleteOnTermination({ eniId, attachmentId: NO_ATTACHMENT });
    failsWith(wrong, 'not-found', 'InvalidAttachmentID.NotFound');
  });

  rule(
    'the groups of an attached ENI are replaced, all of them, and nothing else of it changes',
    async (world) => {
      const before = await createAttached(world, 1);
      const [instance] = value(await world.ec2.describeInstances([world.instanceId]));
      assert.ok(instance);
      const { eniId } = before;
      const [fallback] = value(
        await world.ec2.createNetworkInterface(creation(world, { securityGroupIds: [] })),
      ).securityGroupIds;
      assert.ok(fallback);
      const securityGroupIds = [world.securityGroupId, fallback];
      value(await world.ec2.setSecurityGroups({ eniId, securityGroupIds }));
      const groupsOf = async (): Promise<ReadonlySet<string>> =>
        new Set((await read(world, eniId))?.securityGroupIds);
      await eventually(world, 'both groups are seen', async () => (await groupsOf()).size === 2);
      value(await world.ec2.setSecurityGroups({ eniId, securityGroupIds: [world.securityGroupId] }));
      await eventually(world, 'one group is seen', async () => (await groupsOf()).size === 1);
      assert.deepEqual(await read(world, eniId), before);
    },
  );

  rule('groups that do not exist or belong to another VPC are no groups of an ENI', async (world) => {
    const { eniId } = await createAttached(world, 1);
    const set = (securityGroupId: SecurityGroupId): Promise<Ec2Outcome<void>> =>
      world.ec2.setSecurityGroups({ eniId, securityGroupIds: [securityGroupId] });
    failsWith(await set(NO_GROUP), 'not-found', 'InvalidGroup.NotFound');
    failsWith(await set(world.otherVpcSecurityGroupId), 'invalid', 'InvalidParameter');
    const none = await world.ec2.setSecurityGroups({
      eniId: NO_ENI,
      securityGroupIds: [world.securityGroupId],
    });
    failsWith(none, 'not-found', 'InvalidNetworkInterfaceID.NotFound');
  });

  rule('a device index serves once, and so does an ENI', async (world) => {
    const { eniId } = await createAttached(world, 1);
    const other = await create(world);
    failsWith(await attach(world, other.eniId, 1), 'device-index-taken', 'InvalidParameterValue');
    failsWith(await attach(world, other.eniId, 0), 'device-index-taken', 'InvalidParameterValue');
    failsWith(await attach(world, eniId, 2), 'in-use', 'InvalidNetworkInterface.InUse');
  });

  rule('an instance takes as many ENIs as its type has, its primary one included', async (world) => {
    for (let index = 1; index < world.limits.eniMax; index++) await createAttached(world, index);
    const { eniId } = await create(world);
    const over = await attach(world, eniId, world.limits.eniMax);
    failsWith(over, 'instance-full', 'AttachmentLimitExceeded');
  });

  rule('an ENI attaches only in its own zone', async (world) => {
    const { eniId } = await create(world, { subnetId: world.otherZoneSubnetId });
    failsWith(await attach(world, eniId, 1), 'invalid', 'InvalidParameterCombination');
  });

  rule('what does not exist cannot be attached, detached or deleted', async (world) => {
    failsWith(await attach(world, NO_ENI, 1), 'not-found', 'InvalidNetworkInterfaceID.NotFound');
    const { eniId } = await create(world);
    const nowhere = await world.ec2.attachNetworkInterface({
      eniId,
      instanceId: NO_INSTANCE,
      deviceIndex: 1,
      networkCardIndex: 0,
    });
    failsWith(nowhere, 'not-found', 'InvalidInstanceID.NotFound');
    const detached = await world.ec2.detachNetworkInterface({ attachmentId: NO_ATTACHMENT });
    failsWith(detached, 'not-found', 'InvalidAttachmentID.NotFound');
    const deleted = await world.ec2.deleteNetworkInterface({ eniId: NO_ENI });
    failsWith(deleted, 'not-found', 'InvalidNetworkInterfaceID.NotFound');
  });

  rule('an attached ENI is not deleted; a detached one is, once its detach is over', async (world) => {
    const { eniId, attachment } = await createAttached(world, 1);
    assert.ok(attachment);
    failsWith(await world.ec2.deleteNetworkInterface({ eniId }), 'in-use', 'InvalidParameterValue');
    value(await world.ec2.detachNetworkInterface({ attachmentId: attachment.attachmentId }));
    await eventually(world, 'available', async () => (await read(world, eniId))?.status === 'available');
    value(await world.ec2.deleteNetworkInterface({ eniId }));
    await eventually(world, 'gone', async () => (await read(world, eniId)) === undefined);
    const again = await world.ec2.deleteNetworkInterface({ eniId });
    failsWith(again, 'not-found', 'InvalidNetworkInterfaceID.NotFound');
  });

  rule('the primary ENI is not detached', async (world) => {
    const [instance] = value(await world.ec2.describeInstances([world.instanceId]));
    assert.ok(instance);
    const attachmentId = (await read(world, instance.primaryEniId))?.attachment?.attachmentId;
    assert.ok(attachmentId);
    failsWith(await world.ec2.detachNetworkInterface({ attachmentId }), 'invalid', 'OperationNotPermitted');
  });
}

function addressRules(rule: Ec2Rule): void {
  rule('assigned addresses are answered, and are on the ENI', async (world) => {
    const { eniId, addresses } = await createAttached(world, 1);
    const added = value(await world.ec2.assignPrivateIpAddresses({ eniId, count: 3 }));
    assert.equal(new Set([...addresses, ...added]).size, addresses.length + 3);
    await eventually(world, 'seen', async () => {
      const seen = (await read(world, eniId))?.addresses ?? [];
      return added.every((address) => seen.includes(address));
    });
  });

  rule(
    "an ENI holds no more addresses than its instance's type allows, its primary included",
    async (world) => {
      const { eniId, addresses } = await createAttached(world, 1);
      const room = world.limits.ipv4PerEniMax - 1 - addresses.length;
      const over = await world.ec2.assignPrivateIpAddresses({ eniId, count: room + 1 });
      failsWith(over, 'eni-full', 'PrivateIpAddressLimitExceeded');
      assert.equal(value(await world.ec2.assignPrivateIpAddresses({ eniId, count: room })).length, room);
    },
  );

  rule('a full subnet assigns nothing', async (world) => {
    const { eniId } = await create(world, { subnetId: world.smallSubnetId, secondaryAddressCount: 5 });
    const over = await world.ec2.assignPrivateIpAddresses({ eniId, count: 6 });
    failsWith(over, 'subnet-full', 'InsufficientFreeAddressesInSubnet');
    assert.equal(value(await world.ec2.assignPrivateIpAddresses({ eniId, count: 5 })).length, 5);
  });

  rule('unassigned addresses leave the ENI and are free again', async (world) => {
    const subnetId = world.smallSubnetId;
    const { eniId, addresses } = await create(world, { subnetId });
    value(await world.ec2.unassignPrivateIpAddresses({ eniId, addresses: addresses.slice(0, 1) }));
    await eventually(
      world,
      'gone from the ENI',
      async () => (await read(world, eniId))?.addresses.length === 1,
    );
    await eventually(world, 'free', async () => (await freeCount(world, subnetId)) === 9);
    const again = await world.ec2.unassignPrivateIpAddresses({ eniId, addresses });
    failsWith(again, 'not-found', 'InvalidParameterValue');
    assert.equal((await read(world, eniId))?.addresses.length, 1, 'of a refused request nothing is done');
  });

  rule('the primary address stays', async (world) => {
    const { eniId, primaryAddress } = await create(world);
    const refused = await world.ec2.unassignPrivateIpAddresses({
      eniId,
      addresses: [primaryAddress] as readonly Ip[],
    });
    assert.equal(refused.kind, 'failed');
  });
}
