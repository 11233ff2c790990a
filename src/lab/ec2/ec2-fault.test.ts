// Faults on demand: how they are written, and what a call meets.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { seededRandom } from '../kernel/seeded-random.ts';
import { createEc2Faults, type Ec2Fault, parseEc2Fault } from './ec2-fault.ts';

suite('a fault in words', () => {
  const right: readonly [string, Ec2Fault][] = [
    ['*:throttle', { action: '*', effect: { kind: 'Throttle' }, odds: 1 }],
    [
      'AttachNetworkInterface:throttle:times=3',
      { action: 'AttachNetworkInterface', effect: { kind: 'Throttle' }, odds: 1, times: 3 },
    ],
    [
      'Describe*:stale=15000:odds=0.3',
      { action: 'Describe*', effect: { kind: 'Stale', ms: 15_000 }, odds: 0.3 },
    ],
    [
      'CreateNetworkInterface:error=InvalidSubnetID.NotFound:odds=0.5:times=2',
      {
        action: 'CreateNetworkInterface',
        effect: { kind: 'Error', code: 'InvalidSubnetID.NotFound' },
        odds: 0.5,
        times: 2,
      },
    ],
    ['*:drop-answer', { action: '*', effect: { kind: 'DropAnswer' }, odds: 1 }],
    ['*:drop-request', { action: '*', effect: { kind: 'DropRequest' }, odds: 1 }],
    ['*:delay=2000', { action: '*', effect: { kind: 'Delay', ms: 2000 }, odds: 1 }],
  ];
  for (const [text, fault] of right)
    test(text, () => assert.deepEqual(parseEc2Fault(text), { ok: true, value: fault }));

  const wrong: readonly [string, RegExp][] = [
    ['', /"" is no action of EC2/],
    ['attach:throttle', /"attach" is no action/],
    ['*:explode', /"explode" is no effect/],
    ['*:error', /"error" is no effect/],
    ['*:delay=soon', /"delay=soon" is no effect/],
    ['Describe*:stale=70000', /"stale=70000" is no effect/],
    ['*:throttle:odds=2', /"odds=2" is neither/],
    ['*:throttle:times=1.5', /"times=1.5" is neither/],
    ['*:throttle:often', /"often" is neither.*write ACTION:EFFECT/],
  ];
  for (const [text, message] of wrong)
    test(`"${text}" is refused`, () => {
      const parsed = parseEc2Fault(text);
      assert.match(parsed.ok ? '' : parsed.error, message);
    });
});

test('a fault hits its action alone, as often as it says, until others are set', () => {
  const faults = createEc2Faults(seededRandom(1));
  faults.set([
    { action: 'Describe*', effect: { kind: 'Delay', ms: 5 }, odds: 1, times: 2 },
    { action: 'DescribeSubnets', effect: { kind: 'Delay', ms: 7 }, odds: 1 },
  ]);
  const delays = (): readonly number[] =>
    (['DescribeSubnets', 'DescribeVpcs', 'AttachNetworkInterface', 'DescribeVpcs'] as const).map(
      (action) => faults.meet(action).delayMs,
    );
  assert.deepEqual(delays(), [12, 5, 0, 0]);
  assert.deepEqual(delays(), [7, 0, 0, 0]);
  faults.set([]);
  assert.deepEqual(delays(), [0, 0, 0, 0]);
});

test('odds are drawn per call', () => {
  const faults = createEc2Faults(seededRandom(1));
  faults.set([{ action: '*', effect: { kind: 'Throttle' }, odds: 0.25 }]);
  const hits = Array.from({ length: 1000 }, () => faults.meet('DescribeVpcs').throttled).filter(Boolean);
  assert.ok(hits.length > 200 && hits.length < 300, `${hits.length} of 1000`);
});
