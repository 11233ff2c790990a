// Pods with both address families, and pods without IPv4, through the whole agent.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { JournalRecord } from '../domain/ipam/ledger.ts';
import type { EniOptions } from '../domain/ipam/testing-node.ts';
import type { CniReply, DelRequest } from '../protocol/agent-socket/cni-message.ts';
import type { CniResult } from '../protocol/cni/cni-result.ts';
import {
  addRequest,
  addressIn,
  COOLDOWN_MS,
  createWorld,
  STATUS_GAP_MS,
  errorIn,
  type World,
  type WorldOptions,
} from './testing-world.ts';

const BOTH = ['IPv4', 'IPv6'] as const;
const DUAL: EniOptions = {
  addresses: ['10.1.0.4', '10.1.0.5'],
  prefixes: ['2001:db8:0:1:5::/80'],
  subnetIpv6: '2001:db8:0:1::/64',
};
const V4 = '10.1.0.4';
const V6 = '2001:db8:0:1:5:0:a01:4';

async function dualWorld(options: WorldOptions = {}): Promise<World> {
  const world = await createWorld(options);
  await world.start();
  await world.publish({ enis: [DUAL], addressFamilies: BOTH });
  return world;
}

function resultIn(reply: CniReply): CniResult {
  assert.ok(reply.kind === 'Result', JSON.stringify(reply));
  return reply.result;
}

/** What a reader finds on the disk when the next agent starts. */
const rewriteJournal = (world: World, records: readonly JournalRecord[]): Promise<unknown> =>
  world.run(world.journal.open(world.kernel.clock('disk')).rewrite(records));

const podRoutes = (world: World): readonly string[] =>
  world.host.host.routes.filter(({ table }) => table === 1000).map(({ destination }) => destination);
const checkOf = (prevResult: CniResult) =>
  ({
    command: 'CHECK',
    sandbox: { containerId: 'a', ifName: 'eth0' },
    netnsPath: '/run/netns/a',
    prevResult,
  }) as const;

describe('a pod with both families [IP-8]', () => {
  test('gets its IPv4 address first, an IPv6 address of the same ENI, and a default route each', async () => {
    const world = await dualWorld();
    const { ips, routes } = resultIn(await world.add('a'));
    assert.deepEqual(ips, [
      { address: `${V4}/32`, gateway: '169.254.1.1', interface: 1 },
      { address: `${V6}/128`, gateway: 'fe80::1', interface: 1 },
    ]);
    assert.deepEqual(routes, [
      { dst: '0.0.0.0/0', gw: '169.254.1.1' },
      { dst: '::/0', gw: 'fe80::1' },
    ]);
    assert.deepEqual(podRoutes(world), [`${V4}/32`, `${V6}/128`]);
    await world.wait(STATUS_GAP_MS);
    assert.deepEqual(
      world.status()?.used,
      [V4, V6].map((ip) => ({ ip, pod: 'shop/a' })),
    );
  });

  test('added twice answers the same twice, and is as ADD left it [CNI-2]', async () => {
    const world = await dualWorld();
    const first = await world.add('a');
    assert.deepEqual(await world.add('a'), first);
    assert.equal((await world.cni(checkOf(resultIn(first)))).kind, 'Done');
  });

  test('that has lost an address, or is asked for by one alone, fails its CHECK', async () => {
    const world = await dualWorld();
    const result = resultIn(await world.add('a'));
    const one = { ...result, ips: result.ips.slice(0, 1) };
    assert.match(
      errorIn(await world.cni(checkOf(one))).text,
      /it holds 10\.1\.0\.4 2001:db8:0:1:5:0:a01:4, while prevResult says 10\.1\.0\.4;/,
    );
    world.host.edit((host) => {
      host.routes = host.routes.filter(({ destination }) => destination !== `${V6}/128`);
    });
    assert.match(errorIn(await world.cni(checkOf(result))).text, /no route to 2001:db8:0:1:5:0:a01:4/);
  });

  test('deleted leaves no route; both addresses rest, and serve together again [IP-5]', async () => {
    const world = await dualWorld({ addWaitMs: 60_000 });
    await world.add('a');
    await world.add('b');
    await world.del('a');
    assert.deepEqual(podRoutes(world), ['10.1.0.5/32', '2001:db8:0:1:5:0:a01:5/128']);
    await world.wait(STATUS_GAP_MS);
    assert.deepEqual(world.status()?.cooling, [V4, V6]);
    const { ips } = resultIn(await world.add('c'));
    assert.deepEqual(
      ips.map(({ address }) => address),
      [`${V4}/32`, `${V6}/128`],
    );
    await world.wait(STATUS_GAP_MS);
    assert.deepEqual(world.status()?.cooling, []);
  });

  test('is remembered with both addresses by an agent that crashed, and collected by GC [CNI-1] [CNI-3]', async () => {
    const world = await dualWorld();
    await world.add('a');
    world.crash(true);
    await world.start();
    await world.wait(STATUS_GAP_MS);
    assert.equal(addressIn(await world.add('b')), '10.1.0.5/32');
    await world.cni({ command: 'GC', validAttachments: [] });
    assert.deepEqual(podRoutes(world), []);
  });

  test('is adopted with both addresses when the journal is lost [RST-1]', async () => {
    const world = await dualWorld();
    await world.add('a');
    world.crash();
    await rewriteJournal(world, []);
    await world.start();
    await world.wait(STATUS_GAP_MS);
    assert.equal(addressIn(await world.add('b')), '10.1.0.5/32');
    await world.wait(STATUS_GAP_MS);
    assert.deepEqual(
      world.status()?.used.map(({ ip }) => ip),
      ['10.1.0.4', '10.1.0.5', '2001:db8:0:1:5:0:a01:4', '2001:db8:0:1:5:0:a01:5'],
    );
  });

  test('whose agent has no record is taken down with both, by what its ADD answered', async () => {
    const world = await dualWorld();
    const prevResult = resultIn(await world.add('a'));
    await world.add('b');
    world.crash();
    const isOfA = (record: JournalRecord): boolean =>
      record.type === 'Allocated' && record.allocation.pod === 'shop/a';
    await rewriteJournal(
      world,
      world.journal.records().filter((record) => !isOfA(record)),
    );
    await world.start();
    await world.wait(STATUS_GAP_MS);
    const del: DelRequest = {
      command: 'DEL',
      sandbox: { containerId: 'a', ifName: 'eth0' },
      pod: { namespace: 'shop', name: 'a', uid: '' },
      prevResult,
    };
    assert.equal((await world.cni(del)).kind, 'Done');
    await world.wait(STATUS_GAP_MS);
    assert.deepEqual(podRoutes(world), ['10.1.0.5/32', '2001:db8:0:1:5:0:a01:5/128']);
    assert.deepEqual(world.status()?.cooling, [V4, V6]);
  });

  test('reaches instance metadata by both addresses, or by none [NET-1]', async () => {
    const world = await dualWorld();
    const uid = world.applyPod('a', { 'eniwhere.io/allow-imds': 'true' });
    await world.add('a', 'a', uid);
    await world.wait(STATUS_GAP_MS);
    assert.deepEqual(world.imdsAllowed(), [V4]);
    assert.match(world.host.host.nftTables.get('eniwhere') ?? '', /set imds_allowed6 \{[^}]*a01:4\s/);
  });

  test('waits while its ENI has no /80, and says so', async () => {
    const world = await createWorld({ addWaitMs: 60_000 });
    await world.start();
    await world.publish({ enis: [{ addresses: [V4] }], addressFamilies: BOTH });
    const add = world.agent().handleCni(addRequest(world.host, 'a', 'a'));
    await world.wait(2000);
    assert.deepEqual(podRoutes(world), []);
    await world.publish({ enis: [DUAL], addressFamilies: BOTH });
    assert.equal(resultIn(await world.run(add)).ips.length, 2);
  });
});

describe('when the families of a node change', () => {
  test('pods keep what they have, and new ones get the new families', async () => {
    const world = await createWorld();
    await world.start();
    await world.publish({ enis: [{ addresses: DUAL.addresses ?? [] }] });
    const old = resultIn(await world.add('a'));
    await world.publish({ enis: [DUAL], addressFamilies: BOTH });
    assert.equal((await world.cni(checkOf(old))).kind, 'Done');
    assert.deepEqual(resultIn(await world.add('a')), old);
    assert.equal(resultIn(await world.add('b')).ips.length, 2);
    await world.publish({ enis: [{ ...DUAL, addresses: [V4, '10.1.0.5', '10.1.0.6'] }] });
    assert.deepEqual(
      resultIn(await world.add('c')).ips.map(({ address }) => address),
      ['10.1.0.6/32'],
    );
    await world.del('b');
    await world.wait(COOLDOWN_MS + 1000);
    assert.deepEqual(world.status()?.cooling, []);
  });

  test('a journal of before there were families counts as IPv4, when the API server is silent [RST-2]', async () => {
    const world = await createWorld();
    await world.start();
    await world.publish({ enis: [{ addresses: [V4] }] });
    world.crash();
    const before = world.journal.records().map((record) => {
      if (record.type !== 'SpecSeen' || record.content === undefined) return record;
      const { addressFamilies: _, ...content } = record.content;
      return { ...record, content };
    });
    await rewriteJournal(world, before);
    world.takeApiDown(60_000);
    await world.start();
    await world.wait(5000);
    assert.equal(addressIn(await world.add('a')), `${V4}/32`);
  });
});

describe('a pod without IPv4', () => {
  test('gets a listed address of the /80, with an IPv6 route alone', async () => {
    const world = await createWorld();
    await world.start();
    const listed = ['2001:db8:0:1:5::1', '2001:db8:0:1:5::2'];
    await world.publish({ enis: [{ ...DUAL, addresses: listed }], addressFamilies: ['IPv6'] });
    const { ips, routes } = resultIn(await world.add('a'));
    assert.deepEqual(ips, [{ address: '2001:db8:0:1:5::1/128', gateway: 'fe80::1', interface: 1 }]);
    assert.deepEqual(routes, [{ dst: '::/0', gw: 'fe80::1' }]);
    assert.equal((await world.del('a')).kind, 'Done');
    assert.deepEqual(podRoutes(world), []);
  });
});
