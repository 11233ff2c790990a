// The agent's half of the withdrawal handshake, rule by rule.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ip } from '../address/testing.ts';
import { ledgerFrom } from './apply-record.ts';
import type { JournalRecord } from './ledger.ts';
import { allocation, sandbox, specEni } from './testing-node.ts';
import { answerWithdrawals, forgettable, judgeSpec } from './withdrawal.ts';

const a = ip('10.1.0.4');
const asked = [specEni({ addresses: [a], withdrawing: [a] })];
const granted = [specEni({ addresses: [a] })];
const gone = [specEni({})];

describe('the agent lets go of an address that the controller asks for', () => {
  const cases: readonly (readonly [string, readonly JournalRecord[], readonly string[]])[] = [
    ['at once when it never served', [], [a]],
    ['not while a pod holds it', [{ type: 'Allocated', at: 0, allocation: allocation('x', a) }], []],
    [
      'not before its cooldown is over',
      [{ type: 'Released', at: 0, sandbox: sandbox('x'), addresses: [a] }],
      [],
    ],
    ['only once', [{ type: 'Withdrawn', at: 0, ip: a, generation: 3 }], []],
  ];
  for (const [when, records, expected] of cases) {
    test(`${when} [WD-2] [IP-6]`, () => {
      assert.deepEqual(answerWithdrawals(ledgerFrom(records), asked), expected);
    });
  }

  test('but of no address that it does not ask for', () => {
    assert.deepEqual(answerWithdrawals(ledgerFrom([]), granted), []);
  });
});

describe('the agent forgets an address that it let go under generation 5', () => {
  const ledger = ledgerFrom([{ type: 'Withdrawn', at: 0, ip: a, generation: 5 }]);
  for (const [when, enis, generation, expected] of [
    ['when a newer spec lists it no more: it was unassigned', gone, 6, [a]],
    ['when a newer spec grants it without asking for it: the wish was taken back', granted, 6, [a]],
    ['not while a newer spec still asks for it', asked, 6, []],
    ['not for the spec that it answered', asked, 5, []],
    ['not for the first spec of an object made anew, where that grants it', granted, 5, []],
    ['for the first spec of an object made anew that does not list it', gone, 5, [a]],
    ['not for an older spec, which may list it as free', granted, 4, []],
  ] as const) {
    test(`${when} [WD-5] [IP-6]`, () => {
      assert.deepEqual(forgettable(ledger, { enis, generation }), expected);
    });
  }
});

describe('a spec is followed', () => {
  const ledger = ledgerFrom([
    { type: 'SpecSeen', at: 0, spec: { uid: 'first', generation: 9 } },
    { type: 'SpecSeen', at: 0, spec: { uid: 'second', generation: 5 } },
  ]);
  for (const [what, uid, generation, expected] of [
    ['when it is newer', 'second', 6, 'Newer'],
    ['when it is the one followed', 'second', 5, 'Current'],
    ['never when it is older', 'second', 4, 'Stale'],
    ['when the object was made anew, at whatever generation', 'third', 1, 'Newer'],
    ['never when it is of an object that was replaced', 'first', 10, 'Stale'],
  ] as const) {
    test(`${what} [WD-1]`, () => {
      assert.equal(judgeSpec(ledger, { uid, generation }), expected);
    });
  }
});
