// One line of the journal file: a checksum, the records that were written together, and the line's end.

import { crc32 } from 'node:zlib';
import type { JournalRecord } from '../../domain/ipam/ledger.ts';

/**
 * `crc32 of the JSON, 8 hex digits` space `JSON` newline: a torn or damaged line is known as such. Records of one append
 * share a line, so that a crash leaves all of them or none.
 */
export function writeLine(records: readonly JournalRecord[]): string {
  const json = JSON.stringify(records);
  return `${checksum(json)} ${json}\n`;
}

const checksum = (json: string): string => crc32(json).toString(16).padStart(8, '0');

export interface ReadLines {
  readonly records: readonly JournalRecord[];
  /** Bytes of whole, sound lines from the beginning. */
  readonly soundLength: number;
  /** Number of the first line that is not sound, from 1; absent when all are. */
  readonly badLine?: number;
  /** Whether sound lines follow the bad one: then it is no torn write but damage. */
  readonly isDamaged: boolean;
}

/** Reads as far as the lines are sound. */
export function readLines(content: Buffer): ReadLines {
  const records: JournalRecord[] = [];
  let offset = 0;
  for (let line = 1; offset < content.length; line += 1) {
    const end = content.indexOf(0x0a, offset);
    const written = end < 0 ? undefined : parseLine(content.toString('utf8', offset, end));
    if (written === undefined) {
      const rest = end < 0 ? '' : content.toString('utf8', end + 1);
      const isDamaged = rest.split('\n').some((one) => parseLine(one) !== undefined);
      return { records, soundLength: offset, badLine: line, isDamaged };
    }
    records.push(...written);
    offset = end + 1;
  }
  return { records, soundLength: offset, isDamaged: false };
}

/** The checksum vouches for the content: whoever wrote it wrote records. */
function parseLine(line: string): readonly JournalRecord[] | undefined {
  const json = line.slice(9);
  if (line[8] !== ' ' || line.slice(0, 8) !== checksum(json)) return undefined;
  return JSON.parse(json) as readonly JournalRecord[];
}
