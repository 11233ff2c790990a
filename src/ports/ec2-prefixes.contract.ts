// What every Ec2 must do with prefixes: /28 blocks of IPv4, /80 blocks of IPv6.

import assert from 'node:assert/strict';
import {
  blockOf,
  cidrContainsCidr,
  cidrOverlaps,
  cidrPrefixLength,
  firstAddress,
} from '../domain/address/cidr.ts';
import type { Cidr } from '../domain/address/ip.ts';
import type { Ec2Eni } from './ec2.ts';
import {
  attach,
  create,
  createAttached,
  creation,
  type Ec2ContractWorld,
  type Ec2Rule,
  eventually,
  failsWith,
  freeCount,
  NO_ENI,
  read,
  value,
} from './ec2-world.contract.ts';

const IPV4_PREFIX_LENGTH = 28;
const IPV6_PREFIX_LENGTH = 80;

export function prefixRules(rule: Ec2Rule): void {
  ipv4Rules(rule);
  ipv6Rules(rule);
}

/** `count` different blocks of this length, all within `outer`. */
function areBlocks(
  prefixes: readonly Cidr[],
  want: { readonly count: number; readonly length: number; readonly outer: Cidr },
): void {
  assert.equal(new Set(prefixes).size, want.count);
  for (const prefix of prefixes) {
    assert.equal(cidrPrefixLength(prefix), want.length);
    assert.equal(blockOf(firstAddress(prefix), want.length), prefix);
    assert.ok(cidrContainsCidr(want.outer, prefix), `${prefix} lies in ${want.outer}`);
  }
}

async function cidrsOf(world: Ec2ContractWorld): Promise<{ readonly cidr: Cidr; readonly ipv6Cidr: Cidr }> {
  const [subnet] = value(await world.ec2.describeSubnets([world.subnetId]));
  assert.ok(subnet?.ipv6Cidr !== undefined, 'the subnet has an IPv6 block');
  return { cidr: subnet.cidr, ipv6Cidr: subnet.ipv6Cidr };
}

const ofPrefixes = { secondaryAddressCount: 0, prefixCount: 2 } as const;

/** Attached, with its primary address alone. */
async function createEmpty(world: Ec2ContractWorld): Promise<Ec2Eni> {
  const eni = await create(world, { secondaryAddressCount: 0 });
  value(await attach(world, eni.eniId, 1));
  return eni;
}

function ipv4Rules(rule: Ec2Rule): void {
  rule(
    'a new ENI has the prefixes that were asked for, and 16 addresses fewer are free for each',
    async (world) => {
      const { subnetId } = world;
      const before = (await freeCount(world, subnetId)) ?? 0;
      const eni = await create(world, ofPrefixes);
      const { cidr } = await cidrsOf(world);
      areBlocks(eni.prefixes, { count: 2, length: IPV4_PREFIX_LENGTH, outer: cidr });
      assert.deepEqual([eni.addresses, eni.ipv6Prefixes], [[], []]);
      assert.ok(!eni.prefixes.includes(blockOf(eni.primaryAddress, IPV4_PREFIX_LENGTH)));
      await eventually(world, '33 fewer', async () => (await freeCount(world, subnetId)) === before - 33);
      assert.deepEqual((await read(world, eni.eniId))?.prefixes, eni.prefixes);
      value(await world.ec2.deleteNetworkInterface({ eniId: eni.eniId }));
      await eventually(world, 'free again', async () => (await freeCount(world, subnetId)) === before);
    },
  );

  rule('addresses and prefixes in one create are refused', async (world) => {
    const both = await world.ec2.createNetworkInterface(
      creation(world, { secondaryAddressCount: 1, prefixCount: 1 }),
    );
    failsWith(both, 'invalid', 'InvalidParameterCombination');
  });

  rule('the same client token with another number of prefixes is refused', async (world) => {
    const request = creation(world, ofPrefixes);
    value(await world.ec2.createNetworkInterface(request));
    const other = await world.ec2.createNetworkInterface({ ...request, prefixCount: 1 });
    failsWith(other, 'invalid', 'IdempotentParameterMismatch');
  });

  rule('assigned prefixes are answered, are on the ENI, and overlap with nothing', async (world) => {
    const { eniId } = await createEmpty(world);
    const first = value(await world.ec2.assignPrefixes({ eniId, family: 4, count: 2 }));
    const second = value(await world.ec2.assignPrefixes({ eniId, family: 4, count: 1 }));
    const all = [...first, ...second];
    areBlocks(all, { count: 3, length: IPV4_PREFIX_LENGTH, outer: (await cidrsOf(world)).cidr });
    await eventually(world, 'seen', async () => (await read(world, eniId))?.prefixes.length === 3);
    assert.deepEqual(new Set((await read(world, eniId))?.prefixes), new Set(all));
    assert.ok(!all.some((one, at) => all.some((other, there) => at !== there && cidrOverlaps(one, other))));
  });

  rule('a prefix takes the place of one address, whether addresses or prefixes came first', async (world) => {
    const { eniId, addresses } = await createAttached(world, 1);
    const room = world.limits.ipv4PerEniMax - 1 - addresses.length;
    const over = await world.ec2.assignPrefixes({ eniId, family: 4, count: room + 1 });
    failsWith(over, 'eni-full', 'PrivateIpAddressLimitExceeded');
    const fitting = value(await world.ec2.assignPrefixes({ eniId, family: 4, count: room }));
    assert.equal(fitting.length, room);
    const address = await world.ec2.assignPrivateIpAddresses({ eniId, count: 1 });
    failsWith(address, 'eni-full', 'PrivateIpAddressLimitExceeded');
  });

  rule('without a whole free block there is no prefix, however many addresses are free', async (world) => {
    const subnetId = world.smallSubnetId;
    const made = await world.ec2.createNetworkInterface(
      creation(world, { ...ofPrefixes, subnetId, prefixCount: 1 }),
    );
    failsWith(made, 'no-free-block', 'InsufficientCidrBlocks');
    assert.equal(await freeCount(world, subnetId), 11);
    const { eniId } = await create(world, { subnetId, secondaryAddressCount: 0 });
    const assigned = await world.ec2.assignPrefixes({ eniId, family: 4, count: 1 });
    failsWith(assigned, 'no-free-block', 'InsufficientCidrBlocks');
  });

  rule('unassigned prefixes leave the ENI and are free again, all of them or none', async (world) => {
    const { subnetId } = world;
    const { eniId, prefixes } = await create(world, ofPrefixes);
    const [one, other] = prefixes;
    assert.ok(one !== undefined && other !== undefined);
    const before = (await freeCount(world, subnetId)) ?? 0;
    value(await world.ec2.unassignPrefixes({ eniId, prefixes: [one] }));
    await eventually(world, 'gone', async () => (await read(world, eniId))?.prefixes.length === 1);
    await eventually(world, 'free', async () => (await freeCount(world, subnetId)) === before + 16);
    const again = await world.ec2.unassignPrefixes({ eniId, prefixes: [one, other] });
    failsWith(again, 'not-found', 'InvalidParameterValue');
    assert.deepEqual((await read(world, eniId))?.prefixes, [other]);
  });

  rule('no ENI, no prefix', async (world) => {
    for (const family of [4, 6] as const) {
      const assigned = await world.ec2.assignPrefixes({ eniId: NO_ENI, family, count: 1 });
      failsWith(assigned, 'not-found', 'InvalidNetworkInterfaceID.NotFound');
    }
  });
}

function ipv6Rules(rule: Ec2Rule): void {
  rule('a subnet tells its IPv6 block, and a VPC its own, when they have one', async (world) => {
    const { ipv6Cidr } = await cidrsOf(world);
    assert.equal(cidrPrefixLength(ipv6Cidr), 64);
    const [vpc] = value(await world.ec2.describeVpcs([world.vpcId]));
    assert.ok(vpc?.cidrs.some((cidr) => cidrContainsCidr(cidr, ipv6Cidr)));
    const [other] = value(await world.ec2.describeSubnets([world.smallSubnetId]));
    assert.ok(other !== undefined && !('ipv6Cidr' in other));
  });

  rule('a new ENI has IPv6 prefixes beside addresses, and they cost no IPv4 address', async (world) => {
    const before = (await freeCount(world, world.subnetId)) ?? 0;
    const eni = await create(world, { secondaryAddressCount: 2, ipv6PrefixCount: 1 });
    areBlocks(eni.ipv6Prefixes, {
      count: 1,
      length: IPV6_PREFIX_LENGTH,
      outer: (await cidrsOf(world)).ipv6Cidr,
    });
    assert.deepEqual([eni.addresses.length, eni.prefixes], [2, []]);
    assert.deepEqual((await read(world, eni.eniId))?.ipv6Prefixes, eni.ipv6Prefixes);
    await eventually(world, '3 fewer', async () => (await freeCount(world, world.subnetId)) === before - 3);
  });

  rule('IPv6 prefixes come and go beside IPv4 ones', async (world) => {
    const { eniId, prefixes } = await create(world, ofPrefixes);
    const added = value(await world.ec2.assignPrefixes({ eniId, family: 6, count: 2 }));
    areBlocks(added, { count: 2, length: IPV6_PREFIX_LENGTH, outer: (await cidrsOf(world)).ipv6Cidr });
    await eventually(world, 'seen', async () => (await read(world, eniId))?.ipv6Prefixes.length === 2);
    value(await world.ec2.unassignPrefixes({ eniId, prefixes: added.slice(0, 1) }));
    await eventually(world, 'gone', async () => (await read(world, eniId))?.ipv6Prefixes.length === 1);
    const again = await world.ec2.unassignPrefixes({ eniId, prefixes: added });
    failsWith(again, 'not-found', 'InvalidParameterValue');
    assert.deepEqual((await read(world, eniId))?.prefixes, prefixes);
  });

  rule('an ENI holds no more IPv6 prefixes than its type allows IPv6 addresses', async (world) => {
    const { eniId } = await createEmpty(world);
    const count = world.limits.ipv6PerEniMax + 1;
    const over = await world.ec2.assignPrefixes({ eniId, family: 6, count });
    assert.ok(over.kind === 'failed' && over.failure.kind === 'eni-full', JSON.stringify(over));
    const fitting = value(await world.ec2.assignPrefixes({ eniId, family: 6, count: count - 1 }));
    assert.equal(fitting.length, count - 1);
  });

  rule('a subnet without an IPv6 block gives no IPv6 prefix', async (world) => {
    const subnetId = world.smallSubnetId;
    const made = await world.ec2.createNetworkInterface(creation(world, { subnetId, ipv6PrefixCount: 1 }));
    failsWith(made, 'invalid', 'InvalidParameterValue');
    const { eniId } = await create(world, { subnetId });
    const assigned = await world.ec2.assignPrefixes({ eniId, family: 6, count: 1 });
    failsWith(assigned, 'invalid', 'InvalidParameterValue');
  });
}
