// What leads and what does not: a controller per term, and EC2 behind the fence.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setImmediate as macrotask } from 'node:timers/promises';
import type { Cidr } from '../domain/address/ip.ts';
import type { EniId, SubnetId } from '../domain/ids.ts';
import { LEASE_TIMES } from '../domain/leadership/lease.ts';
import { createSimEc2, type SimEc2 } from '../lab/ec2/sim-ec2.ts';
import { calm } from '../lab/faults/fault-profile.ts';
import { createKernel } from '../lab/kernel/kernel.ts';
import type { Ec2, Ec2Outcome } from '../ports/ec2.ts';
import type { LeaseStore } from '../ports/leadership.ts';
import type { Log } from '../ports/log.ts';
import { done, failed } from '../ports/outcome.ts';
import { fencedEc2 } from './fenced-ec2.ts';
import { startLeading } from './lead.ts';

const ENI = 'eni-00000001' as EniId;
const calls: readonly [string, (ec2: Ec2) => Promise<Ec2Outcome<unknown>>][] = [
  [
    'CreateNetworkInterface',
    (ec2) =>
      ec2.createNetworkInterface({
        clientToken: 't',
        subnetId: 'subnet-00000001' as SubnetId,
        securityGroupIds: [],
        secondaryAddressCount: 1,
        prefixCount: 0,
        ipv6PrefixCount: 0,
        description: '',
        tags: {},
      }),
  ],
  [
    'AttachNetworkInterface',
    (ec2) =>
      ec2.attachNetworkInterface({
        eniId: ENI,
        instanceId: 'i-00000001' as never,
        deviceIndex: 1,
        networkCardIndex: 0,
      }),
  ],
  [
    'ModifyNetworkInterfaceAttribute',
    (ec2) => ec2.setDeleteOnTermination({ eniId: ENI, attachmentId: 'eni-attach-1' as never }),
  ],
  ['ModifyNetworkInterfaceAttribute', (ec2) => ec2.setSecurityGroups({ eniId: ENI, securityGroupIds: [] })],
  ['AssignPrivateIpAddresses', (ec2) => ec2.assignPrivateIpAddresses({ eniId: ENI, count: 1 })],
  ['UnassignPrivateIpAddresses', (ec2) => ec2.unassignPrivateIpAddresses({ eniId: ENI, addresses: [] })],
  ['AssignPrivateIpAddresses', (ec2) => ec2.assignPrefixes({ eniId: ENI, family: 4, count: 1 })],
  ['AssignIpv6Addresses', (ec2) => ec2.assignPrefixes({ eniId: ENI, family: 6, count: 1 })],
  [
    'UnassignPrivateIpAddresses',
    (ec2) => ec2.unassignPrefixes({ eniId: ENI, prefixes: ['10.0.0.16/28' as Cidr] }),
  ],
  [
    'UnassignIpv6Addresses',
    (ec2) => ec2.unassignPrefixes({ eniId: ENI, prefixes: ['fd00:0:0:0:1::/80' as Cidr] }),
  ],
  ['DetachNetworkInterface', (ec2) => ec2.detachNetworkInterface({ attachmentId: 'eni-attach-1' as never })],
  ['DeleteNetworkInterface', (ec2) => ec2.deleteNetworkInterface({ eniId: ENI })],
];

suite('[LEAD-2] EC2 behind the fence', () => {
  const createEc2 = (): { readonly sim: SimEc2; readonly ec2: Ec2; readonly run: () => Promise<unknown> } => {
    const kernel = createKernel({ seed: 1 });
    const clock = kernel.clock('ec2');
    const sim = createSimEc2({ clock, random: kernel.random.fork('ec2'), profile: () => calm.ec2 });
    const run = (): Promise<unknown> =>
      kernel.run({ untilMs: kernel.now() + 60_000, drain: () => macrotask() });
    return { sim, ec2: sim.client({ name: 'controller', clock }), run };
  };

  for (const [action, call] of calls) {
    test(`${action} is not sent once the term is over`, async () => {
      const { sim, ec2 } = createEc2();
      const outcome = await call(fencedEc2(ec2, { isHeld: () => false, leftOpen: () => undefined }));
      assert.ok(outcome.kind === 'failed');
      assert.equal(outcome.failure.code, 'NotLeader');
      assert.match(outcome.failure.message, new RegExp(action));
      assert.equal(sim.calls.writeCount(), 0);
    });

    test(`${action} is sent while it holds`, async () => {
      const { ec2, run } = createEc2();
      const outcome = call(fencedEc2(ec2, { isHeld: () => true, leftOpen: () => undefined }));
      await run();
      const answer = await outcome;
      assert.ok(answer.kind !== 'failed' || answer.failure.code !== 'NotLeader');
    });
  }

  test('every write of the port is fenced', () => {
    const { ec2 } = createEc2();
    const fenced = fencedEc2(ec2, { isHeld: () => false, leftOpen: () => undefined });
    const open = (Object.keys(ec2) as (keyof Ec2)[]).filter((name) => fenced[name] === ec2[name]);
    assert.deepEqual(
      open.filter((name) => !/^(describe|find)/.test(name)),
      [],
    );
  });
});

suite('[LEAD-2] a controller per term', () => {
  test('starts with each term, has ended before the next one starts, and ends before the lease is given up', async () => {
    const kernel = createKernel({ seed: 1 });
    const clock = kernel.clock('controller');
    const told: string[] = [];
    const quiet = (): void => undefined;
    const log: Log = { debug: quiet, info: quiet, warn: quiet, error: quiet, mark: quiet };
    let isDown = false;
    let count = 0;
    let stored: Awaited<ReturnType<LeaseStore['write']>> | undefined;
    const down = failed({ kind: 'unavailable' as const, message: 'down' });
    const store: LeaseStore = {
      read: async () => (isDown ? down : (stored ?? done(undefined))),
      write: async (lease) => {
        if (isDown) return down;
        if (lease.holder === '') told.push('given up');
        stored = done({ lease, version: String((count += 1)) });
        return stored;
      },
    };
    const leading = startLeading({
      store,
      clock,
      log,
      identity: 'me',
      times: LEASE_TIMES,
      start: (term) => {
        told.push(`start, ${term.isHeld() ? 'held' : 'not held'}`);
        return {
          stop: async () => {
            await clock.sleep(20_000, 'the last calls');
            told.push('ended');
          },
        };
      },
    });
    const run = (ms: number): Promise<unknown> =>
      kernel.run({ untilMs: kernel.now() + ms, drain: () => macrotask() });
    await run(60_000);
    isDown = true;
    await run(26_000);
    isDown = false;
    await run(60_000);
    const stopped = leading.stop();
    await run(60_000);
    await stopped;
    assert.deepEqual(told, ['start, held', 'ended', 'start, held', 'ended', 'given up']);
  });
});
