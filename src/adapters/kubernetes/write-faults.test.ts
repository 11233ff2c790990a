// What a write or a read of one object comes to when the API server or the network misbehaves.

import assert from 'node:assert/strict';
import { suite, test, type TestContext } from 'node:test';
import type { NodeName } from '../../domain/ids.ts';
import { spec } from '../../ports/cluster-world.contract.ts';
import type {
  ClusterOutcome,
  ControllerCluster,
  NodeNetworkRecord,
  NodeRecord,
} from '../../ports/cluster.ts';
import { readNode } from '../../protocol/crd/node.ts';
import { ENI_CONFIGS, type Fault, NODE_NETWORKS, NODES } from './testing-api-server.ts';
import { createWorld, openConnection, type World, type WorldOptions } from './testing-world.ts';

const NAME = 'n1' as NodeName;

interface Written extends World {
  readonly node: NodeRecord;
  readonly record: NodeNetworkRecord;
}

async function createWritten(t: TestContext, options: WorldOptions = {}): Promise<Written> {
  const world = await createWorld((end) => t.after(end), options);
  const node = readNode(world.api.store.put(NODES, NAME, { metadata: { name: NAME }, spec: {} }));
  assert.ok(node.ok);
  const made = await world.cluster.createNodeNetwork(NAME, node.value, spec(1));
  assert.ok(made.kind === 'ok', JSON.stringify(made));
  return { ...world, node: node.value, record: made.value };
}

const short = (outcome: ClusterOutcome<unknown>): string =>
  outcome.kind === 'failed' ? outcome.failure.kind : outcome.kind;

type Call = (cluster: ControllerCluster, written: Written) => Promise<ClusterOutcome<unknown>>;
const update: Call = (cluster, { record }) => cluster.updateNodeNetworkSpec({ ...record, spec: spec(2) });
const read: Call = (cluster) => cluster.get('NodeNetwork', NAME);

suite('what went wrong, by what it leaves open', () => {
  const cases: readonly [string, Fault, string, string][] = [
    ['a lost answer', { kind: 'LostAnswer' }, 'unknown', 'unavailable'],
    ['a reset', { kind: 'Reset' }, 'unknown', 'unavailable'],
    ['no answer in time', { kind: 'Stall' }, 'unknown', 'unavailable'],
    ['half an answer', { kind: 'Body', text: '{"meta' }, 'unknown', 'unavailable'],
    ['an answer of a proxy', { kind: 'Body', text: '{"hello":1}' }, 'unknown', 'invalid'],
    ['500', { kind: 'Status', code: 500 }, 'unknown', 'unavailable'],
    ['504', { kind: 'Status', code: 504 }, 'unknown', 'unavailable'],
    ['503', { kind: 'Status', code: 503 }, 'unavailable', 'unavailable'],
    ['429, for ever', { kind: 'Status', code: 429, retryAfter: 1 }, 'unavailable', 'unavailable'],
    ['401', { kind: 'Status', code: 401 }, 'forbidden', 'forbidden'],
    ['403', { kind: 'Status', code: 403 }, 'forbidden', 'forbidden'],
    ['422', { kind: 'Status', code: 422 }, 'invalid', 'invalid'],
    ['409', { kind: 'Status', code: 409, reason: 'Conflict' }, 'conflict', 'conflict'],
    [
      '404 of a path that the server does not know',
      { kind: 'Status', code: 404 },
      'not-found',
      'unavailable',
    ],
  ];
  for (const [title, fault, ofWrite, ofRead] of cases)
    test(`${title}: a write is ${ofWrite}, a read ${ofRead}`, async (t) => {
      const world = await createWritten(t, { timings: { requestTimeoutMs: 10_000 } });
      world.api.fault = () => fault;
      assert.equal(short(await update(world.cluster, world)), ofWrite);
      assert.equal(short(await read(world.cluster, world)), ofRead);
    });

  test('a server that cannot be reached has certainly done nothing', async (t) => {
    const world = await createWritten(t);
    await world.api.close();
    // This one goes out over a connection that was kept, so nobody can say.
    await update(world.cluster, world);
    assert.equal(short(await update(world.cluster, world)), 'unavailable');
  });

  test('a write whose answer was lost has happened, and the next one conflicts', async (t) => {
    const world = await createWritten(t);
    world.api.fault = () => ({ kind: 'LostAnswer' });
    assert.equal(short(await update(world.cluster, world)), 'unknown');
    world.api.fault = () => undefined;
    assert.equal(short(await update(world.cluster, world)), 'conflict');
  });
});

suite('what is tried again', () => {
  test('a busy server, after the time that it asks for', async (t) => {
    const world = await createWritten(t);
    let refusals = 2;
    world.api.fault = () => (refusals-- > 0 ? { kind: 'Status', code: 429, retryAfter: 1 } : undefined);
    assert.equal(short(await update(world.cluster, world)), 'ok');
  });

  test('a refused token, once, with the token as it is now', async (t) => {
    let token = 'old';
    const world = await createWritten(t, {
      connection: (url) => ({
        ...openConnection(url),
        credentials: async () => ({ authorization: `Bearer ${token}` }),
        refused: () => {
          token = 'new';
        },
      }),
    });
    world.api.fault = ({ authorization }) =>
      authorization === 'Bearer old' ? { kind: 'Status', code: 401 } : undefined;
    assert.equal(short(await update(world.cluster, world)), 'ok');
  });

  test('nothing, when the credentials cannot be read: nothing was sent', async (t) => {
    const world = await createWorld((end) => t.after(end), {
      connection: (url) => ({
        ...openConnection(url),
        credentials: () => Promise.reject(new Error('no token')),
      }),
    });
    const outcome = await world.cluster.get('Node', 'n1');
    assert.ok(outcome.kind === 'failed');
    assert.match(outcome.failure.message, /no token/);
    assert.equal(world.api.requests.length, 0);
  });
});

suite('an object that cannot be read', () => {
  test('is invalid, never absent', async (t) => {
    const world = await createWorld((end) => t.after(end));
    world.api.store.put(NODE_NETWORKS, 'bad', { metadata: { name: 'bad' }, spec: {} });
    const outcome = await world.cluster.get('NodeNetwork', 'bad');
    assert.ok(outcome.kind === 'failed');
    assert.equal(outcome.failure.kind, 'invalid');
    assert.match(outcome.failure.message, /"bad" cannot be read: spec\.instance/);
  });
});

suite('an ENIConfig under the CRD of the AWS CNI', () => {
  test('has no status to write, and the failure says what to apply', async (t) => {
    const world = await createWorld((end) => t.after(end));
    world.api.withoutStatus.add(ENI_CONFIGS);
    const subnet = 'subnet-0123456789abcdef0';
    world.api.store.put(ENI_CONFIGS, 'a', { metadata: { name: 'a' }, spec: { subnet } });
    const record = await world.cluster.get('EniConfig', 'a');
    assert.ok(record.kind === 'ok' && record.value !== undefined);
    const outcome = await world.cluster.updateEniConfigStatus(record.value, {
      ready: true,
      message: 'ready',
    });
    assert.ok(outcome.kind === 'failed');
    assert.equal(outcome.failure.kind, 'invalid');
    assert.match(outcome.failure.message, /no status subresource.*deploy\/crds\/eniconfigs/);
  });
});
