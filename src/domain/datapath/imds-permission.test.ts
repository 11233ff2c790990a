// Which pods may reach instance metadata: knowledge that is missing or of another pod is no permission.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ip } from '../address/testing.ts';
import { podKey } from '../ids.ts';
import { allocation } from '../ipam/testing-node.ts';
import { imdsAllowed, imdsAnnotationFault, type KnownPod } from './imds-permission.ts';

const ALLOW = { 'eniwhere.io/allow-imds': 'true' };

const known = (name: string, over: Partial<KnownPod> = {}): KnownPod => ({
  key: podKey('shop', name),
  uid: `uid-${name}`,
  annotations: {},
  ...over,
});

const allowed = (...pods: KnownPod[]): readonly string[] =>
  imdsAllowed({
    allocations: [allocation('b', '10.1.0.9'), allocation('a', '10.1.0.10')],
    pods: new Map(pods.map((pod) => [pod.key, pod])),
  });

describe('the permission to reach instance metadata', () => {
  for (const { title, pods, expected } of [
    { title: 'no pod is known: nobody', pods: [], expected: [] },
    { title: 'a pod without the annotation has none', pods: [known('a')], expected: [] },
    {
      title: 'a pod with the annotation has it',
      pods: [known('a', { annotations: ALLOW }), known('b')],
      expected: ['10.1.0.10'],
    },
    {
      title: 'addresses are listed in their order',
      pods: [known('a', { annotations: ALLOW }), known('b', { annotations: ALLOW })],
      expected: ['10.1.0.9', '10.1.0.10'],
    },
    {
      title: 'the annotation of another pod of the same name is not its own',
      pods: [known('a', { annotations: ALLOW, uid: 'uid-of-the-next' })],
      expected: [],
    },
    {
      title: 'a static pod is known by the uid that its mirror names',
      pods: [
        known('a', {
          uid: 'uid-of-the-mirror',
          annotations: { ...ALLOW, 'kubernetes.io/config.mirror': 'uid-a' },
        }),
      ],
      expected: ['10.1.0.10'],
    },
    ...['True', 'TRUE', '1', 'yes', '', ' true', 'false'].map((value) => ({
      title: `"${value}" is not "true"`,
      pods: [known('a', { annotations: { 'eniwhere.io/allow-imds': value } })],
      expected: [],
    })),
  ]) {
    test(`[NET-1] ${title}`, () => assert.deepEqual(allowed(...pods), expected));
  }

  test('[NET-1] an adopted pod, whose uid is not known, has none', () => {
    const adopted = { ...allocation('a', '10.1.0.10'), podUid: '' };
    const pods = new Map([[adopted.pod, known('a', { annotations: ALLOW, uid: '' })]]);
    assert.deepEqual(imdsAllowed({ allocations: [adopted], pods }), []);
  });

  test('both addresses of a pod with two families have it', () => {
    const both = { ...allocation('a', '10.1.0.10'), addresses: [ip('2001:db8::1'), ip('10.1.0.10')] };
    const pods = new Map([[both.pod, known('a', { annotations: ALLOW })]]);
    assert.deepEqual(imdsAllowed({ allocations: [both], pods }), ['10.1.0.10', '2001:db8::1']);
  });
});

describe('a fault of the annotation', () => {
  for (const value of [undefined, 'true', 'false']) {
    test(`${value} has none`, () => {
      const annotations = value === undefined ? {} : { 'eniwhere.io/allow-imds': value };
      assert.equal(imdsAnnotationFault(known('a', { annotations })), undefined);
    });
  }

  test('another value is told with its fix', () => {
    const fault = imdsAnnotationFault(known('a', { annotations: { 'eniwhere.io/allow-imds': 'yes\n' } }));
    assert.equal(
      fault,
      'annotation eniwhere.io/allow-imds is "yes\\n", so the pod gets no access to instance metadata; write "true" or "false"',
    );
  });
});
