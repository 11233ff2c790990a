// The AWS adapter keeps the port's contract over the wire: SDK, HTTP, the query protocol, the simulated EC2.

import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, test } from 'node:test';
import type { Cidr } from '../../src/domain/address/ip.ts';
import type { AttachmentId, InstanceId, VpcId } from '../../src/domain/ids.ts';
import { createAccountReader } from '../../src/adapters/aws/account/create-account-reader.ts';
import { createAwsEc2 } from '../../src/adapters/aws/create-aws-ec2.ts';
import { systemClock } from '../../src/adapters/system/clock.ts';
import { eniRequest, must } from '../../src/lab/ec2/testing.ts';
import { ec2Contract } from '../../src/ports/ec2.contract.ts';
import type { CreateEniRequest, Ec2Outcome } from '../../src/ports/ec2.ts';
import { adapterFor, createWireWorld, REGION, type WireOptions, type WireWorld } from './aws-support.ts';

ec2Contract('AWS adapter over HTTP', () => createWireWorld());

const inWorld = async (options: WireOptions, work: (world: WireWorld) => Promise<void>): Promise<void> => {
  const world = await createWireWorld(options);
  await world.run(() => work(world));
};

const request = (world: WireWorld, clientToken: string): CreateEniRequest =>
  eniRequest(world, {
    clientToken,
    securityGroupIds: [world.securityGroupId],
    secondaryAddressCount: 1,
    description: 'one & <two>',
    tags: { 'eniwhere.io/eni-config': '', note: '"ü" & \'<x>\'' },
  });

const failure = (outcome: Ec2Outcome<unknown>): string =>
  outcome.kind === 'failed' ? `${outcome.failure.kind} ${outcome.failure.code}` : outcome.kind;

const enisMade = ({ sim }: WireWorld): number => sim.truth.enis().length - 1;

describe('AWS adapter: what only the tools ask', () => {
  test('reservations of subnets, of each that is asked for', () =>
    inWorld({}, async ({ sim, url, subnetId, otherZoneSubnetId }) => {
      must(sim.admin.reserveForPrefixes(otherZoneSubnetId, '10.0.2.128/25' as Cidr));
      must(sim.admin.reserveForPrefixes(otherZoneSubnetId, '10.0.2.32/28' as Cidr));
      process.env['AWS_ENDPOINT_URL_EC2'] = url;
      const answer = await createAccountReader(REGION).describeReservations([subnetId, otherZoneSubnetId]);
      delete process.env['AWS_ENDPOINT_URL_EC2'];
      assert.ok(answer.kind === 'ok', JSON.stringify(answer));
      assert.deepEqual(
        [...answer.value],
        [
          [subnetId, { prefix: [], explicit: [] }],
          [otherZoneSubnetId, { prefix: ['10.0.2.128/25', '10.0.2.32/28'], explicit: [] }],
        ],
      );
    }));
});

describe('AWS adapter: troubles', () => {
  test('text arrives as it was sent', () =>
    inWorld({}, async (world) => {
      const asked = request(world, 'text');
      const outcome = await world.ec2.createNetworkInterface(asked);
      assert.ok(outcome.kind === 'ok', JSON.stringify(outcome));
      const { eniId } = outcome.value;
      const truth = world.sim.truth.eni(eniId);
      assert.deepEqual(outcome.value, truth);
      assert.deepEqual([truth?.description, truth?.tags], [asked.description, asked.tags]);
    }));

  test('a lost answer is unknown, the effect is there, and the same token finds it', async () => {
    const profile = { lostAnswerOdds: 1 };
    await inWorld({ profile }, async (world) => {
      const first = await world.ec2.createNetworkInterface(request(world, 'lost'));
      assert.equal(first.kind, 'unknown');
      assert.equal(enisMade(world), 1);
      profile.lostAnswerOdds = 0;
      const second = await world.ec2.createNetworkInterface(request(world, 'lost'));
      assert.equal(second.kind, 'ok', JSON.stringify(second));
      assert.equal(enisMade(world), 1);
    });
  });

  test('a throttled call is made once and not repeated', () =>
    inWorld({ profile: { throttleOdds: 1 } }, async (world) => {
      const outcome = await world.ec2.createNetworkInterface(request(world, 'throttled'));
      assert.equal(failure(outcome), 'throttled RequestLimitExceeded');
      assert.equal(
        failure(await world.ec2.describeSubnets([world.subnetId])),
        'throttled RequestLimitExceeded',
      );
      assert.deepEqual(
        world.sim.calls.recent().map((call) => call.action),
        ['CreateNetworkInterface', 'DescribeSubnets'],
      );
    }));

  test("EC2's own trouble leaves open what a write did, and fails a read", () =>
    inWorld({ profile: { serverErrorOdds: 1 } }, async (world) => {
      assert.equal((await world.ec2.createNetworkInterface(request(world, 'broken'))).kind, 'unknown');
      assert.equal(failure(await world.ec2.describeVpcs([world.vpcId])), 'server-error InternalError');
    }));

  test('a missing permission is named', () =>
    inWorld({}, async (world) => {
      world.sim.admin.denyAction('CreateNetworkInterface');
      const outcome = await world.ec2.createNetworkInterface(request(world, 'denied'));
      assert.equal(failure(outcome), 'unauthorized UnauthorizedOperation');
    }));

  test('all pages are read, each a request of its own', () =>
    inWorld({ itemsPerPageMax: 5 }, async (world) => {
      const { subnetId, sim, ec2 } = world;
      const tags = { purpose: 'pages' };
      const made = Array.from(
        { length: 12 },
        () => must(sim.admin.createForeignEni({ subnetId, tags })).eniId,
      );
      const outcome = await ec2.describeNetworkInterfaces({ tag: { key: 'purpose', value: 'pages' } });
      assert.ok(outcome.kind === 'ok', JSON.stringify(outcome));
      assert.deepEqual(outcome.value.map((eni) => eni.eniId).sort(), made.sort());
      assert.equal(sim.calls.recent().length, 3);
    }));

  test('more ids than a filter takes are asked for in several requests', () =>
    inWorld({}, async ({ instanceId, sim, ec2 }) => {
      const many = Array.from(
        { length: 450 },
        (_, n) => `i-${n.toString(16).padStart(17, '0')}` as InstanceId,
      );
      const outcome = await ec2.describeInstances([...many, instanceId]);
      assert.ok(outcome.kind === 'ok', JSON.stringify(outcome));
      assert.deepEqual(
        outcome.value.map((one) => one.instanceId),
        [instanceId],
      );
      assert.equal(sim.calls.recent().length, 3);
    }));

  test('nothing asked is nothing found, without a request', () =>
    inWorld({}, async ({ sim, ec2 }) => {
      assert.deepEqual(await ec2.describeInstances([]), { kind: 'ok', value: [] });
      assert.deepEqual(await ec2.describeNetworkInterfaces({ eniIds: [] }), { kind: 'ok', value: [] });
      assert.equal(sim.calls.recent().length, 0);
    }));

  test('an instance that is gone, and without its network, is absent', () =>
    inWorld({ profile: { terminateMs: 0 } }, async ({ instanceId, sim, ec2, clock }) => {
      must(sim.admin.terminateInstance(instanceId));
      await clock.sleep(2000, 'terminated');
      assert.equal(sim.truth.instance(instanceId)?.state, 'terminated');
      assert.deepEqual(await ec2.describeInstances([instanceId]), { kind: 'ok', value: [] });
    }));
});

/** A server that is no EC2. */
async function withServer(listener: RequestListener, work: (url: string) => Promise<void>): Promise<void> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  try {
    await work(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const IDLE_MS = 100;
const NO_ATTACHMENT = { attachmentId: 'eni-attach-0123456789abcdef0' as AttachmentId };

describe('AWS adapter: what is no EC2', () => {
  const silent: readonly (readonly [string, RequestListener])[] = [
    ['never answers', () => undefined],
    ['stops in the middle of its answer', (_, response) => response.writeHead(200).write('<Detach')],
    ['breaks the connection', (incoming) => incoming.socket.destroy()],
    [
      "answers with a proxy's page",
      (_, response) => response.writeHead(502).end('<html><p>Bad Gateway</html>'),
    ],
    ['answers with nothing', (_, response) => response.writeHead(504).end()],
    ['answers with half a page and success', (_, response) => response.writeHead(200).end('<Detach')],
  ];
  for (const [what, listener] of silent) {
    test(`a server that ${what} leaves the outcome unknown`, () =>
      withServer(listener, async (url) => {
        const outcome = await adapterFor(url, 300).detachNetworkInterface(NO_ATTACHMENT);
        assert.equal(outcome.kind, 'unknown', JSON.stringify(outcome));
      }));
  }

  test('where nobody listens nothing has happened', async () => {
    let closed = '';
    await withServer(
      () => undefined,
      async (url) => {
        closed = url;
      },
    );
    const outcome = await adapterFor(closed).detachNetworkInterface(NO_ATTACHMENT);
    assert.equal(failure(outcome), 'server-error ECONNREFUSED');
  });

  test('a connection is used again, but not once it has been idle', async () => {
    const connections = new Set<unknown>();
    await withServer(
      (incoming, response) => {
        connections.add(incoming.socket);
        // Slower than the idle time: a call under way is not idle.
        setTimeout(() => response.writeHead(200).end('<DescribeVpcsResponse/>'), 3 * IDLE_MS);
      },
      async (url) => {
        const ec2 = createAwsEc2({ version: '0', region: REGION, endpoint: url, idleConnectionMs: IDLE_MS });
        const describe = (): Promise<unknown> => ec2.describeVpcs(['vpc-0123456789abcdef0' as VpcId]);
        assert.deepEqual(await describe(), { kind: 'ok', value: [] });
        assert.deepEqual(await describe(), { kind: 'ok', value: [] });
        assert.equal(connections.size, 1);
        await systemClock.sleep(5 * IDLE_MS, 'idle');
        assert.deepEqual(await describe(), { kind: 'ok', value: [] });
        assert.equal(connections.size, 2);
      },
    );
  });

  test('Eniwhere is named in the user agent', async () => {
    let userAgent = '';
    await withServer(
      (incoming, response) => {
        userAgent = incoming.headers['user-agent'] ?? '';
        response.writeHead(500).end();
      },
      async (url) => {
        await adapterFor(url).describeVpcs(['vpc-0123456789abcdef0' as VpcId]);
      },
    );
    assert.match(userAgent, /eniwhere\/0\.0\.0-test/);
  });
});
