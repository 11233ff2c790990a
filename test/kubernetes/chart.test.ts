// The chart and the manifests: well-formed, taken by a real API server, and giving no more rights than they say.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { after, before, test } from 'node:test';
import { emptyStatus } from '../../src/domain/ipam/node-network.ts';
import { writeNodeNetworkSpec } from '../../src/protocol/crd/node-network.ts';
import { eventually } from '../runtime/support/eventually.ts';
import { nodeSpec } from '../runtime/support/node-spec.ts';
import { type ControlPlane, startControlPlane } from './control-plane.ts';
import { programPath } from './programs.ts';

const TOP = fileURLToPath(new URL('../..', import.meta.url));
const CHART = `${TOP}deploy/chart`;

let plane: ControlPlane;

before(async () => {
  plane = await startControlPlane({ controllers: true });
  await plane.kubectl('apply', '--server-side', '-f', `${TOP}deploy/crds`);
  await plane.kubectl('wait', '--for=condition=Established', '-f', `${TOP}deploy/crds`);
});
after(() => plane?.close());

/** Server-side, which reads nothing first. */
async function applyStatus(token: string, object: object): Promise<void> {
  const file = join(plane.directory, 'status.json');
  const config = join(plane.directory, 'nobody.kubeconfig');
  writeFileSync(file, JSON.stringify(object));
  const cluster = ['--server', plane.url, '--certificate-authority', plane.authorityPath];
  const flags = ['--server-side', '--subresource=status', '--validate=false', '--force-conflicts'];
  writeFileSync(config, '');
  await plane.kubectl('--kubeconfig', config, ...cluster, '--token', token, 'apply', ...flags, '-f', file);
}

interface Rendering {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const helm = (...values: readonly string[]): Rendering =>
  spawnSync(programPath('helm'), [...values, '--kube-version', '1.34.0'], { encoding: 'utf8' });
const render = (...values: readonly string[]): Rendering =>
  helm('template', 'eniwhere', CHART, '--namespace', 'kube-system', ...values);

test('helm lint finds nothing', () => {
  const { status, stdout } = helm('lint', CHART, '--strict', '--set', 'clusterName=my-cluster');
  assert.equal(status, 0, stdout);
});

test('the manifests are what the chart renders', () => {
  const rendered = execFileSync(`${TOP}scripts/render-manifests.sh`, ['-'], { encoding: 'utf8' });
  assert.equal(
    readFileSync(`${TOP}deploy/manifests/eniwhere.yaml`, 'utf8'),
    rendered,
    'run scripts/render-manifests.sh',
  );
});

const refused: readonly { readonly about: string; readonly set: readonly string[]; readonly says: RegExp }[] =
  [
    { about: 'no name of the cluster', set: [], says: /at '\/clusterName'/ },
    {
      about: 'a setting of the AWS VPC CNI that has no effect here',
      set: ['clusterName=c', 'env.AWS_VPC_K8S_CNI_CONNMARK=0x80'],
      says: /at '\/env': additional properties 'AWS_VPC_K8S_CNI_CONNMARK' not allowed/,
    },
    {
      about: 'a flag that is neither true nor false',
      set: ['clusterName=c', 'env.AWS_VPC_K8S_CNI_EXTERNALSNAT=yes'],
      says: /at '\/env\/AWS_VPC_K8S_CNI_EXTERNALSNAT'/,
    },
    {
      about: 'a value that is misspelt',
      set: ['clusterName=c', 'controller.replica=3'],
      says: /'replica' not allowed/,
    },
  ];
for (const { about, set, says } of refused)
  test(`the chart refuses ${about}`, () => {
    const { status, stderr } = render(...set.flatMap((one) => ['--set-string', one]));
    assert.notEqual(status, 0);
    assert.match(stderr, says);
  });

test('a setting goes to the program that it concerns', () => {
  const settings = ['WARM_IP_TARGET=5', 'DISABLE_POD_V6=true', 'AWS_VPC_K8S_CNI_LOGLEVEL=debug'];
  const { stdout } = render(
    '--set-string',
    ['clusterName=c', ...settings.map((one) => `env.${one}`)].join(','),
  );
  const envOf = (kind: string): readonly string[] =>
    [
      ...(stdout.split('---\n').find((one) => one.includes(`\nkind: ${kind}\n`)) ?? '').matchAll(
        /- name: ([A-Z0-9_]+)$/gm,
      ),
    ]
      .map((match) => match[1] ?? '')
      .filter((name) => ['WARM_IP_TARGET', 'DISABLE_POD_V6', 'AWS_VPC_K8S_CNI_LOGLEVEL'].includes(name));
  assert.deepEqual(envOf('Deployment'), ['AWS_VPC_K8S_CNI_LOGLEVEL', 'WARM_IP_TARGET']);
  assert.deepEqual(envOf('DaemonSet'), ['AWS_VPC_K8S_CNI_LOGLEVEL', 'DISABLE_POD_V6']);
});

test('the policy for pods that choose is there where the API server serves its kind, and else is not', () => {
  const served = ['--api-versions', 'admissionregistration.k8s.io/v1beta1/MutatingAdmissionPolicy'];
  const set = ['--set-string', 'clusterName=c'];
  const { stdout } = render(...set, ...served);
  for (const object of readFileSync(`${TOP}deploy/policies/pod-choice.yaml`, 'utf8').split('---\n'))
    assert.ok(stdout.includes(object.trim()), object);
  assert.ok(!render(...set).stdout.includes('kind: MutatingAdmissionPolicy'));
  const off = render(...set, ...served, '--set', 'podChoicePolicy.enabled=false').stdout;
  assert.ok(!off.includes('kind: MutatingAdmissionPolicy'));
});

test('a real API server takes every manifest, with no field that it does not know', async () => {
  const flags = ['--server-side', '--dry-run=server', '--validate=strict'];
  const applied = await plane.kubectl('apply', ...flags, '-f', `${TOP}deploy/manifests/eniwhere.yaml`);
  const kinds = readFileSync(`${TOP}deploy/manifests/eniwhere.yaml`, 'utf8').match(/^kind: /gm);
  assert.equal(applied.split('\n').length, kinds?.length);
});

test('agents write the status of their own node alone, controllers make NodeNetworks, and neither reads a secret', async (t) => {
  await plane.kubectl('apply', '--server-side', '-f', `${TOP}deploy/manifests/eniwhere.yaml`);
  const spec = writeNodeNetworkSpec(nodeSpec([], 0));
  assert.ok(spec.ok);
  await plane.apply(
    ['n0', 'n1'].flatMap((name) => [
      { apiVersion: 'v1', kind: 'Node', metadata: { name } },
      { apiVersion: 'eniwhere.io/v1alpha1', kind: 'NodeNetwork', metadata: { name }, spec: spec.value },
    ]),
  );
  const tokenFor = (...binding: readonly string[]): Promise<string> =>
    plane.kubectl('-n', 'kube-system', 'create', 'token', 'eniwhere-agent', ...binding);
  const tokenOfN0 = await tokenFor('--bound-object-kind', 'Node', '--bound-object-name', 'n0');
  const writeStatus = (name: string, token: string): Promise<void> =>
    applyStatus(token, {
      apiVersion: 'eniwhere.io/v1alpha1',
      kind: 'NodeNetwork',
      metadata: { name },
      status: emptyStatus,
    });

  await t.test('the agent of n0 writes the status of n0', () => writeStatus('n0', tokenOfN0));
  await t.test('and not that of n1', async () => {
    // A policy is in force a moment after it was applied.
    const said = await eventually('the policy is in force', 30_000, () =>
      writeStatus('n1', tokenOfN0).then(
        () => undefined,
        (error: unknown) => String(error),
      ),
    );
    assert.match(
      said,
      /the agent of node n0 may write the NodeNetwork of its own node alone, not that of n1/,
    );
  });
  await t.test('a token of the agents that names no node writes none', async () =>
    assert.rejects(writeStatus('n0', await tokenFor()), /this token of an agent is bound to no node/),
  );

  const account = (name: string): string => `system:serviceaccount:kube-system:eniwhere-${name}`;
  const rights: readonly (readonly [who: string, verb: string, what: string, may: 'yes' | 'no'])[] = [
    ['controller', 'create', 'nodenetworks.eniwhere.io', 'yes'],
    ['controller', 'watch', 'pods', 'yes'],
    ['controller', 'delete', 'pods', 'no'],
    ['controller', 'delete', 'nodes', 'no'],
    ['controller', 'get', 'secrets', 'no'],
    ['agent', 'watch', 'nodenetworks.eniwhere.io', 'yes'],
    ['agent', 'patch', 'nodenetworks.eniwhere.io', 'no'],
    ['agent', 'get', 'nodes', 'no'],
    ['agent', 'list', 'pods', 'yes'],
    ['agent', 'patch', 'pods', 'no'],
    ['agent', 'get', 'secrets', 'no'],
  ];
  for (const [who, verb, what, may] of rights)
    await t.test(`may the ${who} ${verb} ${what}? ${may}`, async () => {
      const answer = plane.kubectl('auth', 'can-i', verb, what, '-A', '--as', account(who));
      // kubectl fails with the answer "no".
      if (may === 'yes') assert.equal(await answer, 'yes');
      else await assert.rejects(answer, /no$/);
    });
});
