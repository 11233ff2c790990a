// How our own objects are written: what is asked of the API server, and what becomes of fields of an older release.

import assert from 'node:assert/strict';
import { suite, test, type TestContext } from 'node:test';
import type { NodeName } from '../../domain/ids.ts';
import { emptyStatus } from '../../domain/ipam/node-network.ts';
import { agentReady, selected, spec, value } from '../../ports/cluster-world.contract.ts';
import type { NodeNetworkRecord } from '../../ports/cluster.ts';
import { readNode } from '../../protocol/crd/node.ts';
import { takenOver } from './take-over-fields.ts';
import { NODE_NETWORKS, NODES, type SeenRequest } from './testing-api-server.ts';
import type { RawObject } from './testing-object-store.ts';
import { createWorld, type World } from './testing-world.ts';

const NAME = 'n1' as NodeName;
const READY = 'k:{"type":"AgentReady"}';
const DROPPED = 'k:{"type":"Dropped"}';

interface Made extends World {
  readonly record: NodeNetworkRecord;
}

async function createMade(t: TestContext): Promise<Made> {
  const world = await createWorld((end) => t.after(end));
  const node = readNode(world.api.store.put(NODES, NAME, { metadata: { name: NAME }, spec: {} }));
  assert.ok(node.ok);
  const record = value(await world.cluster.createNodeNetwork(NAME, node.value, spec(1)));
  return { ...world, record };
}

const ofStatus = (fields: object): object => ({ 'f:status': { 'f:conditions': fields } });
const status = (manager: string, operation: string, fields: object): object => ({
  manager,
  operation,
  subresource: 'status',
  fieldsV1: ofStatus(fields),
});
const ownersOf = ({ api }: World): unknown =>
  (api.store.get(NODE_NETWORKS, NAME)?.metadata as { readonly managedFields?: unknown } | undefined)
    ?.managedFields;

test('[K8S-4] an apply names its manager, and the version and the uid that it was decided on', async (t) => {
  const { api, cluster, agent, record } = await createMade(t);
  const written = value(await cluster.updateNodeNetworkSpec({ ...record, spec: spec(2) }));
  value(
    await agent.updateNodeNetworkStatus({ ...written, status: { ...emptyStatus, conditions: [agentReady] } }),
  );
  const told = api.requests.slice(-2).map(({ path, query, contentType, body }: SeenRequest) => ({
    path,
    query: query.toString(),
    contentType,
    metadata: (body as RawObject).metadata,
  }));
  const common = { contentType: 'application/apply-patch+yaml' };
  assert.deepEqual(told, [
    {
      ...common,
      path: `${NODE_NETWORKS}/${NAME}`,
      query: 'fieldManager=eniwhere-controller&force=true',
      metadata: { name: NAME, uid: record.uid, resourceVersion: record.resourceVersion },
    },
    {
      ...common,
      path: `${NODE_NETWORKS}/${NAME}/status`,
      query: 'fieldManager=eniwhere-agent&force=true',
      metadata: { name: NAME, uid: record.uid, resourceVersion: written.resourceVersion },
    },
  ]);
});

test('[K8S-4] a writer that leaves the other’s condition out does not take it away', async (t) => {
  const { cluster, agent, record } = await createMade(t);
  const ready = { ...emptyStatus, conditions: [agentReady] };
  const first = value(await agent.updateNodeNetworkStatus({ ...record, status: ready }));
  const chosen = { ...emptyStatus, conditions: [selected('True')] };
  const second = value(await cluster.updateNodeNetworkStatus({ ...first, status: chosen }));
  assert.deepEqual(second.status.conditions, [agentReady, selected('True')]);
});

suite('fields that an older release wrote by Update', () => {
  const cases: readonly [string, readonly object[], readonly object[] | undefined][] = [
    ['of nobody that we are stay', [status('kubectl-edit', 'Update', { [READY]: {} })], undefined],
    [
      'of the object beside its status stay: the owner reference is not ours to let go of',
      [{ manager: 'a', operation: 'Update', fieldsV1: { 'f:metadata': {}, 'f:spec': {} } }],
      undefined,
    ],
    [
      'join those that the same manager applies',
      [
        status('a', 'Apply', { [READY]: { 'f:type': {} } }),
        status('a', 'Update', { [READY]: { '.': {} }, [DROPPED]: {} }),
      ],
      [status('a', 'Apply', { [READY]: { 'f:type': {}, '.': {} }, [DROPPED]: {} })],
    ],
    [
      'count as applied where their manager has applied nothing yet',
      [status('b', 'Update', { [READY]: {} })],
      [status('b', 'Apply', { [READY]: {} })],
    ],
  ];
  for (const [title, managedFields, expected] of cases)
    test(title, () => {
      assert.deepEqual(takenOver({ metadata: { managedFields } }, ['a', 'b']), expected);
    });

  /** As if an agent of that release had written a condition that this one does not know. */
  async function createOld(t: TestContext): Promise<Made> {
    const made = await createMade(t);
    const { type: _, ...rest } = { ...agentReady, lastTransitionTime: '2026-11-30T10:00:00.000Z' };
    const conditions = [{ ...rest, type: 'Dropped', lastTransitionAt: undefined }];
    const before = made.api.store.get(NODE_NETWORKS, NAME);
    assert.ok(before !== undefined);
    made.api.store.put(NODE_NETWORKS, NAME, {
      ...before,
      metadata: {
        ...before.metadata,
        managedFields: [status('eniwhere-agent', 'Update', { [DROPPED]: {} })],
      },
      status: { conditions },
    });
    const read = value(await made.cluster.get('NodeNetwork', NAME));
    assert.ok(read !== undefined);
    return { ...made, record: read };
  }

  test('are taken over by the controller with its next write, and go when their writer does not say them any more', async (t) => {
    const old = await createOld(t);
    const chosen = { ...emptyStatus, conditions: [selected('True')] };
    const first = value(await old.cluster.updateNodeNetworkStatus({ ...old.record, status: chosen }));
    assert.ok(!JSON.stringify(ownersOf(old)).includes('"operation":"Update","subresource"'));
    const ready = { ...emptyStatus, conditions: [agentReady] };
    const second = value(await old.agent.updateNodeNetworkStatus({ ...first, status: ready }));
    assert.deepEqual(second.status.conditions, [selected('True'), agentReady]);
  });

  test('are left to the next write when the object changes in between, and the write has happened all the same', async (t) => {
    const old = await createOld(t);
    old.api.fault = ({ contentType }) =>
      contentType === 'application/json-patch+json'
        ? { kind: 'Status', code: 409, reason: 'Conflict' }
        : undefined;
    const chosen = { ...emptyStatus, conditions: [selected('True')] };
    const first = value(await old.cluster.updateNodeNetworkStatus({ ...old.record, status: chosen }));
    assert.deepEqual(first, value(await old.cluster.get('NodeNetwork', NAME)));
    assert.ok(JSON.stringify(ownersOf(old)).includes('"operation":"Update","subresource"'));
  });
});
