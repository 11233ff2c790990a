// Who owns what of our objects in a real API server: what it costs to note it, and objects of releases that did not apply.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, suite, test } from 'node:test';
import type { KubernetesCluster } from '../../src/adapters/kubernetes/create-kubernetes-cluster.ts';
import type { Ip } from '../../src/domain/address/ip.ts';
import type { EniId, NodeName, PodKey } from '../../src/domain/ids.ts';
import {
  type Condition,
  emptyStatus,
  type NodeNetworkSpec,
  type NodeNetworkStatus,
} from '../../src/domain/ipam/node-network.ts';
import { agentReady, selected, value } from '../../src/ports/cluster-world.contract.ts';
import type { ClusterOutcome, NodeNetworkRecord, NodeRecord } from '../../src/ports/cluster.ts';
import { customResourceDefinitions } from '../../src/protocol/crd/custom-resource-definitions.ts';
import { writeNodeNetworkSpec, writeNodeNetworkStatus } from '../../src/protocol/crd/node-network.ts';
import { eventually } from '../runtime/support/eventually.ts';
import { nodeSpec } from '../runtime/support/node-spec.ts';
import { type Api, apiOf, clientOf } from './api.ts';
import { type ControlPlane, startControlPlane } from './control-plane.ts';

const CRDS = 'deploy/crds';
const NODE_NETWORKS = '/apis/eniwhere.io/v1alpha1/nodenetworks';
const SEEN_MS = 60_000;

let plane: ControlPlane;
let api: Api;
let controller: KubernetesCluster;
let agent: KubernetesCluster;

before(async () => {
  plane = await startControlPlane();
  api = apiOf(plane);
  controller = clientOf(plane, 'eniwhere-controller');
  agent = clientOf(plane, 'eniwhere-agent');
  await applyCrds();
});
after(async () => {
  controller?.close();
  agent?.close();
  api?.close();
  await plane?.close();
});

async function applyCrds(): Promise<void> {
  await plane.kubectl('apply', '--server-side', '--force-conflicts', '-f', CRDS);
  await plane.kubectl('wait', '--for=condition=Established', '-f', CRDS);
}

interface Entry {
  readonly manager: string;
  readonly operation: string;
  readonly subresource?: string;
  readonly fieldsV1: object;
}

interface Stored {
  readonly metadata: { readonly resourceVersion: string; readonly managedFields: readonly Entry[] };
  readonly spec: Record<string, unknown>;
  readonly status?: { readonly conditions: readonly { readonly type: string }[] } & Record<string, unknown>;
}

const stored = async (name: string): Promise<Stored> =>
  (await api.send('GET', `${NODE_NETWORKS}/${name}`)) as Stored;

const ownersOf = ({ metadata }: Stored): string[] =>
  metadata.managedFields.map(
    ({ manager, operation, subresource = 'object' }) => `${manager} ${operation} ${subresource}`,
  );

async function makeNodeNetwork(name: string, spec: NodeNetworkSpec): Promise<NodeNetworkRecord> {
  const node = (await api.send('POST', '/api/v1/nodes', { metadata: { name } })) as {
    readonly metadata: { readonly uid: string };
  };
  const owner = { name, uid: node.metadata.uid } as NodeRecord;
  return value(await controller.cluster.createNodeNetwork(name as NodeName, owner, spec));
}

/** Four ENIs with fifty addresses each, all of them used. */
const ADDRESSES = Array.from({ length: 200 }, (_, n) => `10.1.${Math.floor(n / 50)}.${10 + (n % 50)}` as Ip);
function bigSpec(): NodeNetworkSpec {
  const spec = nodeSpec([], 30_000);
  const [primary, second] = spec.enis;
  assert.ok(primary !== undefined && second !== undefined);
  const enis = Array.from({ length: 4 }, (_, n) => ({
    ...second,
    eniId: `eni-0000000${n + 1}` as EniId,
    deviceIndex: n + 1,
    addresses: ADDRESSES.slice(50 * n, 50 * (n + 1)),
  }));
  return { ...spec, enis: [primary, ...enis] };
}
const bigStatus = (conditions: readonly Condition[]): NodeNetworkStatus => ({
  ...emptyStatus,
  observedGeneration: 1,
  used: ADDRESSES.map((ip, n) => ({ ip, pod: `default/web-${n}` as PodKey })),
  conditions,
});

test('the owners of a NodeNetwork with 200 addresses are noted in less than 2 KiB', async (t) => {
  const record = await makeNodeNetwork('big', nodeSpec([], 0));
  const granted = value(await controller.cluster.updateNodeNetworkSpec({ ...record, spec: bigSpec() }));
  const status = bigStatus([selected('True')]);
  const told = value(await controller.cluster.updateNodeNetworkStatus({ ...granted, status }));
  const full = bigStatus([selected('True'), agentReady]);
  value(await agent.cluster.updateNodeNetworkStatus({ ...told, status: full }));
  const object = await stored('big');
  assert.deepEqual(ownersOf(object).sort(), [
    'eniwhere-agent Apply status',
    'eniwhere-controller Apply object',
    'eniwhere-controller Apply status',
    'eniwhere-controller Update object',
  ]);
  const [, path = '', printed = ''] =
    /--show-managed-fields -o jsonpath='(.+)'\n([^`]+)\n```/.exec(readFileSync('docs/crds.md', 'utf8')) ?? [];
  const output = `jsonpath=${path}`;
  const shown = await plane.kubectl('get', 'nodenetwork', 'big', '--show-managed-fields', '-o', output);
  // By time, in whole seconds.
  const lines = shown.split('\n').map((line) => line.trimEnd());
  assert.deepEqual(lines.sort(), printed.split('\n').sort());
  const length = JSON.stringify(object.metadata.managedFields).length;
  t.diagnostic(`managedFields ${length} bytes, the whole object ${JSON.stringify(object).length}`);
  assert.ok(length < 2048, `${length} bytes`);
});

test('what a hand has changed in a spec is put back, and what it has added goes', async () => {
  const spec = nodeSpec(['10.1.0.10'], 0);
  await makeNodeNetwork('edited', spec);
  const change = {
    spec: {
      selection: { kind: 'NodeSubnet', name: null },
      cooldownMs: 5,
      choosing: { namespaces: [], pods: [] },
    },
  };
  await api.send('PATCH', `${NODE_NETWORKS}/edited?fieldManager=kubectl-edit`, change);
  const read = value(await controller.cluster.get('NodeNetwork', 'edited'));
  assert.equal(read?.spec.cooldownMs, 5);
  const back = value(await controller.cluster.updateNodeNetworkSpec({ ...read, spec }));
  assert.deepEqual(back.spec, spec);
});

test('a status that a hand has made is the writer’s again with its next write, and what is not the writer’s stays', async () => {
  const record = await makeNodeNetwork('told', nodeSpec(['10.1.0.10'], 0));
  const first = { ...emptyStatus, withdrawn: ['10.1.0.10' as Ip], conditions: [agentReady] };
  value(await agent.cluster.updateNodeNetworkStatus({ ...record, status: first }));
  const other = {
    type: 'Watched',
    status: 'True',
    reason: 'Hand',
    message: 'm',
    lastTransitionTime: '2026-11-30T10:00:00.000Z',
  };
  const unready = { ...other, type: 'AgentReady', status: 'False' };
  await api.send('PATCH', `${NODE_NETWORKS}/told/status?fieldManager=kubectl-edit`, {
    status: { withdrawn: [], conditions: [other, unready] },
  });
  const read = value(await agent.cluster.get('NodeNetwork', 'told'));
  assert.ok(read !== undefined);
  const again = value(await agent.cluster.updateNodeNetworkStatus({ ...read, status: first }));
  assert.deepEqual(again.status.withdrawn, ['10.1.0.10']);
  assert.deepEqual(
    new Map(again.status.conditions.map(({ type, status }) => [type as string, status])),
    new Map([
      ['Watched', 'True'],
      ['AgentReady', 'True'],
    ]),
  );
});

test('a CRD that does not know a field has the write refused by the field’s name, and nothing is dropped in silence', async () => {
  const record = await makeNodeNetwork('newer', nodeSpec([], 0));
  const older = structuredClone(customResourceDefinitions().get('nodenetworks.eniwhere.io.yaml')) as Crd;
  const { spec } = older.spec.versions[0].schema.openAPIV3Schema.properties;
  delete spec.properties['cooldownMs'];
  spec.required = spec.required.filter((name) => name !== 'cooldownMs');
  await plane.apply([older]);
  const write = (): Promise<ClusterOutcome<unknown>> => controller.cluster.updateNodeNetworkSpec(record);
  const refused = await eventually('the older CRD holds', SEEN_MS, async () => {
    const outcome = await write();
    return outcome.kind === 'failed' && outcome.failure.kind === 'invalid' ? outcome.failure : undefined;
  });
  assert.match(refused.message, /\.spec\.cooldownMs: field not declared in schema.*apply deploy\/crds/);
  await applyCrds();
  await eventually('the newer CRD holds', SEEN_MS, async () => {
    const outcome = await write();
    return outcome.kind === 'failed' && outcome.failure.kind === 'invalid' ? undefined : true;
  });
});

interface Crd {
  readonly spec: {
    readonly versions: readonly [
      {
        readonly schema: {
          readonly openAPIV3Schema: {
            readonly properties: {
              readonly spec: { required: readonly string[]; readonly properties: Record<string, unknown> };
            };
          };
        };
      },
    ];
  };
}

/** As the CRD was before there was anything that is written whole. */
function olderCrd(): object {
  const crd = structuredClone(customResourceDefinitions().get('nodenetworks.eniwhere.io.yaml'));
  const walk = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    const schema = node as Record<string, unknown>;
    delete schema['x-kubernetes-map-type'];
    if (schema['x-kubernetes-list-type'] === 'atomic') {
      const ofObjects = (schema['items'] as { readonly type: string }).type === 'object';
      schema['x-kubernetes-list-type'] = ofObjects ? 'map' : 'set';
      if (ofObjects) schema['x-kubernetes-list-map-keys'] = ['ip'];
    }
    for (const child of Object.values(schema)) walk(child);
  };
  walk(crd);
  return crd as object;
}

suite('an object of a release that wrote by JSON patches, under the CRD of that release', () => {
  const NAME = 'old';
  /** As that release made its requests. */
  const patch = async (manager: string, part: 'spec' | 'status', content: unknown): Promise<void> => {
    const subresource = part === 'status' ? '/status' : '';
    const { metadata } = await stored(NAME);
    await api.send('PATCH', `${NODE_NETWORKS}/${NAME}${subresource}?fieldManager=${manager}`, [
      { op: 'replace', path: '/metadata/resourceVersion', value: metadata.resourceVersion },
      { op: 'add', path: `/${part}`, value: content },
    ]);
  };
  const dropped = { ...selected('True'), type: 'Dropped' as Condition['type'] };
  let oldBytes = 0;

  before(async () => {
    await plane.apply([olderCrd()]);
    const isOld = (crd: string): boolean => !crd.includes('"x-kubernetes-map-type":"atomic"');
    await eventually('the older CRD is served', SEEN_MS, async () =>
      isOld(await plane.kubectl('get', 'crd', 'nodenetworks.eniwhere.io', '-o', 'json')) ? true : undefined,
    );
    await makeNodeNetwork(NAME, nodeSpec([], 0));
    const spec = writeNodeNetworkSpec(bigSpec());
    const status = writeNodeNetworkStatus({ spec: bigSpec(), status: bigStatus([agentReady]) }, 'agent');
    const told = writeNodeNetworkStatus(
      { spec: bigSpec(), status: bigStatus([selected('True')]) },
      'controller',
    );
    assert.ok(spec.ok && status.ok && told.ok);
    const conditions = (told.value as { readonly conditions: readonly object[] }).conditions;
    await patch('eniwhere-controller', 'spec', spec.value);
    await patch('eniwhere-agent', 'status', status.value);
    const more = [...(status.value as { readonly conditions: readonly object[] }).conditions, ...conditions];
    const last = { ...conditions[0], type: dropped.type };
    await patch('eniwhere-controller', 'status', {
      ...(status.value as object),
      conditions: [...more, last],
    });
    const object = await stored(NAME);
    assert.deepEqual(ownersOf(object).sort(), [
      'eniwhere-agent Update status',
      'eniwhere-controller Update object',
      'eniwhere-controller Update status',
    ]);
    oldBytes = JSON.stringify(object.metadata.managedFields).length;
    await applyCrds();
  });

  test('its spec is replaced whole, fields of the old one included', async (t) => {
    t.diagnostic(`managedFields of the older release: ${oldBytes} bytes`);
    const read = value(await controller.cluster.get('NodeNetwork', NAME));
    assert.ok(read !== undefined);
    const spec: NodeNetworkSpec = {
      ...nodeSpec([], 1),
      selection: {
        kind: 'None',
        source: 'Nothing' as never,
        problem: 'NoEniConfig' as never,
        reason: 'r',
        message: 'm',
        fix: 'f',
      },
    };
    const written = value(await controller.cluster.updateNodeNetworkSpec({ ...read, spec }));
    assert.deepEqual(written.spec, spec);
  });

  test('its status is taken over with the controller’s next write, and each can take away what is its own', async (t) => {
    const read = value(await controller.cluster.get('NodeNetwork', NAME));
    assert.ok(read !== undefined);
    const types = (status: NodeNetworkStatus): string[] => status.conditions.map(({ type }) => type).sort();
    assert.deepEqual(types(read.status), ['AgentReady', 'Dropped', 'EniConfigSelected']);
    const status = { ...read.status, conditions: [selected('False')] };
    const first = value(await controller.cluster.updateNodeNetworkStatus({ ...read, status }));
    const owners = ownersOf(await stored(NAME)).sort();
    t.diagnostic(owners.join(', '));
    assert.deepEqual(
      owners.filter((owner) => owner.includes('status')),
      ['eniwhere-agent Apply status', 'eniwhere-controller Apply status'],
    );
    const again = { ...first.status, conditions: [selected('Unknown')] };
    const second = value(await controller.cluster.updateNodeNetworkStatus({ ...first, status: again }));
    assert.deepEqual(types(second.status), ['AgentReady', 'EniConfigSelected']);
    const none = { ...emptyStatus, conditions: [] };
    const third = value(await agent.cluster.updateNodeNetworkStatus({ ...second, status: none }));
    assert.deepEqual(third.status.used, []);
    assert.deepEqual(types(third.status), ['EniConfigSelected']);
  });
});
