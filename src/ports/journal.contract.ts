// What every Journal must do, in memory or in a file: run against each with the same words.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ip } from '../domain/address/testing.ts';
import type { JournalRecord } from '../domain/ipam/ledger.ts';
import { allocation, sandbox } from '../domain/ipam/testing-node.ts';
import type { Journal, JournalContent } from './journal.ts';

export interface JournalContractWorld {
  /** The journal as a new life of the agent opens it. */
  open(): Journal;
  /** The process ends between two calls; what was durable stays. */
  crash(): Promise<void>;
  /** The power goes while the records are being appended: their last byte never reaches the disk. */
  cutAppend(journal: Journal, records: readonly JournalRecord[]): Promise<void>;
  /** Runs work to its end; a simulated world moves its time meanwhile. */
  run<T>(work: () => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

const record = (n: number): JournalRecord => ({ type: 'Forgotten', at: n, ip: ip(`10.1.0.${n}`) });

const everyType: readonly JournalRecord[] = [
  { type: 'SpecSeen', at: 1, spec: { uid: 'uid-ü-"quoted"\n', generation: 7 } },
  { type: 'Allocated', at: 2, allocation: allocation('a', '10.1.0.4') },
  { type: 'Released', at: 3, sandbox: sandbox('a'), addresses: [ip('10.1.0.4'), ip('2600:1f14::4')] },
  { type: 'Withdrawn', at: 4, ip: ip('10.1.0.4'), generation: 7 },
  { type: 'Forgotten', at: 5, ip: ip('10.1.0.4') },
];

async function contentOf(journal: Journal): Promise<JournalContent> {
  const loaded = await journal.load();
  if (loaded.kind !== 'ok') assert.fail(`not read: ${JSON.stringify(loaded)}`);
  return loaded.value;
}

async function write(write: ReturnType<Journal['append']>): Promise<void> {
  assert.equal((await write).kind, 'ok');
}

/** `make` gives a world with an empty journal. */
export function journalContract(name: string, make: () => Promise<JournalContractWorld>): void {
  const check = (what: string, body: (world: JournalContractWorld) => Promise<void>): void => {
    test(what, async () => {
      const world = await make();
      try {
        await world.run(() => body(world));
      } finally {
        await world.close();
      }
    });
  };

  describe(`a journal ${name}`, () => {
    check('is empty at first', async (world) => {
      assert.deepEqual(await contentOf(world.open()), { records: [] });
    });

    check('gives every kind of record back, in the order in which they were appended', async (world) => {
      const journal = world.open();
      await contentOf(journal);
      await write(journal.append(everyType.slice(0, 2)));
      await write(journal.append(everyType.slice(2)));
      await world.crash();
      assert.deepEqual(await contentOf(world.open()), { records: everyType });
    });

    check('remembers over many lives', async (world) => {
      for (let life = 1; life <= 5; life++) {
        const journal = world.open();
        assert.equal((await contentOf(journal)).records.length, life - 1);
        await write(journal.append([record(life)]));
        await world.crash();
      }
      assert.deepEqual((await contentOf(world.open())).records, [1, 2, 3, 4, 5].map(record));
    });

    check('forgets everything but what it was rewritten with, and goes on from there', async (world) => {
      const journal = world.open();
      await contentOf(journal);
      await write(journal.append([record(1), record(2)]));
      await write(journal.rewrite([record(2)]));
      await write(journal.append([record(3)]));
      await world.crash();
      assert.deepEqual((await contentOf(world.open())).records, [record(2), record(3)]);
    });

    check('can be rewritten with nothing', async (world) => {
      const journal = world.open();
      await contentOf(journal);
      await write(journal.append([record(1)]));
      await write(journal.rewrite([]));
      await world.crash();
      assert.deepEqual(await contentOf(world.open()), { records: [] });
    });

    check(
      'keeps none of the records of a write that was cut off, says so once, and stays usable',
      async (world) => {
        const journal = world.open();
        await contentOf(journal);
        await write(journal.append([record(1)]));
        await world.cutAppend(journal, [record(2), record(3)]);
        await world.crash();

        const next = world.open();
        const content = await contentOf(next);
        assert.deepEqual(content.records, [record(1)]);
        assert.match(content.torn ?? 'nothing said', /cut off/);
        await write(next.append([record(4)]));
        await world.crash();
        assert.deepEqual(await contentOf(world.open()), { records: [record(1), record(4)] });
      },
    );
  });
}
