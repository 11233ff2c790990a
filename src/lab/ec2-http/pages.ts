// Pagination: what a describe found is kept until its last page is fetched, so that pages neither repeat nor miss.

import type { Ec2Outcome } from '../../ports/ec2.ts';
import { done } from '../../ports/outcome.ts';
import type { Params } from './form.ts';
import { badParameter, badToken } from './refusals.ts';
import type { Xml } from './xml.ts';

export interface Page {
  readonly items: readonly Xml[];
  readonly nextToken: string | undefined;
}

export interface Pages {
  /**
   * One page of a describe. `read` is called for each page, since each is a request that EC2 counts and may refuse; what
   * later pages show is what the first one found.
   */
  page(params: Params, read: () => Promise<Ec2Outcome<readonly Xml[]>>): Promise<Ec2Outcome<Page>>;
}

/** Describes whose last page is still to come; the oldest give way, and their tokens are no longer valid. */
const KEPT_MAX = 100;
const MAX_RESULTS = { min: 5, max: 1000 };

/** `itemsPerPageMax` is what EC2 gives at most: `MaxResults` is an upper bound and no promise. */
export function createPages(itemsPerPageMax: number): Pages {
  const kept = new Map<string, readonly Xml[]>();
  let count = 0;
  const keep = (items: readonly Xml[]): string => {
    count += 1;
    const id = String(count);
    kept.set(id, items);
    for (const oldest of kept.keys()) {
      if (kept.size <= KEPT_MAX) break;
      kept.delete(oldest);
    }
    return id;
  };
  return {
    page: async (params, read) => {
      const asked = params.text('MaxResults');
      const limit = params.integer('MaxResults') ?? MAX_RESULTS.max;
      if (asked !== undefined && !(limit >= MAX_RESULTS.min && limit <= MAX_RESULTS.max)) {
        return badParameter(
          `Value ( ${asked} ) for parameter maxResults is invalid. Expecting a value from ${MAX_RESULTS.min} to ${MAX_RESULTS.max}.`,
        );
      }
      const answer = await read();
      if (answer.kind !== 'ok') return answer;
      const token = parseToken(params.text('NextToken'));
      const items = token === undefined ? answer.value : kept.get(token.id);
      if (items === undefined) return badToken();
      const from = token?.from ?? 0;
      const to = from + Math.min(limit, itemsPerPageMax);
      if (to >= items.length) return done({ items: items.slice(from), nextToken: undefined });
      return done({
        items: items.slice(from, to),
        nextToken: writeToken({ id: token?.id ?? keep(items), from: to }),
      });
    },
  };
}

interface Token {
  readonly id: string;
  readonly from: number;
}

const writeToken = ({ id, from }: Token): string => `page-${id}-${from}`;

function parseToken(text: string | undefined): Token | undefined {
  if (text === undefined || text === '') return undefined;
  const [, id = '', from = ''] = /^page-(\d{1,9})-(\d{1,9})$/.exec(text) ?? [];
  return { id, from: Number(from) };
}
