// The admission policy for pods that choose, in a real API server: what it writes on which pod.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { eventually } from '../runtime/support/eventually.ts';
import { type ControlPlane, startControlPlane } from './control-plane.ts';

const POLICY = readFileSync(new URL('../../deploy/policies/pod-choice.yaml', import.meta.url), 'utf8');
const SEEN_MS = 60_000;
const NAME = 'eniwhere.io/eni-config';
const SELECTOR = 'eniwhere.io/eni-config-selector';

interface Pod {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: {
    readonly containers: readonly {
      readonly resources?: Readonly<Record<'limits' | 'requests', Readonly<Record<string, string>>>>;
    }[];
  };
}

let plane: ControlPlane;
let podCount = 0;

before(async () => {
  plane = await startControlPlane({ controllers: ['serviceaccount'], mutatingPolicies: true });
  await plane.apply(POLICY);
  await plane.apply([
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'red', annotations: { [NAME]: 'red' } } },
    {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'blue', annotations: { [SELECTOR]: 'tenant in (blue)' } },
    },
  ]);
  for (const namespace of ['red', 'blue'])
    await eventually(`the service account of ${namespace}`, SEEN_MS, () =>
      plane.kubectl('get', 'serviceaccount', 'default', '-n', namespace).catch(() => undefined),
    );
  // The API server compiles a policy some moments after it has stored it.
  await eventually('the policy is in force', SEEN_MS, async () => {
    const pod = await admitted({ namespace: 'red' });
    return pod.metadata.annotations?.[NAME] === 'red' ? pod : undefined;
  });
});
after(() => plane?.close());

interface Wanted {
  readonly namespace?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly resources?: object;
  readonly hostNetwork?: boolean;
}

/** The pod as the API server would store it. */
async function admitted({
  namespace = 'default',
  annotations,
  resources,
  hostNetwork,
}: Wanted): Promise<Pod> {
  podCount += 1;
  const name = `p${podCount}`;
  await plane.apply([
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace, ...(annotations === undefined ? {} : { annotations }) },
      spec: {
        containers: [{ name: 'main', image: 'none', ...(resources === undefined ? {} : { resources }) }],
        ...(hostNetwork === undefined ? {} : { hostNetwork }),
      },
    },
  ]);
  return JSON.parse(await plane.kubectl('get', 'pod', name, '-n', namespace, '-o', 'json')) as Pod;
}

const choiceOf = ({ metadata: { annotations = {} } }: Pod): readonly (string | undefined)[] => [
  annotations[NAME],
  annotations[SELECTOR],
];
const askedOf = ({ spec }: Pod): Readonly<Record<string, string>> =>
  spec.containers[0]?.resources?.requests ?? {};

test('[POD-6] a pod that names an ENIConfig asks the scheduler for one address of it', async () => {
  const pod = await admitted({ annotations: { [NAME]: 'pods-1a' } });
  assert.deepEqual(askedOf(pod), { 'eniwhere.io/ip.pods-1a': '1' });
  assert.deepEqual(pod.spec.containers[0]?.resources?.limits, { 'eniwhere.io/ip.pods-1a': '1' });
});

test('[POD-6] beside what it asks for already', async () => {
  const resources = { requests: { cpu: '100m' }, limits: { memory: '64Mi' } };
  const pod = await admitted({ annotations: { [NAME]: 'pods-1a' }, resources });
  assert.deepEqual(askedOf(pod), { cpu: '100m', memory: '64Mi', 'eniwhere.io/ip.pods-1a': '1' });
});

test('[POD-2] a choice of the namespace is written on its pods, and asked for', async () => {
  const pod = await admitted({ namespace: 'red' });
  assert.deepEqual(choiceOf(pod), ['red', undefined]);
  assert.deepEqual(askedOf(pod), { 'eniwhere.io/ip.red': '1' });
  const annotated = await admitted({ namespace: 'red', annotations: { other: 'note' } });
  assert.deepEqual(annotated.metadata.annotations?.['other'], 'note');
  assert.deepEqual(choiceOf(annotated), ['red', undefined]);
});

test('[POD-2] by labels, too; no resource is known then', async () => {
  const pod = await admitted({ namespace: 'blue' });
  assert.deepEqual(choiceOf(pod), [undefined, 'tenant in (blue)']);
  assert.deepEqual(askedOf(pod), {});
});

test('[POD-2] a pod’s own choice goes before', async () => {
  const byName = await admitted({ namespace: 'blue', annotations: { [NAME]: 'green' } });
  assert.deepEqual(choiceOf(byName), ['green', undefined]);
  const byLabels = await admitted({ namespace: 'red', annotations: { [SELECTOR]: 'tenant' } });
  assert.deepEqual(choiceOf(byLabels), [undefined, 'tenant']);
  assert.deepEqual(askedOf(byLabels), {});
});

test('pods that choose nothing, and those on the host’s network, are left as they are', async () => {
  const plain = await admitted({});
  assert.deepEqual([choiceOf(plain), askedOf(plain)], [[undefined, undefined], {}]);
  const host = await admitted({ namespace: 'red', hostNetwork: true });
  assert.deepEqual([choiceOf(host), askedOf(host)], [[undefined, undefined], {}]);
});
