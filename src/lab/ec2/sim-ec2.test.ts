// The simulated EC2, held to the contract of its port, and its own troubles.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { EniId, SecurityGroupId } from '../../domain/ids.ts';
import type { CreateEniRequest, Ec2Eni, Ec2Outcome } from '../../ports/ec2.ts';
import { ec2Contract } from '../../ports/ec2.contract.ts';
import { value } from '../../ports/ec2-world.contract.ts';
import { calmEc2, STALENESS_MAX_MS } from './ec2-profile.ts';
import { createEc2World, type Ec2World, eniRequest, must } from './testing.ts';

ec2Contract('simulated EC2', async () => {
  const world = createEc2World();
  return { ...world, clock: world.kernel.clock('test') };
});

const request = (world: Ec2World, change: Partial<CreateEniRequest> = {}): CreateEniRequest =>
  eniRequest(world, {
    clientToken: 'token',
    securityGroupIds: [world.securityGroupId],
    secondaryAddressCount: 1,
    ...change,
  });

const createAttached = async (world: Ec2World, clientToken: string, deviceIndex = 1): Promise<Ec2Eni> => {
  const eni = value(await world.ec2.createNetworkInterface(request(world, { clientToken })));
  value(
    await world.ec2.attachNetworkInterface({
      eniId: eni.eniId,
      instanceId: world.instanceId,
      deviceIndex,
      networkCardIndex: 0,
    }),
  );
  await world.kernel.clock('test').sleep(3000, 'attached');
  return eni;
};

const sleep = (world: Ec2World, ms: number): Promise<void> =>
  world.run(() => world.kernel.clock('test').sleep(ms, 'wait'));

describe('troubles of the simulated EC2', () => {
  test('a lost answer is unknown, and the effect is there', async () => {
    const world = createEc2World({ lostAnswerOdds: 1 });
    const outcome = await world.run(() => world.ec2.createNetworkInterface(request(world)));
    assert.equal(outcome.kind, 'unknown');
    assert.equal(world.sim.truth.enis().length, 2);
  });

  test('a lost request is unknown too, and nothing is there', async () => {
    const world = createEc2World({ lostRequestOdds: 1 });
    const before = world.kernel.now();
    const outcome = await world.run(() => world.ec2.createNetworkInterface(request(world)));
    assert.equal(outcome.kind, 'unknown');
    assert.equal(world.sim.truth.enis().length, 1);
    assert.equal(world.kernel.now() - before, calmEc2.timeoutMs, 'the client waits as long as its timeout');
  });

  test('a retry with the token of a lost answer finds the ENI of the first try', async () => {
    const profile = { lostAnswerOdds: 1 };
    const world = createEc2World(profile);
    await world.run(async () => {
      assert.equal((await world.ec2.createNetworkInterface(request(world))).kind, 'unknown');
      profile.lostAnswerOdds = 0;
      const retried = value(await world.ec2.createNetworkInterface(request(world)));
      assert.ok(world.sim.truth.eni(retried.eniId));
      assert.equal(world.sim.truth.enis().length, 2, 'the primary ENI, and one more');
    });
  });

  test('a token replays its first answer even when the ENI is gone: a token must never serve a second wish', async () => {
    const world = createEc2World();
    await world.run(async () => {
      const first = value(await world.ec2.createNetworkInterface(request(world)));
      value(await world.ec2.deleteNetworkInterface({ eniId: first.eniId }));
      const replayed = value(await world.ec2.createNetworkInterface(request(world)));
      assert.equal(replayed.eniId, first.eniId);
      assert.equal(world.sim.truth.eni(first.eniId), undefined);
    });
  });

  test('throttling, server errors and missing permissions have their kinds and codes, and no effect', async () => {
    const cases = [
      { profile: { throttleOdds: 1 }, kind: 'throttled', code: 'RequestLimitExceeded' },
      { profile: { serverErrorOdds: 1 }, kind: 'server-error', code: 'InternalError' },
    ] as const;
    for (const { profile, kind, code } of cases) {
      const world = createEc2World(profile);
      const outcome = await world.run(() => world.ec2.createNetworkInterface(request(world)));
      assert.ok(outcome.kind === 'failed');
      assert.deepEqual([outcome.failure.kind, outcome.failure.code], [kind, code]);
      assert.equal(world.sim.truth.enis().length, 1);
    }
    const world = createEc2World();
    world.sim.admin.denyAction('CreateNetworkInterface');
    const denied = await world.run(() => world.ec2.createNetworkInterface(request(world)));
    assert.ok(denied.kind === 'failed');
    assert.deepEqual([denied.failure.kind, denied.failure.code], ['unauthorized', 'UnauthorizedOperation']);
    assert.match(denied.failure.message, /ec2:CreateNetworkInterface/);
    world.sim.admin.allowAction('CreateNetworkInterface');
    value(await world.run(() => world.ec2.createNetworkInterface(request(world))));
  });

  test('a burst beyond the bucket is throttled, action by action', async () => {
    const world = createEc2World({ latencyMinMs: 20, latencyMaxMs: 20 });
    await world.run(async () => {
      const burst = await Promise.all(
        Array.from({ length: 51 }, () =>
          world.ec2.detachNetworkInterface({ attachmentId: 'eni-attach-1' as never }),
        ),
      );
      const codes = burst.map((each) => (each.kind === 'failed' ? each.failure.code : each.kind));
      assert.equal(codes.filter((code) => code === 'InvalidAttachmentID.NotFound').length, 50);
      assert.equal(codes.filter((code) => code === 'RequestLimitExceeded').length, 1);
      assert.equal((await world.ec2.describeSubnets([world.subnetId])).kind, 'ok');
    });
  });

  test('NotFound right after a create is not the truth, and ends', async () => {
    const world = createEc2World({ notFoundOdds: 1, notFoundMs: 5000 });
    await world.run(async () => {
      const { eniId } = value(await world.ec2.createNetworkInterface(request(world)));
      const early = await world.ec2.assignPrivateIpAddresses({ eniId, count: 1 });
      assert.ok(early.kind === 'failed' && early.failure.code === 'InvalidNetworkInterfaceID.NotFound');
      await world.kernel.clock('test').sleep(5000, 'wait');
      assert.equal((await world.ec2.assignPrivateIpAddresses({ eniId, count: 1 })).kind, 'ok');
    });
  });

  test('the answer to a caller that has died reaches nobody, and its request takes effect all the same', async () => {
    const world = createEc2World();
    let isAnswered = false;
    const caller = world.sim.client({ clock: world.kernel.clock('controller') });
    void caller.createNetworkInterface(request(world)).then(() => {
      isAnswered = true;
    });
    world.kernel.clock('test').timer(1, 'crash', () => world.kernel.kill('controller'));
    await sleep(world, 20_000);
    assert.equal(isAnswered, false);
    assert.equal(world.sim.truth.enis().length, 2);
  });
});

describe('stale describes', () => {
  test('go back in time, and never further than the bound', async () => {
    const staleMs = 8000;
    const world = createEc2World({ staleOdds: 1, staleMs, latencyMinMs: 20, latencyMaxMs: 20 });
    await world.run(async () => {
      const { eniId } = value(await world.ec2.createNetworkInterface(request(world)));
      const seen: boolean[] = [];
      const createdAt = world.kernel.now();
      for (let n = 0; n < 60; n++) {
        const isSeen = value(await world.ec2.describeNetworkInterfaces({ eniIds: [eniId] })).length === 1;
        if (world.kernel.now() - createdAt > staleMs + 40) assert.ok(isSeen, `missed after ${n} describes`);
        seen.push(isSeen);
        await world.kernel.clock('test').sleep(180, 'poll');
      }
      const firstSeen = seen.indexOf(true);
      assert.ok(firstSeen >= 0 && seen.lastIndexOf(false) > firstSeen, 'seen, and then not seen again');
    });
  });

  test('no profile makes them older than the bound that overlays rely on', async () => {
    const world = createEc2World({ staleOdds: 1, staleMs: STALENESS_MAX_MS * 100 });
    const { eniId } = await world.run(async () =>
      value(await world.ec2.createNetworkInterface(request(world))),
    );
    await sleep(world, STALENESS_MAX_MS);
    for (let n = 0; n < 50; n++) {
      const seen = await world.run(() => world.ec2.describeNetworkInterfaces({ eniIds: [eniId] }));
      assert.equal(value(seen).length, 1);
    }
  });

  test('show each object at its own age where the profile says so', async () => {
    const world = createEc2World({ staleOdds: 1, staleMs: 15_000, stalePerObject: true });
    await world.run(async () => {
      const made = await Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          world.ec2.createNetworkInterface(request(world, { clientToken: `t${n}`, tags: { a: 'b' } })),
        ),
      );
      assert.ok(made.every(({ kind }) => kind === 'ok'));
      await world.kernel.clock('test').sleep(7000, 'wait');
      const seen = value(await world.ec2.describeNetworkInterfaces({ tag: { key: 'a', value: 'b' } }));
      assert.ok(seen.length > 0 && seen.length < 20, `${seen.length} of 20 seen`);
    });
  });

  test('lists come in no order that anybody may rely on, the same way for the same seed', async () => {
    const order = async (seed: number): Promise<string> => {
      const world = createEc2World({}, seed);
      for (let n = 0; n < 8; n++) {
        must(
          world.sim.admin.createForeignEni({ subnetId: world.subnetId, tags: { n: String(n), all: 'yes' } }),
        );
      }
      const seen = await world.run(() =>
        world.ec2.describeNetworkInterfaces({ tag: { key: 'all', value: 'yes' } }),
      );
      return value(seen)
        .map(({ tags }) => tags['n'])
        .join('');
    };
    assert.equal(await order(1), await order(1));
    assert.notEqual(await order(1), await order(2));
    assert.notEqual(await order(1), '01234567');
  });
});

describe('what EC2 does by itself, and people to it', () => {
  test('a terminated instance takes with it the ENIs that are marked so, and leaves the others', async () => {
    const world = createEc2World();
    const [marked, left] = await world.run(async () => [
      await createAttached(world, 'marked', 1),
      await createAttached(world, 'left', 2),
    ]);
    assert.ok(marked && left);
    const attachmentId = world.sim.truth.eni(marked.eniId)?.attachment?.attachmentId;
    assert.ok(attachmentId);
    value(await world.run(() => world.ec2.setDeleteOnTermination({ eniId: marked.eniId, attachmentId })));
    must(world.sim.admin.terminateInstance(world.instanceId));
    assert.equal(world.sim.truth.instance(world.instanceId)?.state, 'shutting-down');
    await sleep(world, calmEc2.terminateMs);
    assert.equal(world.sim.truth.instance(world.instanceId)?.state, 'terminated');
    assert.deepEqual(
      world.sim.truth.enis().map(({ eniId, status }) => ({ eniId, status })),
      [{ eniId: left.eniId, status: 'available' }],
    );
    assert.deepEqual(world.sim.truth.brokenRules(), []);
  });

  test('nothing attaches to an instance that is on its way out, and an attach under way ends with it', async () => {
    const world = createEc2World({ attachMinMs: 30_000, attachMaxMs: 30_000, terminateMs: 5000 });
    await world.run(async () => {
      const attaching = value(await world.ec2.createNetworkInterface(request(world, { clientToken: 'a' })));
      const other = value(await world.ec2.createNetworkInterface(request(world, { clientToken: 'b' })));
      const attach = (eniId: EniId): Promise<Ec2Outcome<unknown>> =>
        world.ec2.attachNetworkInterface({
          eniId,
          instanceId: world.instanceId,
          deviceIndex: 1,
          networkCardIndex: 0,
        });
      value(await attach(attaching.eniId));
      must(world.sim.admin.terminateInstance(world.instanceId));
      const late = await attach(other.eniId);
      assert.ok(late.kind === 'failed' && late.failure.kind === 'not-found');
      await world.kernel.clock('test').sleep(60_000, 'wait');
      assert.equal(world.sim.truth.eni(attaching.eniId)?.status, 'available');
    });
  });

  test('a detach may hang for minutes, and ends', async () => {
    const world = createEc2World({ detachStuckOdds: 1, detachStuckMs: 120_000 });
    const { eniId } = await world.run(() => createAttached(world, 'a'));
    const attachmentId = world.sim.truth.eni(eniId)?.attachment?.attachmentId;
    assert.ok(attachmentId);
    value(await world.run(() => world.ec2.detachNetworkInterface({ attachmentId })));
    const again = await world.run(() => world.ec2.detachNetworkInterface({ attachmentId }));
    assert.ok(again.kind === 'failed' && again.failure.code === 'IncorrectState');
    await sleep(world, 60_000);
    assert.equal(world.sim.truth.eni(eniId)?.status, 'detaching');
    await sleep(world, 60_000);
    assert.equal(world.sim.truth.eni(eniId)?.status, 'available');
  });

  test('occupied addresses are nobody’s to assign, until they are given back', async () => {
    const world = createEc2World();
    const { admin, truth } = world.sim;
    assert.equal(must(admin.occupyAddresses(world.smallSubnetId, 1000)), 11);
    const full = await world.run(() =>
      world.ec2.createNetworkInterface(request(world, { subnetId: world.smallSubnetId })),
    );
    assert.ok(full.kind === 'failed' && full.failure.kind === 'subnet-full');
    assert.equal(must(admin.vacateAddresses(world.smallSubnetId, 2)), 2);
    value(
      await world.run(() =>
        world.ec2.createNetworkInterface(request(world, { subnetId: world.smallSubnetId })),
      ),
    );
    assert.equal(truth.subnet(world.smallSubnetId)?.occupiedCount, 9);
    assert.deepEqual(truth.brokenRules(), []);
  });

  test('an ENI takes at most five groups', async () => {
    const world = createEc2World();
    const groups = Array.from(
      { length: 6 },
      (_, n): SecurityGroupId =>
        must(world.sim.admin.createSecurityGroup({ vpcId: world.vpcId, name: `g${n}` })).securityGroupId,
    );
    const refused = await world.run(() =>
      world.ec2.createNetworkInterface(request(world, { securityGroupIds: groups })),
    );
    assert.ok(refused.kind === 'failed');
    assert.equal(refused.failure.code, 'SecurityGroupsPerInterfaceLimitExceeded');
  });

  test('groups and subnets in use are not deleted', () => {
    const world = createEc2World();
    const { admin } = world.sim;
    const group = admin.deleteSecurityGroup(world.securityGroupId);
    const subnet = admin.deleteSubnet(world.subnetId);
    assert.ok(!group.ok && group.error.code === 'DependencyViolation');
    assert.ok(!subnet.ok && subnet.error.code === 'DependencyViolation');
    must(admin.deleteSubnet(world.otherZoneSubnetId));
    assert.equal(world.sim.truth.subnet(world.otherZoneSubnetId), undefined);
  });

  test('changes are told in the same turn, with who made them', async () => {
    const world = createEc2World();
    const told: string[] = [];
    const subscription = world.sim.onChange((change) => {
      if (change.kind === 'EniCreated')
        assert.ok(world.sim.truth.eni(change.eni.eniId), 'the truth is ahead');
      told.push(
        `${change.actor} ${change.kind}${change.kind === 'AttachmentChanged' ? `:${change.status}` : ''}`,
      );
    });
    const { eniId } = await world.run(() => createAttached(world, 'a'));
    must(world.sim.admin.unassignAddresses(eniId, world.sim.truth.eni(eniId)?.addresses ?? []));
    must(world.sim.admin.deleteEni(eniId));
    assert.deepEqual(told, [
      'controller EniCreated',
      'controller AttachmentChanged:attaching',
      'ec2 AttachmentChanged:attached',
      'person AddressesChanged',
      'person AttachmentChanged:detached',
      'person EniDeleted',
    ]);
    subscription.close();
    must(world.sim.admin.createForeignEni({ subnetId: world.subnetId }));
    assert.equal(told.length, 6);
  });

  test('calls are counted by action and result', async () => {
    const world = createEc2World();
    await world.run(async () => {
      const { eniId } = value(await world.ec2.createNetworkInterface(request(world)));
      await world.ec2.deleteNetworkInterface({ eniId });
      await world.ec2.deleteNetworkInterface({ eniId });
    });
    assert.deepEqual(world.sim.calls.counts(), [
      { action: 'CreateNetworkInterface', result: 'ok', count: 1 },
      { action: 'DeleteNetworkInterface', result: 'ok', count: 1 },
      { action: 'DeleteNetworkInterface', result: 'InvalidNetworkInterfaceID.NotFound', count: 1 },
    ]);
    assert.equal(world.sim.calls.writeCount(), 2);
    assert.equal(world.sim.calls.recent()[0]?.subject, world.subnetId);
    assert.equal(world.sim.calls.recent()[0]?.client, 'controller');
  });
});
