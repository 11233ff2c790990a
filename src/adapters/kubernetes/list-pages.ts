// A whole list, page by page: each page is projected and dropped before the next is asked for.

import { z } from 'zod';
import { parseJson, readStatus } from './classify-answer.ts';
import type { ApiAnswer, Transport } from './transport.ts';

/** Objects a page: some megabytes of pods. */
const PAGE_SIZE = 500;
/** More pages than 150,000 pods make; past it the server goes in circles. */
const PAGES_MAX = 10_000;

const page = z.object({
  metadata: z.object({ resourceVersion: z.string().min(1), continue: z.string().optional() }),
  // A list without objects may have null for them.
  items: z.array(z.unknown()).nullish(),
});

export type ListEnd =
  | { readonly kind: 'Listed'; readonly resourceVersion: string }
  /** The server has compacted the version that the pages belong to: begin again. */
  | { readonly kind: 'Expired' }
  | { readonly kind: 'Failed'; readonly answer: ApiAnswer };

export interface ListRequest {
  readonly path: string;
  readonly fieldSelector?: string | undefined;
  readonly timeoutMs: number;
  readonly isClosed: () => boolean;
  readonly onObject: (object: unknown) => void;
}

/**
 * Lists without a resourceVersion: the newest state, so that a client that was elsewhere never goes back in time. All
 * pages are of one version, that of the answer.
 */
export async function listPages(transport: Transport, request: ListRequest): Promise<ListEnd> {
  let token = '';
  for (let pageCount = 0; pageCount < PAGES_MAX; pageCount++) {
    if (request.isClosed()) break;
    const answer = await transport.send({
      method: 'GET',
      path: `${request.path}?${query(request.fieldSelector, token)}`,
      timeoutMs: request.timeoutMs,
    });
    if (answer.kind !== 'Answered' || answer.status !== 200) {
      const isExpired = answer.kind === 'Answered' && answer.status === 410;
      return isExpired ? { kind: 'Expired' } : { kind: 'Failed', answer };
    }
    const read = page.safeParse(parseJson(answer.text));
    if (!read.success) {
      return {
        kind: 'Failed',
        answer: { kind: 'BrokenOff', cause: `the list of ${request.path} cannot be read` },
      };
    }
    for (const object of read.data.items ?? []) request.onObject(object);
    const { resourceVersion, continue: next = '' } = read.data.metadata;
    if (next === '') return { kind: 'Listed', resourceVersion };
    token = next;
  }
  return { kind: 'Failed', answer: { kind: 'BrokenOff', cause: `the list of ${request.path} does not end` } };
}

function query(fieldSelector: string | undefined, token: string): string {
  const fields = new URLSearchParams({ limit: String(PAGE_SIZE) });
  if (fieldSelector !== undefined) fields.set('fieldSelector', fieldSelector);
  if (token !== '') fields.set('continue', token);
  return fields.toString();
}

/** Whether a list or watch was refused because the server does not know the kind: its CRD is not installed. */
export const isUnknownKind = (answer: ApiAnswer): boolean =>
  answer.kind === 'Answered' && answer.status === 404 && readStatus(answer.text)?.details?.name === undefined;
