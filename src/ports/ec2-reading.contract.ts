// What every Ec2 answers to describes.

import assert from 'node:assert/strict';
import type { VpcId } from '../domain/ids.ts';
import type { EniFilter } from './ec2.ts';
import {
  NO_ENI,
  NO_SUBNET,
  NO_VPC,
  NO_GROUP,
  NO_INSTANCE,
  value,
  create,
  read,
  createAttached,
  type Ec2Rule,
} from './ec2-world.contract.ts';

export function readingRules(rule: Ec2Rule): void {
  rule('ids that do not exist are missing from the answer', async (world) => {
    const subnets = value(await world.ec2.describeSubnets([world.subnetId, NO_SUBNET]));
    assert.deepEqual(
      subnets.map(({ subnetId }) => subnetId),
      [world.subnetId],
    );
    assert.deepEqual(value(await world.ec2.describeSecurityGroups([NO_GROUP])), []);
    assert.deepEqual(value(await world.ec2.describeInstances([NO_INSTANCE])), []);
    assert.deepEqual(value(await world.ec2.describeNetworkInterfaces({ eniIds: [NO_ENI] })), []);
    assert.deepEqual(value(await world.ec2.describeInstanceTypes(['x0.none'])), []);
  });

  rule('subnets are found by VPC and tags, all of which must match, letter by letter', async (world) => {
    const find = async (tags: Readonly<Record<string, string>>, vpcIds = [world.vpcId]): Promise<unknown> =>
      value(await world.ec2.findSubnets({ vpcIds, tags })).map(({ subnetId }) => subnetId);
    assert.deepEqual(await find({ purpose: 'pods' }), [world.smallSubnetId]);
    assert.deepEqual(await find({ purpose: 'pods', team: 'a*' }), [world.smallSubnetId]);
    assert.deepEqual(await find({ purpose: 'pods', team: 'a' }), []);
    assert.deepEqual(await find({ purpose: 'p*' }), []);
    assert.deepEqual(await find({ purpose: 'pods' }, [NO_VPC]), []);
  });

  rule('every filter given must match', async (world) => {
    const mine = await createAttached(world, 1);
    await create(world, { tags: { other: 'one' } });
    const byBoth = await world.ec2.describeNetworkInterfaces({
      instanceIds: [world.instanceId],
      tag: { key: 'purpose', value: 'contract' },
    });
    assert.deepEqual(
      value(byBoth).map(({ eniId }) => eniId),
      [mine.eniId],
    );
    const byNeither = await world.ec2.describeNetworkInterfaces({
      instanceIds: [world.instanceId],
      tag: { key: 'other', value: 'one' },
    });
    assert.deepEqual(value(byNeither), []);
  });

  rule('ENIs are found by their VPC, and by any of several values of a tag', async (world) => {
    const found = async (filter: EniFilter): Promise<ReadonlySet<string>> =>
      new Set(value(await world.ec2.describeNetworkInterfaces(filter)).map(({ eniId }) => eniId));
    const tagged = async (turn: string): Promise<string> => (await create(world, { tags: { turn } })).eniId;
    const [one, two, three] = [await tagged('one'), await tagged('two'), await tagged('three')];
    const [instance] = value(await world.ec2.describeInstances([world.instanceId]));
    assert.deepEqual(
      await found({ vpcIds: [world.vpcId] }),
      new Set([one, two, three, instance?.primaryEniId]),
    );
    const twoOfThem = { tag: { key: 'turn', value: ['one', 'three', 'none'] } };
    assert.deepEqual(await found(twoOfThem), new Set([one, three]));
    assert.deepEqual(await found({ ...twoOfThem, vpcIds: ['vpc-0123456789abcdef0' as VpcId] }), new Set());
  });

  rule('an instance names its primary ENI, which is attached to it at device index 0', async (world) => {
    const [instance] = value(await world.ec2.describeInstances([world.instanceId]));
    assert.ok(instance);
    assert.equal(instance.state, 'running');
    assert.equal(instance.instanceType, world.limits.instanceType);
    const eni = await read(world, instance.primaryEniId);
    assert.equal(eni?.attachment?.deviceIndex, 0);
    assert.equal(eni?.primaryAddress, instance.primaryAddress);
    assert.equal(eni?.subnetId, instance.primarySubnetId);
    assert.deepEqual(eni?.securityGroupIds, instance.primarySecurityGroupIds);
  });

  rule('groups, VPCs and instance types are described', async (world) => {
    assert.deepEqual(value(await world.ec2.describeSecurityGroups([world.securityGroupId])), [
      { securityGroupId: world.securityGroupId, vpcId: world.vpcId },
    ]);
    const [vpc] = value(await world.ec2.describeVpcs([world.vpcId]));
    assert.ok(vpc && vpc.cidrs.length > 0);
    assert.deepEqual(value(await world.ec2.describeInstanceTypes([world.limits.instanceType])), [
      world.limits,
    ]);
  });
}
