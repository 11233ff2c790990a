// A journal summed up beside the agent that writes it.

import assert from 'node:assert/strict';
import { appendFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { allocation } from '../../domain/ipam/testing-node.ts';
import { createFileJournal } from './file-journal.ts';
import { summarizeJournal } from './journal-summary.ts';

test('counts records, lists pods, tells a torn end, and changes nothing', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'eniwhere-journal-'));
  const path = join(directory, 'journal');
  try {
    const journal = createFileJournal(path);
    await journal.load();
    const [web, cart] = [allocation('web', '10.1.0.4'), allocation('cart', '10.1.0.5')];
    await journal.append([
      { type: 'Allocated', at: 1, allocation: web },
      { type: 'Allocated', at: 2, allocation: cart },
      { type: 'Released', at: 3, sandbox: cart.sandbox, addresses: cart.addresses },
    ]);
    assert.match(await summarizeJournal(path), /sound\nrecords: Allocated 2, Released 1\n/);
    await appendFile(path, '00000000 [{"ty');
    const before = await readFile(path, 'utf8');
    const text = await summarizeJournal(path);
    assert.match(text, /torn at line 2/);
    assert.match(text, /cooling: 10\.1\.0\.5\n/);
    assert.match(text, /allocations: 1\n {2}shop\/web 10\.1\.0\.4 eniweb\n$/);
    assert.equal(await readFile(path, 'utf8'), before);
  } finally {
    await rm(directory, { recursive: true });
  }
});
