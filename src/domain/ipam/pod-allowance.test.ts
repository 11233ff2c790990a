// What an ADD may take: everything that can be known or not known of the pod, in every combination.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { POD_ENI_CONFIG, POD_ENI_CONFIG_SELECTOR } from '../eniconfig/pod-choice.ts';
import { podKey } from '../ids.ts';
import type { Choosing } from './node-network.ts';
import { allowanceOf, enisFor, type PodAtAdd } from './pod-allowance.ts';
import { specEni } from './testing-node.ts';

const key = podKey('shop', 'cart');
const pod = (change: Partial<PodAtAdd> = {}): PodAtAdd => ({
  key,
  namespace: 'shop',
  uid: 'u1',
  annotations: {},
  ...change,
});
const unknown: PodAtAdd = { key, namespace: 'shop', uid: 'u1' };
const nobody: Choosing = { namespaces: [], pods: [] };
const decided: Choosing = {
  namespaces: [],
  pods: [{ kind: 'EniConfig', pod: key, uid: 'u1', eniConfig: 'blue' }],
};
const refused: Choosing = {
  namespaces: [],
  pods: [{ kind: 'Refused', pod: key, uid: 'u1', reason: 'EniConfigNotFound', message: 'no such ENIConfig' }],
};
const blue = { [POD_ENI_CONFIG]: 'blue' };

describe('[POD-3] a pod gets an address of the ENIConfig decided for it, or of the node’s own, or none', () => {
  const rows: readonly [string, Choosing | undefined, PodAtAdd, string][] = [
    ['it asks for nothing', nobody, pod(), 'Everybody'],
    ['it asks, and is decided', decided, pod({ annotations: blue }), 'Chosen'],
    [
      'it asks by labels, and is decided',
      decided,
      pod({ annotations: { [POD_ENI_CONFIG_SELECTOR]: 'a' } }),
      'Chosen',
    ],
    ['it asks, and is not decided', nobody, pod({ annotations: blue }), 'Wait'],
    [
      'it asks by labels, and is not decided',
      nobody,
      pod({ annotations: { [POD_ENI_CONFIG_SELECTOR]: 'a' } }),
      'Wait',
    ],
    ['it asks wrongly, and is not decided', nobody, pod({ annotations: { [POD_ENI_CONFIG]: '' } }), 'Wait'],
    [
      'it asks for another than was decided',
      decided,
      pod({ annotations: { [POD_ENI_CONFIG]: 'red' } }),
      'Wait',
    ],
    ['it is refused', refused, pod({ annotations: blue }), 'Refused'],
    [
      'a pod of the same name was decided, this one is another',
      decided,
      pod({ uid: 'u2', annotations: blue }),
      'Wait',
    ],
    ['the same, and it asks for nothing', decided, pod({ uid: 'u2' }), 'Everybody'],
    ['its namespace asks, and it is not decided', { namespaces: ['shop'], pods: [] }, pod(), 'Wait'],
    ['its namespace asks, and it is decided', { ...decided, namespaces: ['shop'] }, pod(), 'Chosen'],
    ['another namespace asks', { namespaces: ['bank'], pods: [] }, pod(), 'Everybody'],
    ['nobody has told of it', nobody, unknown, 'Wait'],
    ['nobody has told of it, and it is decided', decided, unknown, 'Chosen'],
    ['nobody has told of it, and pods may not choose', undefined, unknown, 'Everybody'],
    ['pods may not choose, and it asks for nothing', undefined, pod(), 'Everybody'],
    ['pods may not choose, and it asks', undefined, pod({ annotations: blue }), 'Refused'],
    ['its uid is not known', decided, pod({ uid: '', annotations: blue }), 'Wait'],
  ];
  for (const [title, choosing, who, kind] of rows)
    it(`${title}: ${kind}`, () => {
      assert.equal(allowanceOf(choosing, who).kind, kind);
    });

  it('of no mix of what is known does a pod that asks for one ENIConfig get an address of another', () => {
    const own = { ...specEni({ deviceIndex: 1 }), eniConfig: 'own' };
    const eniBlue = { ...specEni({ deviceIndex: 2 }), chosenOnly: true as const };
    const red = { ...specEni({ deviceIndex: 3 }), eniConfig: 'red', chosenOnly: true as const };
    const name = fc.constantFrom('blue', 'red', 'own');
    const decision = fc.record({ uid: fc.constantFrom('u1', 'u2'), eniConfig: name });
    fc.assert(
      fc.property(name, fc.array(decision, { maxLength: 2 }), fc.boolean(), (asked, decisions, isTold) => {
        const choosing: Choosing = {
          namespaces: [],
          pods: decisions.map((one) => ({ kind: 'EniConfig', pod: key, ...one })),
        };
        const who = isTold ? pod({ annotations: { [POD_ENI_CONFIG]: asked } }) : unknown;
        const allowance = allowanceOf(choosing, who);
        const opened = enisFor([own, eniBlue, red], allowance).map((eni) => eni.eniConfig);
        if (isTold)
          assert.ok(
            opened.every((one) => one === asked),
            opened.join(),
          );
        // What is not told is decided by the controller for this very uid, or waits.
        else
          assert.ok(
            opened.every((one) => decisions.some(({ uid, eniConfig }) => uid === 'u1' && eniConfig === one)),
          );
      }),
      { seed: 20_261, numRuns: 1000 },
    );
  });
});
