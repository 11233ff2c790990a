// A watch's bytes, cut into lines wherever the chunks were torn, and each line read as an event.

import { z } from 'zod';
import { err, ok, type Result } from '../../domain/result.ts';
import { parseJson, readStatus } from './classify-answer.ts';

export interface LineSplitter {
  /** The lines that end in this chunk, in order, without their line feeds. Errors when a line grows past all bounds. */
  push(chunk: Buffer): Result<readonly string[], string>;
}

/** An object in etcd is at most 1.5 MB; as JSON somewhat more. */
const LINE_BYTES_MAX = 16 * 1024 * 1024;
const LINE_FEED = 10;

/** A line is made into text only when it is whole, so a character torn between two chunks stays one. */
export function createLineSplitter(): LineSplitter {
  let parts: Buffer[] = [];
  let partsByteCount = 0;
  return {
    push: (chunk) => {
      const lines: string[] = [];
      let start = 0;
      for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
        lines.push(Buffer.concat([...parts, chunk.subarray(start, end)]).toString('utf8'));
        parts = [];
        partsByteCount = 0;
        start = end + 1;
      }
      if (start < chunk.length) {
        parts.push(chunk.subarray(start));
        partsByteCount += chunk.length - start;
      }
      return partsByteCount > LINE_BYTES_MAX
        ? err(`a line of the watch is longer than ${LINE_BYTES_MAX} bytes`)
        : ok(lines);
    },
  };
}

export type RawWatchEvent =
  | { readonly type: 'Applied' | 'Deleted'; readonly object: unknown; readonly resourceVersion: string }
  | { readonly type: 'Bookmark'; readonly resourceVersion: string }
  /** The server cannot go on from where we are: list anew. */
  | { readonly type: 'Expired' }
  | { readonly type: 'Error'; readonly message: string; readonly retryAfterMs?: number };

const versioned = z.object({ metadata: z.object({ resourceVersion: z.string().min(1) }) });
const envelope = z.object({ type: z.string(), object: z.unknown() });

/** Reads one line. An error is no event at all: the stream is broken. */
export function readWatchEvent(line: string): Result<RawWatchEvent, string> {
  const event = envelope.safeParse(parseJson(line));
  if (!event.success) return err(`no watch event: ${line.slice(0, 200)}`);
  const { type, object } = event.data;
  if (type === 'ERROR') return ok(errorEvent(object));
  const known = { ADDED: 'Applied', MODIFIED: 'Applied', DELETED: 'Deleted', BOOKMARK: 'Bookmark' } as const;
  const read = versioned.safeParse(object);
  if (!read.success) return err(`a ${type} event without a resourceVersion`);
  const { resourceVersion } = read.data.metadata;
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      return ok({ type: known[type], object, resourceVersion });
    case 'BOOKMARK':
      return ok({ type: 'Bookmark', resourceVersion });
    default:
      return err(`an event of the unknown type ${JSON.stringify(type.slice(0, 40))}`);
  }
}

function errorEvent(object: unknown): RawWatchEvent {
  const status = readStatus(JSON.stringify(object));
  const { code = 0, reason = '', message = 'no reason given' } = status ?? {};
  if (code === 410 || reason === 'Expired' || reason === 'Gone') return { type: 'Expired' };
  const seconds = status?.details?.retryAfterSeconds;
  return {
    type: 'Error',
    message: `${reason} ${message}`.trim(),
    ...(seconds === undefined ? {} : { retryAfterMs: seconds * 1000 }),
  };
}
