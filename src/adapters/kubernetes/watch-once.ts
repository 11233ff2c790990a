// One watch connection from one resourceVersion, to its end.

import type { ApiAnswer, ApiStream, Transport } from './transport.ts';
import { createLineSplitter, type RawWatchEvent, readWatchEvent } from './watch-lines.ts';

export type WatchEnd =
  /** The server ended it in good order, as it does every few minutes: go on from the last version. */
  | { readonly kind: 'Ended' }
  | { readonly kind: 'Expired' }
  | { readonly kind: 'Broken'; readonly cause: string; readonly retryAfterMs?: number }
  | { readonly kind: 'Refused'; readonly answer: Extract<ApiAnswer, { readonly kind: 'Answered' }> };

export interface WatchOnceRequest {
  readonly path: string;
  readonly silenceMs: number;
  readonly onEvent: (event: Extract<RawWatchEvent, { readonly resourceVersion: string }>) => void;
  readonly onEnd: (end: WatchEnd) => void;
}

/** `onEnd` is called once, unless closed. What `onEvent` throws is told to nobody here: it must not. */
export function watchOnce(transport: Transport, request: WatchOnceRequest): ApiStream {
  const splitter = createLineSplitter();
  const take = (line: string): WatchEnd | undefined => {
    if (line === '') return undefined;
    const event = readWatchEvent(line);
    if (!event.ok) return { kind: 'Broken', cause: event.error };
    switch (event.value.type) {
      case 'Expired':
        return { kind: 'Expired' };
      case 'Error': {
        const { message, retryAfterMs } = event.value;
        return { kind: 'Broken', cause: message, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
      }
      case 'Applied':
      case 'Deleted':
      case 'Bookmark':
        request.onEvent(event.value);
        return undefined;
    }
  };
  const stream = transport.stream(
    { path: request.path, silenceMs: request.silenceMs },
    {
      onChunk: (chunk) => {
        const lines = splitter.push(chunk);
        let end: WatchEnd | undefined = lines.ok ? undefined : { kind: 'Broken', cause: lines.error };
        for (const line of lines.ok ? lines.value : []) {
          end = take(line);
          if (end !== undefined) break;
        }
        if (end === undefined) return;
        stream.close();
        request.onEnd(end);
      },
      onEnd: (answer) => request.onEnd(endOf(answer)),
    },
  );
  return stream;
}

function endOf(answer: ApiAnswer): WatchEnd {
  if (answer.kind !== 'Answered') return { kind: 'Broken', cause: answer.cause };
  if (answer.status === 200) return { kind: 'Ended' };
  return answer.status === 410 ? { kind: 'Expired' } : { kind: 'Refused', answer };
}
