// The file journal keeps the port's contract, and what a file can suffer besides.

import assert from 'node:assert/strict';
import { appendFile, mkdtemp, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { ip } from '../../domain/address/testing.ts';
import type { JournalRecord } from '../../domain/ipam/ledger.ts';
import { journalContract } from '../../ports/journal.contract.ts';
import { createFileJournal } from './file-journal.ts';

const makeDirectory = (): Promise<string> => mkdtemp(join(tmpdir(), 'eniwhere-journal-'));

journalContract('in a file', async () => {
  const directory = await makeDirectory();
  const path = join(directory, 'state', 'journal');
  return {
    open: () => createFileJournal(path),
    crash: async () => {},
    cutAppend: async (journal, records) => {
      assert.equal((await journal.append(records)).kind, 'ok');
      await truncate(path, (await stat(path)).size - 1);
    },
    run: (work) => work(),
    close: () => rm(directory, { recursive: true }),
  };
});

const record = (n: number): JournalRecord => ({ type: 'Forgotten', at: n, ip: ip(`10.1.0.${n}`) });

/** Runs with the path of a journal that holds records 1 to 3, each in a line of its own. */
async function withJournal(body: (path: string) => Promise<void>): Promise<void> {
  const directory = await makeDirectory();
  const path = join(directory, 'journal');
  try {
    const journal = createFileJournal(path);
    assert.equal((await journal.load()).kind, 'ok');
    for (const n of [1, 2, 3]) assert.equal((await journal.append([record(n)])).kind, 'ok');
    await body(path);
  } finally {
    await rm(directory, { recursive: true });
  }
}

const recordCount = async (path: string): Promise<number | string> => {
  const loaded = await createFileJournal(path).load();
  return loaded.kind === 'ok' ? loaded.value.records.length : JSON.stringify(loaded);
};

describe('the journal file', () => {
  test('cut off anywhere gives the records before the cut, and never a wrong one', async () => {
    await withJournal(async (path) => {
      const whole = await readFile(path);
      const ends = [...whole.entries()].filter(([, byte]) => byte === 0x0a).map(([at]) => at + 1);
      const isNearEnd = (length: number): boolean => ends.some((end) => Math.abs(end - length) < 3);
      for (let length = 0; length <= whole.length; length++) {
        if (length % 16 !== 0 && !isNearEnd(length)) continue;
        await writeFile(path, whole.subarray(0, length));
        assert.equal(await recordCount(path), ends.filter((end) => end <= length).length, `${length} bytes`);
        assert.equal(await recordCount(path), ends.filter((end) => end <= length).length, 'and again');
      }
    });
  });

  test('with a flipped bit in any byte of the middle is refused: to go on would be to guess', async () => {
    await withJournal(async (path) => {
      const whole = await readFile(path);
      const firstEnd = whole.indexOf(0x0a) + 1;
      const secondEnd = whole.indexOf(0x0a, firstEnd) + 1;
      for (let at = firstEnd; at < secondEnd - 1; at++) {
        const damaged = Buffer.from(whole);
        damaged.writeUInt8(damaged.readUInt8(at) ^ 0x10, at);
        await writeFile(path, damaged);
        const loaded = await createFileJournal(path).load();
        assert.ok(loaded.kind === 'failed', `byte ${at}`);
        assert.match(
          loaded.failure.message,
          /is damaged at line 2, and sound lines follow: move the file away/,
        );
      }
    });
  });

  test('with zeros behind its end, as some filesystems leave after a power cut, loses nothing', async () => {
    await withJournal(async (path) => {
      await appendFile(path, Buffer.alloc(4096));
      assert.equal(await recordCount(path), 3);
    });
  });

  test('belongs to root alone', async () => {
    await withJournal(async (path) => {
      assert.equal((await stat(path)).mode & 0o777, 0o600);
    });
  });

  test('is not written before it has been read: what it holds is not known', async () => {
    await withJournal(async (path) => {
      const outcome = await createFileJournal(path).append([record(4)]);
      assert.ok(outcome.kind === 'failed');
      assert.match(outcome.failure.message, /has not been loaded/);
    });
  });

  test('that cannot be opened says which and why', async () => {
    await withJournal(async (path) => {
      const loaded = await createFileJournal(join(path, 'below-a-file')).load();
      assert.ok(loaded.kind === 'failed');
      assert.match(loaded.failure.message, /journal .*below-a-file cannot be read: E(EXIST|NOTDIR)/);
    });
  });
});
