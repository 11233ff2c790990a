// One operation through the SDK: its answer read, what went wrong as a value.

import type { Ec2Outcome } from '../../ports/ec2.ts';
import { done, failed, unknown } from '../../ports/outcome.ts';
import { type Call, classifyError } from './classify-error.ts';
import { UnreadableAnswer } from './read-answer.ts';

/** Runs `send`, which calls the SDK and reads the answer. Rejects only for programming mistakes. */
export async function awsCall<T>(call: Call, send: () => Promise<T>): Promise<Ec2Outcome<T>> {
  try {
    return done(await send());
  } catch (error) {
    if (!(error instanceof UnreadableAnswer)) return classifyError(error, call);
    // EC2 did answer, so a write has most likely happened; what exactly, only a describe can say.
    return call.effect === 'write'
      ? unknown(`the answer to ${call.action} cannot be read: ${error.message}`)
      : failed({ kind: 'server-error', code: error.name, message: `${call.action}: ${error.message}` });
  }
}

/** More pages than any account has objects: past it EC2 goes in circles. */
const PAGES_MAX = 1000;

interface Page<T> {
  readonly items: readonly T[];
  readonly nextToken: string | undefined;
}

/** All items of a paginated describe, one request a page. */
export async function allPages<T>(
  what: string,
  fetchPage: (nextToken: string | undefined) => Promise<Page<T>>,
): Promise<readonly T[]> {
  const items: T[] = [];
  let nextToken: string | undefined;
  for (let page = 0; page < PAGES_MAX; page++) {
    const answer = await fetchPage(nextToken);
    items.push(...answer.items);
    // EC2 marks the last page by no token; the query protocol also by an empty one.
    if (answer.nextToken === undefined || answer.nextToken === '') return items;
    nextToken = answer.nextToken;
  }
  throw new UnreadableAnswer(`${what} does not end after ${PAGES_MAX} pages`);
}
