// What a journal file holds, counted and listed, without opening it for writing: its agent may be running.

import { readFile } from 'node:fs/promises';
import { compact, ledgerFrom } from '../../domain/ipam/apply-record.ts';
import { readLines } from './journal-line.ts';

/** For people. Rejects when there is no such file. */
export async function summarizeJournal(path: string): Promise<string> {
  const content = await readFile(path);
  const { records, badLine, isDamaged } = readLines(content);
  const counts = new Map<string, number>();
  for (const { type } of records) counts.set(type, (counts.get(type) ?? 0) + 1);
  const ledger = ledgerFrom(records);
  const pods = [...ledger.allocations.values()].map(
    ({ pod, addresses, hostLink }) => `  ${pod} ${addresses.join(' ')} ${hostLink}`,
  );
  const state =
    badLine === undefined ? 'sound' : isDamaged ? `damaged at line ${badLine}` : `torn at line ${badLine}`;
  return [
    `${path}: ${content.length} bytes, ${state}`,
    `records: ${[...counts].map(([type, count]) => `${type} ${count}`).join(', ') || 'none'}`,
    `records needed: ${compact(ledger, 0).length}`,
    `spec acted on: ${ledger.spec === undefined ? 'none' : `generation ${ledger.spec.generation} of ${ledger.spec.uid}`}`,
    `cooling: ${[...ledger.cooling.keys()].join(' ') || 'none'}`,
    `withdrawn: ${[...ledger.withdrawn.keys()].join(' ') || 'none'}`,
    `allocations: ${pods.length}`,
    ...pods,
    '',
  ].join('\n');
}
