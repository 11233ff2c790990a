// How journal records add up, which are refused, and what compaction keeps.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ip } from '../address/testing.ts';
import { applyRecord, compact, ledgerFrom } from './apply-record.ts';
import { emptyLedger, type JournalRecord, sandboxId } from './ledger.ts';
import { allocated, released, rested, sandbox } from './testing-node.ts';

const HOUR_MS = 60 * 60 * 1000;
const a = ip('10.1.0.4');
const b = ip('10.1.0.5');
const specSeen = (uid: string, generation: number): JournalRecord => ({
  type: 'SpecSeen',
  at: 1,
  spec: { uid, generation },
});

describe('the ledger adds records up', () => {
  test('an allocated address has a holder; a released one rests from the time of its release', () => {
    const held = applyRecord(emptyLedger, allocated('x', a));
    assert.equal(held.holders.get(a), sandboxId(sandbox('x')));
    const free = applyRecord(held, released('x', a, 500));
    assert.equal(free.holders.size + free.allocations.size, 0);
    assert.equal(free.cooling.get(a), 500);
  });

  test('applying a record leaves the ledger before it as it was', () => {
    applyRecord(emptyLedger, allocated('x', a));
    assert.equal(emptyLedger.allocations.size, 0);
  });

  test('a rest that is over keeps its date, for the order of reuse', () => {
    const ledger = ledgerFrom([released('x', a, 500), rested([a, b])]);
    assert.deepEqual([[...ledger.cooling], [...ledger.rested]], [[], [[a, 500]]]);
  });

  test('a late release of an address that serves another pod by now takes nothing from it [IP-1]', () => {
    const ledger = ledgerFrom([allocated('new', a), released('old', a, 900)]);
    assert.equal(ledger.holders.get(a), sandboxId(sandbox('new')));
    assert.equal(ledger.cooling.size, 0);
  });

  test('a late release does not bring a withdrawn address back [IP-6]', () => {
    const ledger = ledgerFrom([{ type: 'Withdrawn', at: 1, ip: a, generation: 3 }, released('old', a, 900)]);
    assert.deepEqual([[...ledger.withdrawn], ledger.cooling.size], [[[a, 3]], 0]);
  });

  test('a release frees what the sandbox holds even if the record names less', () => {
    const ledger = ledgerFrom([
      allocated('x', a),
      { type: 'Released', at: 5, sandbox: sandbox('x'), addresses: [] },
    ]);
    assert.deepEqual([ledger.holders.size, [...ledger.cooling]], [0, [[a, 5]]]);
  });

  test('the later of two releases counts', () => {
    assert.equal(ledgerFrom([released('x', a, 500), released('x', a, 300)]).cooling.get(a), 500);
  });

  test('a NodeNetwork made anew restarts the generations; what was let go waits for an answer of the new object', () => {
    const ledger = ledgerFrom([
      specSeen('first', 9),
      { type: 'Withdrawn', at: 1, ip: a, generation: 9 },
      specSeen('second', 1),
    ]);
    assert.deepEqual(ledger.spec, { uid: 'second', generation: 1 });
    assert.deepEqual(ledger.formerUids, ['first']);
    assert.equal(ledger.withdrawn.get(a), 1);
  });

  for (const [rule, records] of [
    ['IP-1', [allocated('x', a), allocated('y', a)]],
    ['IP-6', [allocated('x', a), { type: 'Withdrawn', at: 1, ip: a, generation: 3 }]],
    ['IP-6', [{ type: 'Withdrawn', at: 1, ip: a, generation: 3 }, allocated('x', a)]],
    ['CNI-2', [allocated('x', a), allocated('x', b)]],
  ] as const satisfies readonly (readonly [string, readonly JournalRecord[]])[]) {
    test(`records that break ${rule} are refused [${rule}]`, () => {
      assert.throws(() => ledgerFrom(records), new RegExp(`internal rule broken: ${rule}`));
    });
  }
});

describe('compaction', () => {
  const records: readonly JournalRecord[] = [
    specSeen('first', 4),
    allocated('x', a),
    released('x', a, 10),
    specSeen('second', 2),
    allocated('y', b),
    { type: 'Withdrawn', at: 1, ip: ip('10.1.0.6'), generation: 2 },
    { type: 'Withdrawn', at: 1, ip: ip('10.1.0.7'), generation: 2 },
    { type: 'Forgotten', at: 1, ip: ip('10.1.0.7') },
  ];

  test('keeps everything that the ledger holds', () => {
    for (const ledger of [ledgerFrom(records), ledgerFrom([...records, rested([a])])])
      assert.deepEqual(ledgerFrom(compact(ledger, HOUR_MS)), ledger);
  });

  test('drops releases of more than a day ago whose rest is over, never one that still rests', () => {
    const ledger = ledgerFrom(records);
    const later = 30 * HOUR_MS;
    assert.deepEqual([...ledgerFrom(compact(ledger, later)).cooling], [[a, 10]]);
    assert.deepEqual([...ledgerFrom(compact(applyRecord(ledger, rested([a])), later)).cooling], []);
  });
});
