// When a lease is taken, renewed and trusted.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { CONNECT_TIMEOUT_MS, REQUEST_TIMEOUT_MS } from '../../adapters/aws/create-aws-ec2.ts';
import {
  decideLease,
  EC2_CALL_MAX_MS,
  type Instant,
  type Lease,
  LEASE_TIMES,
  type LeaseQuestion,
  mayAct,
} from './lease.ts';

const at = (wallMs: number, bootMs = wallMs): Instant => ({ wallMs, bootMs });
const { durationMs, renewDeadlineMs } = LEASE_TIMES;
const heldBy = (holder: string, more: Partial<Lease> = {}): Lease => ({
  holder,
  durationMs,
  acquiredAt: 1,
  renewedAt: 1,
  transitions: 3,
  ...more,
});
const ask = (more: Partial<LeaseQuestion>): LeaseQuestion => ({
  identity: 'me',
  times: LEASE_TIMES,
  seen: { lease: heldBy('other'), version: '7' },
  observation: { version: '7', since: at(0) },
  now: at(durationMs),
  ...more,
});

suite('[LEAD-1] what is done about a lease', () => {
  const cases: readonly [string, Partial<LeaseQuestion>, string][] = [
    ['there is none', { seen: undefined, observation: undefined }, 'Create'],
    ['it is ours', { seen: { lease: heldBy('me'), version: '7' } }, 'Renew'],
    [
      'it is ours, and long past its time, which nobody has taken',
      { seen: { lease: heldBy('me'), version: '7' }, now: at(durationMs * 9) },
      'Renew',
    ],
    ['it was given up', { seen: { lease: heldBy(''), version: '7' }, now: at(0) }, 'TakeOver'],
    ['another has let it lapse', {}, 'TakeOver'],
    ['another may still hold it', { now: at(durationMs - 1) }, 'Wait'],
    ['it has changed since we last looked', { observation: { version: '6', since: at(0) } }, 'Wait'],
    ['it was never seen before, however old its times look', { observation: undefined }, 'Wait'],
    ['our clock was set forward by a day', { now: at(86_400_000, 1000) }, 'Wait'],
    [
      'our clock was set back: the time since boot says how long it was',
      { now: at(-86_400_000, durationMs) },
      'TakeOver',
    ],
    [
      'the other asks for more time than we do',
      { seen: { lease: heldBy('other', { durationMs: durationMs * 2 }), version: '7' } },
      'Wait',
    ],
    [
      'the other asks for less time than we do',
      { seen: { lease: heldBy('other', { durationMs: 1000 }), version: '7' }, now: at(1000) },
      'Wait',
    ],
  ];
  for (const [title, more, expected] of cases)
    test(`${title}: ${expected}`, () => assert.equal(decideLease(ask(more)).do, expected));

  test('a lease that is taken counts its holders, one that is renewed keeps the count', () => {
    const taken = decideLease(ask({}));
    assert.ok(taken.do === 'TakeOver');
    assert.deepEqual(taken.lease, {
      holder: 'me',
      durationMs,
      acquiredAt: durationMs,
      renewedAt: durationMs,
      transitions: 4,
    });
    const renewed = decideLease(ask({ seen: { lease: heldBy('me'), version: '7' }, now: at(99) }));
    assert.ok(renewed.do === 'Renew');
    assert.deepEqual(renewed.lease, heldBy('me', { renewedAt: 99 }));
  });
});

suite('[LEAD-1] a call may be sent', () => {
  const cases: readonly [string, Instant, boolean][] = [
    ['just after a renewal', at(1), true],
    ['up to the deadline', at(renewDeadlineMs - 1), true],
    ['not from it on', at(renewDeadlineMs), false],
    ['not when the clock was set back meanwhile', at(-86_400_000, renewDeadlineMs), false],
    ['not when the machine was halted, and only the wall clock went on', at(renewDeadlineMs, 1), false],
  ];
  for (const [title, now, expected] of cases)
    test(title, () => assert.equal(mayAct(at(0), now, LEASE_TIMES), expected));

  test('only so early that the longest one has ended before another can lead', () => {
    assert.ok(CONNECT_TIMEOUT_MS + REQUEST_TIMEOUT_MS < EC2_CALL_MAX_MS);
    assert.ok(renewDeadlineMs + EC2_CALL_MAX_MS < durationMs);
    assert.ok(LEASE_TIMES.retryMs * 3 <= renewDeadlineMs, 'three tries before the deadline');
  });
});
