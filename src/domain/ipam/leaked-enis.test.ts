// Leaked ENIs: what is collected, and above all what is not.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { AttachmentId, EniId, InstanceId } from '../ids.ts';
import { findLeaks, type LeakView, type OwnEni } from './leaked-enis.ts';

const NODE = 'i-00000001' as InstanceId;
const GONE = 'i-00000002' as InstanceId;
const ENI = 'eni-00000001' as EniId;
const NOW = 1_000_000;
const SUSPECTED = new Map([[ENI, NOW - 60_000]]);

const eni = (change: Partial<OwnEni> = {}): OwnEni => ({
  eniId: ENI,
  instanceId: GONE,
  createdAt: NOW - 600_000,
  ...change,
});
const attached = (change: Partial<NonNullable<OwnEni['attachment']>> = {}): Partial<OwnEni> => ({
  attachment: {
    attachmentId: 'eni-attach-00000001' as AttachmentId,
    deleteOnTermination: false,
    state: 'attached',
    ...change,
  },
});
const view = (one: OwnEni, change: Partial<LeakView> = {}): LeakView => ({
  now: NOW,
  enis: [one],
  nodeInstances: new Set([NODE]),
  suspects: SUSPECTED,
  lifeMs: 150_000,
  suspicionMs: 60_000,
  ...change,
});
const found = (one: OwnEni, change: Partial<LeakView> = {}): readonly string[] =>
  findLeaks(view(one, change)).steps.map((step) => step.do);

suite('[ENI-5] an own ENI', () => {
  const cases: readonly [string, readonly string[], OwnEni, Partial<LeakView>?][] = [
    ['of an instance that is no node, seen so twice', ['DeleteEni'], eni()],
    ['seen so for the first time', [], eni(), { suspects: new Map() }],
    ['seen so twice, but shortly after another', [], eni(), { suspects: new Map([[ENI, NOW - 59_999]]) }],
    ['of a node', [], eni({ instanceId: NODE })],
    ['younger than an intent lives', [], eni({ createdAt: NOW - 149_999 })],
    [
      'made two hours from now, by a clock that was wrong, and watched for as long as an intent lives',
      ['DeleteEni'],
      eni({ createdAt: NOW + 7_200_000 }),
      { suspects: new Map([[ENI, NOW - 150_000]]) },
    ],
    ['made two hours from now, and seen so twice', [], eni({ createdAt: NOW + 7_200_000 })],
    ['attached to an instance that is no node', ['SetDeleteOnTermination'], eni(attached())],
    ['that goes with such an instance by itself', [], eni(attached({ deleteOnTermination: true }))],
    ['on its way off', [], eni(attached({ state: 'detaching' }))],
    ['attached to a node', [], eni({ ...attached(), instanceId: NODE })],
  ];
  for (const [title, steps, one, change] of cases)
    test(`${title}: ${steps.join() || 'nothing'}`, () => assert.deepEqual(found(one, change), steps));

  test('whose tags name no instance and no time is collected all the same: nobody else can want it', () => {
    assert.deepEqual(found({ eniId: ENI }), ['DeleteEni']);
  });

  test('that belonged to a node again in between is suspected anew', () => {
    const back = findLeaks(view(eni(), { nodeInstances: new Set([GONE]) }));
    assert.deepEqual(back.suspects, new Map());
    const gone = findLeaks(view(eni(), { suspects: back.suspects, now: NOW + 60_000 }));
    assert.deepEqual([gone.steps, gone.suspects], [[], new Map([[ENI, NOW + 60_000]])]);
  });
});
