// Pods that ask for an ENIConfig: what their annotations mean, and what is decided.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { podKey } from '../ids.ts';
import type { EniConfigView } from './eni-config.ts';
import {
  decidePodChoice,
  POD_ENI_CONFIG,
  POD_ENI_CONFIG_SELECTOR,
  type PodChoiceInput,
  wishOf,
  wishOfPod,
} from './pod-choice.ts';
import { node, valid } from './testing.ts';

const views: readonly EniConfigView[] = [
  valid({ name: 'blue', labels: { tenant: 'blue' }, free: 10 }),
  valid({ name: 'blue-2', labels: { tenant: 'blue' }, free: 90 }),
  valid({ name: 'far', zone: 'us-west-2b', labels: { tenant: 'far' } }),
  valid({ name: 'abroad', vpc: 'vpc-0000000b' }),
  {
    kind: 'Invalid',
    name: 'broken',
    labels: { tenant: 'red' },
    message: 'subnet-1 does not exist',
    fix: 'set it',
  },
  { kind: 'Unresolved', name: 'fresh', labels: { tenant: 'new' }, message: 'not yet' },
];
const byName = new Map(views.map((view) => [view.kind === 'Valid' ? view.eniConfig.name : view.name, view]));

function decide(annotations: Readonly<Record<string, string>>, more: Partial<PodChoiceInput> = {}): string {
  const wish = wishOf(annotations);
  assert.ok(wish.kind !== 'Nothing');
  const decision = decidePodChoice({
    pod: podKey('default', 'p1'),
    uid: 'u1',
    wish,
    node: node(),
    byName,
    customNetworking: true,
    present: [],
    ...more,
  });
  if (decision === undefined) return 'not yet';
  if (decision.kind === 'EniConfig') return decision.eniConfig;
  assert.notEqual(decision.message, '');
  return decision.reason;
}

describe('[POD-2] what a pod asks for', () => {
  it('its own annotation goes before its namespace’s', () => {
    const namespace = { [POD_ENI_CONFIG]: 'red' };
    assert.deepEqual(wishOfPod({ [POD_ENI_CONFIG]: 'blue' }, namespace), { kind: 'Name', name: 'blue' });
    assert.deepEqual(wishOfPod({}, namespace), { kind: 'Name', name: 'red' });
    assert.deepEqual(wishOfPod({}, undefined), { kind: 'Nothing' });
  });

  const mistakes: readonly [string, Readonly<Record<string, string>>][] = [
    ['an empty name', { [POD_ENI_CONFIG]: '' }],
    ['a name of spaces', { [POD_ENI_CONFIG]: '  ' }],
    ['an empty selector', { [POD_ENI_CONFIG_SELECTOR]: '' }],
    ['a selector that is none', { [POD_ENI_CONFIG_SELECTOR]: 'tenant in blue' }],
    ['both', { [POD_ENI_CONFIG]: 'blue', [POD_ENI_CONFIG_SELECTOR]: 'tenant' }],
  ];
  for (const [title, annotations] of mistakes)
    it(`${title} is a mistake, and does not count as nothing`, () => {
      assert.equal(decide(annotations), 'PodChoiceInvalid');
    });
});

describe('[POD-1] what is decided for it', () => {
  const named: readonly [string, string][] = [
    ['blue', 'blue'],
    ['ghost', 'EniConfigNotFound'],
    ['broken', 'EniConfigInvalid'],
    ['far', 'EniConfigInOtherZone'],
    ['abroad', 'EniConfigInOtherVpc'],
    ['fresh', 'not yet'],
  ];
  for (const [name, expected] of named)
    it(`asking for ${name}: ${expected}`, () => {
      assert.equal(decide({ [POD_ENI_CONFIG]: name }), expected);
    });

  const selected: readonly [string, string, Partial<PodChoiceInput>, string][] = [
    ['the one with the most room', 'tenant=blue', {}, 'blue-2'],
    ['one that the node has ENIs of', 'tenant=blue', { present: ['far', 'blue'] }, 'blue'],
    ['the one decided before', 'tenant=blue', { present: ['blue-2'], before: 'blue' }, 'blue'],
    ['none in the zone', 'tenant=far', {}, 'NoEniConfigInZone'],
    ['only a broken one', 'tenant=red', {}, 'NoEniConfigInZone'],
    ['none at all', 'tenant=none', {}, 'NoEniConfigInZone'],
    ['one that is not known yet', 'tenant=new', {}, 'not yet'],
    ['one not known yet beside one in use', 'tenant in (new, blue)', { present: ['blue'] }, 'blue'],
  ];
  for (const [title, text, more, expected] of selected)
    it(`asking by labels, ${title}: ${expected}`, () => {
      assert.equal(decide({ [POD_ENI_CONFIG_SELECTOR]: text }, more), expected);
    });

  it('with custom networking off nothing can be chosen, and the pod gets nothing', () => {
    assert.equal(decide({ [POD_ENI_CONFIG]: 'blue' }, { customNetworking: false }), 'CustomNetworkingOff');
  });
});
