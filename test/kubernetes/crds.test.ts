// The CRDs in a real API server: what they accept and refuse, what kubectl shows of them, and the AWS CNI's own CRD before them.

import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { after, before, suite, test } from 'node:test';
import type { KubernetesCluster } from '../../src/adapters/kubernetes/create-kubernetes-cluster.ts';
import type { SecurityGroupId, SubnetId } from '../../src/domain/ids.ts';
import type { NodeNetworkSpec } from '../../src/domain/ipam/node-network.ts';
import { emptyStatus } from '../../src/domain/ipam/node-network.ts';
import type { Log } from '../../src/ports/log.ts';
import { writeNodeNetworkSpec } from '../../src/protocol/crd/node-network.ts';
import { eventually } from '../runtime/support/eventually.ts';
import { nodeSpec } from '../runtime/support/node-spec.ts';
import { clientOf } from './api.ts';
import { type ControlPlane, startControlPlane } from './control-plane.ts';

const CRDS = fileURLToPath(new URL('../../deploy/crds', import.meta.url));
const ENI_CONFIG_CRD = 'eniconfigs.crd.k8s.amazonaws.com';
const SEEN_MS = 60_000;

let plane: ControlPlane;
let client: KubernetesCluster;
let agent: KubernetesCluster;
const warnings: Readonly<Record<string, unknown>>[] = [];

before(async () => {
  plane = await startControlPlane();
  const quiet = (): void => undefined;
  const log: Log = {
    debug: quiet,
    info: quiet,
    warn: (_message, fields = {}) => warnings.push(fields),
    error: quiet,
    mark: quiet,
  };
  client = clientOf(plane, 'eniwhere-controller', { log });
  agent = clientOf(plane, 'eniwhere-agent', { log });
});
after(async () => {
  client?.close();
  agent?.close();
  await plane?.close();
});

/** As the AWS VPC CNI v1.x ships it: a schema that checks nothing, and no status subresource. */
const awsCrd = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: ENI_CONFIG_CRD },
  spec: {
    scope: 'Cluster',
    group: 'crd.k8s.amazonaws.com',
    names: { plural: 'eniconfigs', singular: 'eniconfig', kind: 'ENIConfig' },
    versions: [
      {
        name: 'v1alpha1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
};

const eniConfig = (name: string, more: object): object => ({
  apiVersion: 'crd.k8s.amazonaws.com/v1alpha1',
  kind: 'ENIConfig',
  metadata: { name },
  ...more,
});
const SUBNET = 'subnet-0123456789abcdef0';
const GROUP = 'sg-0123456789abcdef0';
/** Title, as in the AWS CNI's clusters. */
const ofUsers: readonly [string, object][] = [
  ['plain', { spec: { subnet: SUBNET, securityGroups: [GROUP] } }],
  ['no-groups', { spec: { subnet: SUBNET } }],
  ['null-groups', { spec: { subnet: SUBNET, securityGroups: null } }],
  ['short-ids', { spec: { subnet: 'subnet-0a1b2c3d', securityGroups: ['sg-0a1b2c3d'] } }],
  ['unknown-fields', { spec: { subnet: SUBNET, note: { any: 1 } }, extra: 'kept' }],
  ['wrong-id', { spec: { subnet: 'the-one-in-the-corner' } }],
  ['no-spec', {}],
];

async function applyCrds(): Promise<void> {
  await plane.kubectl('apply', '--server-side', '--force-conflicts', '-f', CRDS);
  await plane.kubectl('wait', '--for=condition=Established', '-f', CRDS);
}

test('under the AWS CNI’s CRD ENIConfigs are read, made and changed, and their status cannot be written, which says why; ours over it keeps every object and takes the status', async () => {
  await plane.apply([awsCrd]);
  await plane.kubectl('wait', '--for=condition=Established', `crd/${ENI_CONFIG_CRD}`);
  await plane.apply(ofUsers.map(([name, more]) => eniConfig(name, more)));
  const status = { ready: true, message: 'ready', freeAddressCount: 251 };
  const before = await client.cluster.get('EniConfig', 'plain');
  assert.ok(before.kind === 'ok' && before.value !== undefined);
  const refused = await client.cluster.updateEniConfigStatus(before.value, status);
  assert.ok(refused.kind === 'failed', JSON.stringify(refused));
  assert.match(refused.failure.message, /no status subresource/);

  const own = { name: 'of-a-class', labels: {}, subnetId: SUBNET as SubnetId };
  const made = await client.cluster.createEniConfig({ ...own, securityGroupIds: [GROUP as SecurityGroupId] });
  assert.ok(made.kind === 'ok', JSON.stringify(made));
  const without = { subnetId: own.subnetId, securityGroupIds: [] };
  const changed = await client.cluster.updateEniConfigSpec(made.value, without);
  assert.ok(changed.kind === 'ok', JSON.stringify(changed));
  assert.deepEqual(changed.value.spec, { kind: 'Parsed', eniConfig: { ...own, securityGroupIds: [] } });

  await applyCrds();
  const names = await plane.kubectl('get', 'eniconfigs', '-o', 'name');
  assert.equal(names.split('\n').length, ofUsers.length + 1);
  await eventually('the status is written', SEEN_MS, async () => {
    const read = await client.cluster.get('EniConfig', 'plain');
    if (read.kind !== 'ok' || read.value === undefined) return undefined;
    const written = await client.cluster.updateEniConfigStatus(read.value, status);
    return written.kind === 'ok' ? true : undefined;
  });
  const extra = await plane.kubectl(
    'get',
    'enic',
    'unknown-fields',
    '-o',
    'jsonpath={.extra} {.spec.note.any}',
  );
  assert.equal(extra, 'kept 1');
});

suite('ENIConfigs under our CRD', () => {
  for (const [name, more] of ofUsers)
    test(`${name}: taken, as by the AWS CNI's`, async () => {
      await plane.apply([eniConfig(`new-${name}`, more)]);
    });

  const refused: readonly [string, object, RegExp][] = [
    [
      'a list of subnets',
      { spec: { subnet: [SUBNET] } },
      /spec\.subnet: Invalid value: "array": spec\.subnet in body must be of type string/,
    ],
    [
      'groups in a text',
      { spec: { subnet: SUBNET, securityGroups: GROUP } },
      /spec\.securityGroups: Invalid value: "string"/,
    ],
  ];
  for (const [title, more, says] of refused)
    test(`${title} is refused by its field`, async () => {
      await assert.rejects(plane.apply([eniConfig('bad', more)]), says);
    });
});

const spec = (): NodeNetworkSpec => nodeSpec(['10.1.0.10', '10.1.0.11'], 30_000);
const wire = (): Record<string, never> & {
  readonly enis: readonly Record<string, unknown>[];
  readonly selection: object;
} => {
  const written = writeNodeNetworkSpec(spec());
  assert.ok(written.ok);
  return written.value as ReturnType<typeof wire>;
};
const nodeNetwork = (name: string, changed: object): object => ({
  apiVersion: 'eniwhere.io/v1alpha1',
  kind: 'NodeNetwork',
  metadata: { name },
  spec: { ...wire(), ...changed },
});

suite('NodeNetworks', () => {
  const [primary = {}, second = {}] = wire().enis;
  const refused: readonly [string, object, RegExp][] = [
    [
      'an ENI id of another kind',
      { enis: [{ ...primary, eniId: 'i-00000001' }] },
      /spec\.enis\[0\]\.eniId: Invalid value: "i-00000001"/,
    ],
    [
      'addresses on the primary ENI',
      { enis: [{ ...primary, addresses: ['10.1.0.9'] }] },
      /the primary ENI serves no pods/,
    ],
    [
      'more withdrawals than grants',
      { enis: [{ ...second, addresses: ['10.1.0.9'], withdrawing: ['10.1.0.9', '10.1.0.99'] }] },
      /only addresses that are granted can be withdrawn/,
    ],
    [
      'two ENIs at one device index',
      { enis: [primary, { ...second, deviceIndex: 0 }] },
      /two ENIs cannot have the same deviceIndex/,
    ],
    ['one ENI twice', { enis: [second, second] }, /spec\.enis\[1\]: Duplicate value/],
    [
      'a selection without its subnet',
      { selection: { kind: 'EniConfig', name: 'a', source: 'Label', reason: 'r' } },
      /kind EniConfig needs name, subnetId, securityGroupIds/,
    ],
    [
      'a selection with another kind’s fields',
      { selection: { ...wire().selection, fix: 'f' } },
      /must not have problem, message, fix/,
    ],
  ];
  for (const [title, changed, says] of refused)
    test(`with ${title} are refused, by field and rule`, async () => {
      await assert.rejects(plane.apply([nodeNetwork('bad', changed)]), says);
    });

  test('kubectl shows at a glance the ENIConfig, why, the mode, the addresses used and in all, and whether the agent is ready', async () => {
    await plane.apply([nodeNetwork('ip-10-0-0-10.ec2.internal', {})]);
    const read = await client.cluster.get('NodeNetwork', 'ip-10-0-0-10.ec2.internal');
    assert.ok(read.kind === 'ok' && read.value !== undefined);
    const [used] = spec().enis[1]?.addresses ?? [];
    assert.ok(used);
    const written = await agent.cluster.updateNodeNetworkStatus({
      ...read.value,
      status: {
        ...emptyStatus,
        observedGeneration: 1,
        used: [{ ip: used, pod: 'default/web-1' as never }],
        conditions: [
          {
            type: 'AgentReady',
            status: 'True',
            reason: 'Serving',
            message: 'pods get addresses',
            lastTransitionAt: 0,
          },
        ],
      },
    });
    assert.equal(written.kind, 'ok', JSON.stringify(written));
    const shown = await plane.kubectl('get', 'nn');
    assert.match(
      shown,
      /^NAME +ENICONFIG +WHY +MODE +USED +TOTAL +READY +AGE\nip-10-0-0-10.ec2.internal +blue +Label +SecondaryIP +1 +2 +True +\d+s$/,
    );
    await plane.kubectl('wait', '--for=condition=AgentReady', 'nodenetwork/ip-10-0-0-10.ec2.internal');
  });
});

suite('NodeNetworkClasses', () => {
  const nodeNetworkClass = (spec: object): object => ({
    apiVersion: 'eniwhere.io/v1alpha1',
    kind: 'NodeNetworkClass',
    metadata: { name: 'workers' },
    spec,
  });
  const refused: readonly [string, object, RegExp][] = [
    [
      'two ways to choose',
      { eniConfigs: { names: ['a'], selector: { matchLabels: { a: 'b' } } } },
      /exactly one of names, selector and subnetTags/,
    ],
    [
      'an unknown strategy',
      { eniConfigs: { names: ['a'] }, strategy: 'Luck' },
      /spec\.strategy: Unsupported value: "Luck"/,
    ],
    [
      'a field that is misspelt',
      { eniConfigs: { names: ['a'] }, stategy: 'Hash' },
      /unknown field "(spec\.)?stategy"/,
    ],
  ];
  for (const [title, spec, says] of refused)
    test(`with ${title} are refused`, async () => {
      await assert.rejects(plane.apply([nodeNetworkClass(spec)]), says);
    });

  test('are shown with what they choose by', async () => {
    await plane.apply([nodeNetworkClass({ priority: 5, strategy: 'Hash', eniConfigs: { names: ['a'] } })]);
    assert.match(
      await plane.kubectl('get', 'nnc'),
      /^NAME +PRIORITY +STRATEGY +NODES +READY +AGE\nworkers +5 +Hash/,
    );
  });
});

test('all three are in one category', async () => {
  const shown = await plane.kubectl('get', 'eniwhere', '-o', 'name');
  for (const kind of ['eniconfig', 'nodenetworkclass', 'nodenetwork'])
    assert.match(shown, new RegExp(`^${kind}\\.`, 'm'));
});

test('an object that an older CRD let in stops none of the others, and is named in the log', async () => {
  const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const ours = JSON.parse(await plane.kubectl('get', 'crd', 'nodenetworks.eniwhere.io', '-o', 'json')) as {
    readonly spec: { readonly versions: readonly object[] };
  };
  const older = { ...ours.spec.versions[0], schema: { openAPIV3Schema: open } };
  await plane.kubectl(
    'patch',
    'crd',
    'nodenetworks.eniwhere.io',
    '--type=merge',
    '-p',
    JSON.stringify({ spec: { versions: [older] } }),
  );
  const bad = {
    apiVersion: 'eniwhere.io/v1alpha1',
    kind: 'NodeNetwork',
    metadata: { name: 'old' },
    spec: { enis: 'none' },
  };
  await eventually('the older CRD lets it in', SEEN_MS, () =>
    plane.apply([bad]).then(
      () => true,
      () => undefined,
    ),
  );
  await applyCrds();
  const names = await new Promise<readonly string[]>((resolve) => {
    client.cluster.watch({
      kind: 'NodeNetwork',
      onEvent: (event) => {
        if (event.type === 'Snapshot') resolve(event.objects.map(({ name }) => name));
      },
    });
  });
  assert.deepEqual(names, ['ip-10-0-0-10.ec2.internal']);
  const warning = warnings.find((fields) => fields['object'] === 'nodenetworks.eniwhere.io/old');
  assert.equal(warning?.['field'], 'spec.instance');
});
