// The ledger and its journal: what is in one is in the other, whatever the disk does.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { ip } from '../domain/address/testing.ts';
import { ledgerFrom } from '../domain/ipam/apply-record.ts';
import { allocation, sandbox } from '../domain/ipam/testing-node.ts';
import { createMemoryJournal, type MemoryJournal } from '../lab/journal/memory-journal.ts';
import { createKernel } from '../lab/kernel/kernel.ts';
import { settle } from '../lab/kernel/settle.ts';
import type { Journal } from '../ports/journal.ts';
import { unknown } from '../ports/outcome.ts';
import { createLedgerStore, type LedgerStore } from './ledger-store.ts';

interface Bench {
  readonly journal: MemoryJournal;
  readonly store: LedgerStore;
  readonly marks: string[];
  /** How often the journal was called. */
  readonly calls: { append: number; rewrite: number };
  run<T>(work: Promise<T>): Promise<T>;
}

async function bench(change: (journal: Journal) => Journal = (journal) => journal): Promise<Bench> {
  const kernel = createKernel({ seed: 1 });
  const clock = kernel.clock('agent');
  const journal = createMemoryJournal();
  const opened = change(journal.open(clock));
  const calls = { append: 0, rewrite: 0 };
  const marks: string[] = [];
  const quiet = (): void => {};
  const store = createLedgerStore({
    journal: {
      load: () => opened.load(),
      append: (records) => {
        calls.append += 1;
        return opened.append(records);
      },
      rewrite: (records) => {
        calls.rewrite += 1;
        return opened.rewrite(records);
      },
    },
    clock,
    log: { debug: quiet, info: quiet, warn: quiet, error: quiet, mark: (name) => marks.push(name) },
    onChange: quiet,
  });
  const run = <T>(work: Promise<T>): Promise<T> => settle(kernel, work, { drain: () => setImmediate() });
  assert.ok((await run(store.load())).ok);
  return { journal, store, marks, calls, run };
}

const a = allocation('a', '10.1.0.4');
const asJournaled = ({ journal }: Bench): unknown => ledgerFrom(journal.records()).allocations;

describe('the store', () => {
  test('holds a reserved address at once, before it is durable [IP-1]', async () => {
    const made = await bench();
    const reserved = made.store.reserve(a);
    assert.ok(made.store.ledger().holders.has(ip('10.1.0.4')));
    assert.equal(made.journal.records().length, 0);
    assert.ok((await made.run(reserved)).ok);
    assert.deepEqual(asJournaled(made), made.store.ledger().allocations);
  });

  test('changes the ledger by a release only once it is durable', async () => {
    const made = await bench();
    await made.run(made.store.reserve(a));
    const released = made.store.record([
      { type: 'Released', at: 5, sandbox: sandbox('a'), addresses: a.addresses },
    ]);
    assert.equal(made.store.ledger().allocations.size, 1);
    await made.run(released);
    assert.equal(made.store.ledger().allocations.size, 0);
  });

  test('writes what many ask for at once in few writes', async () => {
    const made = await bench();
    const many = Array.from({ length: 50 }, (_, n) =>
      made.store.reserve(allocation(`p${n}`, `10.1.0.${n + 4}`)),
    );
    const results = await made.run(Promise.all(many));
    assert.ok(results.every(({ ok }) => ok));
    assert.deepEqual(made.calls, { append: 2, rewrite: 0 });
    assert.deepEqual(asJournaled(made), made.store.ledger().allocations);
  });

  test('gives a reservation that could not be written back, and writes the journal anew before anything else', async () => {
    const made = await bench();
    made.journal.refuse({ message: 'ENOSPC' });
    const result = await made.run(made.store.reserve(a));
    assert.deepEqual(result, { ok: false, error: 'the journal cannot be written: ENOSPC' });
    assert.equal(made.store.ledger().allocations.size, 0);
    assert.deepEqual([...made.store.ledger().cooling.keys()], ['10.1.0.4']);
    made.journal.refuse(undefined);
    assert.ok((await made.run(made.store.reserve(allocation('b', '10.1.0.5')))).ok);
    assert.deepEqual(made.calls, { append: 1, rewrite: 1 });
    assert.deepEqual(ledgerFrom(made.journal.records()).cooling, made.store.ledger().cooling);
    assert.equal(made.store.failure(), undefined);
  });

  test('takes a write whose fate is unknown for not done, and the journal for doubtful', async () => {
    let isLost = false;
    const made = await bench((journal) => ({
      ...journal,
      append: async (records) => {
        const outcome = await journal.append(records);
        return isLost ? unknown('the disk did not say') : outcome;
      },
    }));
    isLost = true;
    assert.ok(!(await made.run(made.store.reserve(a))).ok);
    assert.equal(ledgerFrom(made.journal.records()).allocations.size, 1, 'it was written all the same');
    isLost = false;
    assert.ok(
      (await made.run(made.store.reserve(allocation('b', '10.1.0.4')).catch(() => ({ ok: false })))).ok,
    );
    assert.deepEqual(asJournaled(made), made.store.ledger().allocations);
  });

  test('remembers which withdrawals are not durable, until a repair makes them so [IP-6]', async () => {
    const made = await bench();
    made.journal.refuse({ message: 'EIO' });
    assert.ok(!(await made.run(made.store.letGo([ip('10.1.0.4')], 3))).ok);
    assert.deepEqual([...made.store.undurable()], ['10.1.0.4']);
    assert.ok(made.store.ledger().withdrawn.has(ip('10.1.0.4')), 'not offered meanwhile');
    made.journal.refuse(undefined);
    assert.ok((await made.run(made.store.settle())).ok);
    assert.deepEqual([...made.store.undurable()], []);
    assert.ok(made.marks.includes('journal-repaired'));
  });

  test('compacts a journal that has grown far beyond what it says', async () => {
    const made = await bench();
    for (let n = 0; n < 1100; n++) {
      const pod = allocation(`p${n}`, '10.1.0.4');
      await made.run(made.store.reserve(pod));
      await made.run(
        made.store.record([{ type: 'Released', at: n, sandbox: pod.sandbox, addresses: pod.addresses }]),
      );
    }
    assert.ok(made.marks.includes('journal-compacted'));
    assert.ok(made.journal.records().length < 200, `${made.journal.records().length} records`);
    assert.deepEqual(ledgerFrom(made.journal.records()).cooling, made.store.ledger().cooling);
  });

  test('lets records that contradict the ledger fail their caller alone, and keeps them out of the journal [IP-1]', async () => {
    const made = await bench();
    await made.run(made.store.reserve(a));
    const wrong = made.store.record([{ type: 'Withdrawn', at: 1, ip: ip('10.1.0.4'), generation: 1 }]);
    await assert.rejects(made.run(wrong), /IP-6/);
    assert.ok((await made.run(made.store.reserve(allocation('b', '10.1.0.5')))).ok);
    assert.deepEqual(asJournaled(made), made.store.ledger().allocations);
  });
});
