// Nodes and pods as the API server has them, and the little of them that is kept.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { readNode } from './node.ts';
import { readPod } from './pod.ts';

const meta = {
  uid: 'u',
  resourceVersion: '1',
  creationTimestamp: '2026-11-30T10:00:00Z',
  managedFields: [{}],
};

suite('a Node', () => {
  const provider: readonly [string, string | undefined, string | undefined, string | undefined][] = [
    [
      'of the AWS cloud provider',
      'aws:///eu-west-1a/i-0123456789abcdef0',
      'i-0123456789abcdef0',
      'eu-west-1a',
    ],
    ['without a zone in its provider id', 'aws:///i-0123456789abcdef0', 'i-0123456789abcdef0', undefined],
    ['of another cloud', 'gce://project/zone/name', undefined, undefined],
    ['that is not an instance', 'aws:///eu-west-1c/fargate-ip-10-0-0-1', undefined, undefined],
    ['that the cloud provider has not seen yet', undefined, undefined, undefined],
  ];
  for (const [title, providerID, instanceId, zone] of provider)
    test(title, () => {
      const node = readNode({ metadata: { ...meta, name: 'n1' }, spec: { providerID } });
      assert.ok(node.ok);
      assert.deepEqual([node.value.instanceId, node.value.zone], [instanceId, zone]);
    });

  test('its zone is its label before all else', () => {
    const labels = { 'topology.kubernetes.io/zone': 'eu-west-1b' };
    const spec = { providerID: 'aws:///eu-west-1a/i-0123456789abcdef0' };
    const node = readNode({ metadata: { ...meta, name: 'n1', labels }, spec });
    assert.equal(node.ok && node.value.zone, 'eu-west-1b');
  });

  test('its kernel is what kubelet says, if it has', () => {
    const kernelOf = (status: unknown): string | undefined => {
      const node = readNode({ metadata: { ...meta, name: 'n1' }, status });
      assert.ok(node.ok);
      return node.value.kernelVersion;
    };
    assert.equal(kernelOf({ nodeInfo: { kernelVersion: '6.1.155', osImage: 'AL' } }), '6.1.155');
    assert.deepEqual([kernelOf({}), kernelOf({ nodeInfo: null })], [undefined, undefined]);
  });

  test('without a name is named by its field', () => {
    const node = readNode({ metadata: meta });
    assert.ok(!node.ok);
    assert.equal(node.error.field, 'metadata.name');
  });
});

suite('a Pod that asks for a branch ENI', () => {
  const asks = (containers: unknown): boolean => {
    const pod = readPod({
      metadata: { ...meta, name: 'web', namespace: 'default' },
      spec: { containers },
    });
    assert.ok(pod.ok);
    return pod.value.asksBranchEni === true;
  };
  const resource = { 'vpc.amazonaws.com/pod-eni': '1' };
  const cases: readonly [string, boolean, unknown][] = [
    ['by a limit of its second container', true, [{ name: 'a' }, { resources: { limits: resource } }]],
    ['by a request', true, [{ resources: { requests: resource } }]],
    ['and one that asks for others', false, [{ resources: { limits: { cpu: 1 } } }]],
    ['and one without containers', false, undefined],
    ['and what is no list', false, { resources: { limits: resource } }],
    ['and containers that are none', false, [null, 'c', { resources: [] }]],
  ];
  for (const [title, expected, containers] of cases)
    test(title, () => {
      assert.equal(asks(containers), expected);
    });
});

suite('a Pod', () => {
  const read = (more: object): ReturnType<typeof readPod> =>
    readPod({ metadata: { ...meta, name: 'web', namespace: 'default' }, spec: {}, ...more });

  test('is kept with what is read of it, and nothing more', () => {
    const annotations = {
      'eniwhere.io/eni-config': 'a',
      'kubectl.kubernetes.io/last-applied-configuration': '{}',
    };
    const pod = read({
      metadata: { ...meta, name: 'web', namespace: 'default', labels: { app: 'web' }, annotations },
      spec: { nodeName: 'n1', containers: [{ name: 'c', image: 'i' }] },
      status: { phase: 'Running', podIP: '10.0.0.1' },
    });
    assert.deepEqual(pod, {
      ok: true,
      value: {
        name: 'web',
        namespace: 'default',
        key: 'default/web',
        uid: 'u',
        resourceVersion: '1',
        generation: 0,
        labels: { app: 'web' },
        annotations: { 'eniwhere.io/eni-config': 'a' },
        deleting: false,
        nodeName: 'n1',
        hostNetwork: false,
        finished: false,
      },
    });
  });

  const phases: readonly [string, boolean][] = [
    ['Pending', false],
    ['Running', false],
    ['Unknown', false],
    ['Succeeded', true],
    ['Failed', true],
  ];
  for (const [phase, finished] of phases)
    test(`in phase ${phase} ${finished ? 'holds no address any more' : 'needs its address'}`, () => {
      const pod = read({ status: { phase } });
      assert.equal(pod.ok && pod.value.finished, finished);
    });

  test('that is on its way out says so', () => {
    const metadata = {
      ...meta,
      name: 'web',
      namespace: 'default',
      deletionTimestamp: '2026-11-30T10:00:00Z',
    };
    const pod = read({ metadata });
    assert.equal(pod.ok && pod.value.deleting, true);
  });
});
