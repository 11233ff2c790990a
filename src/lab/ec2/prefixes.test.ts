// Prefixes in the simulated EC2, beyond what its port can say: fragmentation, instance types, troubles, what is told.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { cidrContains, cidrContainsCidr, nthAddress } from '../../domain/address/cidr.ts';
import { freeBlockCount } from '../../domain/address/free-blocks.ts';
import type { Cidr } from '../../domain/address/ip.ts';
import { reservedAddresses } from '../../domain/address/subnet.ts';
import type { InstanceLimits } from '../../domain/instance/instance-limits.ts';
import { M5_LARGE } from '../../domain/instance/testing.ts';
import type { CreateEniRequest, Ec2Eni, Ec2Outcome } from '../../ports/ec2.ts';
import { value } from '../../ports/ec2-world.contract.ts';
import type { Ec2Fault } from './ec2-fault.ts';
import { createEc2World, type Ec2World, eniRequest, must } from './testing.ts';

const codeOf = (outcome: Ec2Outcome<unknown>): string =>
  outcome.kind === 'failed' ? `${outcome.failure.kind} ${outcome.failure.code}` : outcome.kind;

describe('a fragmented subnet', () => {
  test('has thousands of free addresses and no prefix, until one block is whole again', async () => {
    const world = createEc2World();
    const { admin, truth } = world.sim;
    const { subnetId } = must(
      admin.createSubnet({ vpcId: world.vpcId, zone: 'a', cidr: '10.0.16.0/20' as Cidr }),
    );
    // Of 256 blocks the first and the last hold addresses that AWS keeps.
    assert.equal(truth.subnet(subnetId)?.freePrefixCount, 254);
    assert.equal(must(admin.fragmentSubnet(subnetId)), 254);
    assert.equal(truth.subnet(subnetId)?.freeAddressCount, 4096 - 5 - 254);
    // Whoever looks at the ENIs of the subnet finds no free block either.
    const used = truth.enis().flatMap((eni) => [eni.primaryAddress, ...eni.addresses]);
    const reserved = reservedAddresses('10.0.16.0/20' as Cidr);
    assert.equal(freeBlockCount({ subnet: '10.0.16.0/20' as Cidr, used, reserved, blockLength: 28 }), 0);
    const create = (): Promise<Ec2Outcome<unknown>> =>
      world.run(() => world.ec2.createNetworkInterface(eniRequest(world, { subnetId, prefixCount: 1 })));
    assert.equal(codeOf(await create()), 'no-free-block InsufficientCidrBlocks');
    const singles = eniRequest(world, { subnetId, secondaryAddressCount: 9 });
    value(await world.run(() => world.ec2.createNetworkInterface(singles)));
    assert.equal(must(admin.defragmentSubnet(subnetId)), 254);
    assert.equal(codeOf(await create()), 'ok');
    assert.deepEqual(truth.brokenRules(), []);
  });

  test('comes about by itself where single addresses are drawn from all over', async () => {
    const world = createEc2World();
    const { subnetId } = world;
    for (let n = 0; n < 4; n++) {
      const singles = eniRequest(world, { subnetId, secondaryAddressCount: 9 });
      value(await world.run(() => world.ec2.createNetworkInterface(singles)));
    }
    const subnet = world.sim.truth.subnet(subnetId);
    assert.ok(subnet !== undefined && subnet.freeAddressCount > 200);
    assert.ok(subnet.freePrefixCount < 4, `${subnet.freePrefixCount} of 14 blocks are whole`);
  });
});

describe('a subnet CIDR reservation of type prefix', () => {
  const reserved = (block: string): Ec2World => {
    const world = createEc2World({ randomAddresses: false });
    must(world.sim.admin.reserveForPrefixes(world.subnetId, block as Cidr));
    return world;
  };
  const create = (world: Ec2World, change: Partial<CreateEniRequest>): Promise<Ec2Outcome<Ec2Eni>> =>
    world.run(() => world.ec2.createNetworkInterface(eniRequest(world, change)));

  test('its addresses are not counted as free, and no single address is taken of them', async () => {
    const world = reserved('10.0.1.128/25');
    const [subnet] = value(await world.run(() => world.ec2.describeSubnets([world.subnetId])));
    // 128 outside, of which AWS keeps four and the instance has one; the last of AWS's five lies inside.
    assert.equal(subnet?.freeAddressCount, 128 - 4 - 1);
    for (let n = 0; n < 12; n++) {
      const { addresses } = value(await create(world, { secondaryAddressCount: 9 }));
      assert.ok(addresses.every((one) => !cidrContains('10.0.1.128/25' as Cidr, one)));
    }
    assert.equal(
      codeOf(await create(world, { secondaryAddressCount: 9 })),
      'subnet-full InsufficientFreeAddressesInSubnet',
    );
    assert.equal(codeOf(await create(world, { prefixCount: 3 })), 'ok', 'blocks are free all the same');
  });

  test('prefixes are taken of it, and of nothing else', async () => {
    const world = reserved('10.0.1.128/26');
    const { prefixes, eniId } = value(await create(world, { prefixCount: 4 }));
    assert.ok(prefixes.every((one) => cidrContainsCidr('10.0.1.128/26' as Cidr, one)));
    assert.equal(codeOf(await create(world, { prefixCount: 1 })), 'no-free-block InsufficientCidrBlocks');
    value(await world.run(() => world.ec2.unassignPrefixes({ eniId, prefixes: prefixes.slice(0, 1) })));
    assert.deepEqual(value(await create(world, { prefixCount: 1 })).prefixes, prefixes.slice(0, 1));
    assert.deepEqual(world.sim.truth.brokenRules(), []);
  });

  test('an address in it that was in use before stays so, and joins it once it is given back', async () => {
    const world = createEc2World();
    const eni = value(await create(world, { secondaryAddressCount: 40 }));
    must(world.sim.admin.reserveForPrefixes(world.subnetId, '10.0.1.0/24' as Cidr));
    assert.equal(world.sim.truth.subnet(world.subnetId)?.freeAddressCount, 0);
    const before = world.sim.truth.subnet(world.subnetId)?.freePrefixCount ?? 0;
    value(await world.run(() => world.ec2.deleteNetworkInterface({ eniId: eni.eniId })));
    const after = world.sim.truth.subnet(world.subnetId);
    assert.equal(after?.freeAddressCount, 0);
    assert.ok((after?.freePrefixCount ?? 0) > before);
    assert.deepEqual(world.sim.truth.brokenRules(), []);
  });

  test('is a block of /28 or larger within the subnet', () => {
    const { sim, subnetId } = createEc2World();
    for (const block of ['10.0.1.0/29', '10.0.2.0/24', '10.0.0.0/16'])
      assert.ok(!sim.admin.reserveForPrefixes(subnetId, block as Cidr).ok, block);
  });
});

describe('instance types and prefixes', () => {
  const XEN: InstanceLimits = { ...M5_LARGE, instanceType: 'm4.large', hypervisor: 'xen' };
  const cases: readonly [string, Partial<CreateEniRequest>][] = [
    ['IPv4', { prefixCount: 1 }],
    ['IPv6', { ipv6PrefixCount: 1 }],
  ];
  for (const [family, change] of cases) {
    test(`an instance that is not built on Nitro has no ${family} prefixes`, async () => {
      const world = createEc2World();
      world.sim.admin.setInstanceLimits([XEN]);
      const { instanceId } = must(
        world.sim.admin.launchInstance({
          instanceType: 'm4.large',
          subnetId: world.subnetId,
          securityGroupIds: [],
        }),
      );
      const attach = async (making: Partial<CreateEniRequest>, deviceIndex: number): Promise<string> => {
        const made = await world.run(() => world.ec2.createNetworkInterface(eniRequest(world, making)));
        const { eniId } = value(made);
        const place = { eniId, instanceId, deviceIndex, networkCardIndex: 0 };
        const code = codeOf(await world.run(() => world.ec2.attachNetworkInterface(place)));
        if (code !== 'ok') return code;
        return codeOf(
          await world.run(() =>
            world.ec2.assignPrefixes({ eniId, family: family === 'IPv4' ? 4 : 6, count: 1 }),
          ),
        );
      };
      assert.equal(await attach(change, 1), 'invalid InvalidParameterValue');
      assert.equal(await attach({}, 1), 'invalid InvalidParameterValue');
    });
  }

  test('an ENI with more prefixes than the type allows is not attached', async () => {
    const world = createEc2World();
    const made = await world.run(() =>
      world.ec2.createNetworkInterface(eniRequest(world, { ipv6PrefixCount: 11 })),
    );
    const place = {
      eniId: value(made).eniId,
      instanceId: world.instanceId,
      deviceIndex: 1,
      networkCardIndex: 0,
    };
    const refused = await world.run(() => world.ec2.attachNetworkInterface(place));
    assert.equal(codeOf(refused), 'eni-full PrivateIpAddressLimitExceeded');
  });
});

describe("a subnet's IPv6 block", () => {
  const BLOCK = '2600:1f14:0:ab07::/64' as Cidr;

  test('comes to a subnet that has none, and prefixes are of it; it has one at most, and no two subnets share one', async () => {
    const world = createEc2World();
    const { admin, truth } = world.sim;
    assert.equal(admin.associateIpv6Block(world.subnetId, BLOCK).ok, false, 'it has one already');
    const taken = truth.subnet(world.subnetId)?.ipv6Cidr;
    assert.ok(taken !== undefined && !admin.associateIpv6Block(world.smallSubnetId, taken).ok);
    assert.ok(admin.associateIpv6Block(world.smallSubnetId, BLOCK).ok);
    assert.equal(truth.subnet(world.smallSubnetId)?.ipv6Cidr, BLOCK);
    const making = eniRequest(world, { subnetId: world.smallSubnetId, ipv6PrefixCount: 1 });
    const [prefix] = value(await world.run(() => world.ec2.createNetworkInterface(making))).ipv6Prefixes;
    assert.ok(prefix !== undefined && cidrContainsCidr(BLOCK, prefix));
  });

  test('does not go while an ENI has addresses of it; then there are no prefixes', async () => {
    const world = createEc2World();
    const { admin, truth } = world.sim;
    const making = eniRequest(world, { ipv6PrefixCount: 1 });
    const { eniId, ipv6Prefixes } = value(await world.run(() => world.ec2.createNetworkInterface(making)));
    const refused = admin.disassociateIpv6Block(world.subnetId);
    assert.ok(!refused.ok && refused.error.code === 'DependencyViolation');
    assert.ok(admin.unassignPrefixes(eniId, ipv6Prefixes).ok);
    assert.ok(admin.disassociateIpv6Block(world.subnetId).ok);
    assert.ok(!('ipv6Cidr' in (truth.subnet(world.subnetId) ?? {})));
    const again = await world.run(() => world.ec2.assignPrefixes({ eniId, family: 6, count: 1 }));
    assert.equal(codeOf(again), 'invalid InvalidParameterValue');
  });
});

describe('what is told of prefixes', () => {
  test('their addresses have the ENI as holder, and changes list those of IPv4 one by one', async () => {
    const world = createEc2World();
    const { truth } = world.sim;
    const told: string[] = [];
    world.sim.onChange((change) => {
      if (change.kind === 'AddressesChanged') {
        told.push(`${change.assigned.length} more, ${change.unassigned.length} fewer`);
      }
    });
    const created = await world.run(() =>
      world.ec2.createNetworkInterface(eniRequest(world, { ipv6PrefixCount: 1 })),
    );
    const { eniId, ipv6Prefixes } = value(created);
    const prefixes = value(await world.run(() => world.ec2.assignPrefixes({ eniId, family: 4, count: 1 })));
    const [prefix] = prefixes;
    const [ipv6Prefix] = ipv6Prefixes;
    assert.ok(prefix !== undefined && ipv6Prefix !== undefined);
    assert.equal(truth.eniHolding(world.vpcId, nthAddress(prefix, 7))?.eniId, eniId);
    assert.equal(truth.eniHolding(world.vpcId, nthAddress(ipv6Prefix, 1n << 32n))?.eniId, eniId);
    value(await world.run(() => world.ec2.unassignPrefixes({ eniId, prefixes })));
    assert.equal(truth.eniHolding(world.vpcId, nthAddress(prefix, 7)), undefined);
    assert.deepEqual(told, ['16 more, 0 fewer', '0 more, 16 fewer']);
  });
});

describe('troubles reach calls about prefixes as they do others', () => {
  const assign = (world: Ec2World, family: 4 | 6): Promise<Ec2Outcome<unknown>> =>
    world.run(async () => {
      const made = value(await world.ec2.createNetworkInterface(eniRequest(world, {})));
      return world.ec2.assignPrefixes({ eniId: made.eniId, family, count: 1 });
    });
  const met: readonly { readonly family: 4 | 6; readonly fault: Ec2Fault; readonly want: string }[] = [
    {
      family: 6,
      fault: { action: 'AssignIpv6Addresses', effect: { kind: 'DropAnswer' }, odds: 1 },
      want: 'unknown',
    },
    {
      family: 6,
      fault: { action: 'AssignIpv6Addresses', effect: { kind: 'Throttle' }, odds: 1 },
      want: 'throttled RequestLimitExceeded',
    },
    {
      family: 4,
      fault: {
        action: 'AssignPrivateIpAddresses',
        effect: { kind: 'Error', code: 'InsufficientCidrBlocks' },
        odds: 1,
      },
      want: 'no-free-block InsufficientCidrBlocks',
    },
    {
      family: 4,
      fault: { action: 'AssignIpv6Addresses', effect: { kind: 'Throttle' }, odds: 1 },
      want: 'ok',
    },
  ];
  for (const { family, fault, want } of met) {
    test(`${fault.action} with ${fault.effect.kind}, and IPv${family}: ${want}`, async () => {
      const world = createEc2World();
      world.sim.admin.setFaults([fault]);
      assert.equal(codeOf(await assign(world, family)), want);
    });
  }

  test('a lost answer is a prefix assigned all the same', async () => {
    const world = createEc2World();
    world.sim.admin.setFaults([
      { action: 'AssignIpv6Addresses', effect: { kind: 'DropAnswer' }, odds: 1, times: 1 },
    ]);
    assert.equal(codeOf(await assign(world, 6)), 'unknown');
    assert.equal(world.sim.truth.enis().filter((eni) => eni.ipv6Prefixes.length === 1).length, 1);
  });

  test('an ENI that was just made may not be known yet', async () => {
    const world = createEc2World({ notFoundOdds: 1 });
    assert.equal(codeOf(await assign(world, 4)), 'not-found InvalidNetworkInterfaceID.NotFound');
  });

  test('each action has a bucket of its own', async () => {
    const world = createEc2World({ otherSpendersPerSecond: 5 });
    world.sim.admin.spendTokens('AssignIpv6Addresses', 100);
    assert.equal(codeOf(await assign(world, 6)), 'throttled RequestLimitExceeded');
    assert.equal(codeOf(await assign(world, 4)), 'ok');
  });
});

describe("a subnet's IPv6 block", () => {
  const cases: readonly [string, string][] = [
    ['is a /64', '2600:1f14:0:ab10::/60'],
    ['lies in the VPC', '2600:1f14:0:cd00::/64'],
    ['is of IPv6', '10.0.8.0/24'],
    ['is no other subnet’s', '2600:1f14:0:ab01::/64'],
  ];
  for (const [rule, ipv6Cidr] of cases) {
    test(rule, () => {
      const { sim, vpcId } = createEc2World();
      const made = sim.admin.createSubnet({
        vpcId,
        zone: 'a',
        cidr: '10.0.8.0/24' as Cidr,
        ipv6Cidr: ipv6Cidr as Cidr,
      });
      assert.ok(!made.ok && made.error.code === 'InvalidSubnet.Range');
    });
  }
});
