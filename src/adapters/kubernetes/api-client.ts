// One call to the API server: sent, tried again where the server asks for it and nothing has happened, read and classified.

import type { Clock } from '../../ports/clock.ts';
import type { ClusterOutcome } from '../../ports/cluster.ts';
import { done } from '../../ports/outcome.ts';
import type { Random } from '../../ports/random.ts';
import { backOffMs } from './back-off.ts';
import { classifyAnswer, type Effect, parseJson, readStatus } from './classify-answer.ts';
import type { KubernetesConnection } from './connection.ts';
import type { ApiAnswer, ApiRequest, Transport } from './transport.ts';

export interface ApiCall {
  /** The call in words, for messages: `update NodeNetwork "n1"`. */
  readonly what: string;
  readonly method: ApiRequest['method'];
  readonly path: string;
  readonly body?: unknown;
  readonly contentType?: string;
}

export interface ApiClient {
  /** The JSON answered. A read's troubles are `unavailable`; a write that broke off is unknown. */
  call(call: ApiCall): Promise<ClusterOutcome<unknown>>;
  /** A read of one object. `ok` with `undefined`: the server says that this object is not there. */
  find(call: Pick<ApiCall, 'what' | 'path'>): Promise<ClusterOutcome<unknown>>;
}

export interface ApiClientOptions {
  readonly connection: KubernetesConnection;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
  readonly requestTimeoutMs: number;
  /** `false`: a server that is busy is for the caller to come back to. */
  readonly waitsForBusy?: false;
}

/** Tries of one call while the server answers 429: it has done nothing, and says when to come again. */
const BUSY_TRIES_MAX = 4;

export function createApiClient(options: ApiClientOptions): ApiClient {
  return {
    call: async (call) => readAnswer(await exchange(options, call), call),
    find: async ({ what, path }) => {
      const call = { what, path, method: 'GET' } as const;
      const answer = await exchange(options, call);
      return isObjectMissing(answer) ? done(undefined) : readAnswer(answer, call);
    },
  };
}

/** Not so when the path itself is unknown: then nothing has been said about the object. */
const isObjectMissing = (answer: ApiAnswer): boolean =>
  answer.kind === 'Answered' && answer.status === 404 && readStatus(answer.text)?.details?.name !== undefined;

async function exchange(options: ApiClientOptions, call: ApiCall): Promise<ApiAnswer> {
  const { what: _, ...request } = call;
  let answer: ApiAnswer = { kind: 'NotSent', cause: 'it was not tried' };
  let wasRefused = false;
  for (let tryCount = 1; tryCount <= BUSY_TRIES_MAX; tryCount++) {
    answer = await options.transport.send({ ...request, timeoutMs: options.requestTimeoutMs });
    if (answer.kind !== 'Answered') break;
    if (answer.status === 401 && !wasRefused) {
      // The token may have been rotated under us: read it again, once.
      wasRefused = true;
      options.connection.refused();
      continue;
    }
    if (answer.status !== 429 || options.waitsForBusy === false || tryCount === BUSY_TRIES_MAX) break;
    const waitMs = backOffMs(options.random, tryCount, answer.retryAfterMs);
    await options.clock.sleep(waitMs, 'kubernetes:busy');
  }
  return answer;
}

function readAnswer(answer: ApiAnswer, { what, method }: ApiCall): ClusterOutcome<unknown> {
  const effect: Effect = method === 'GET' ? 'read' : 'write';
  if (answer.kind !== 'Answered' || answer.status < 200 || answer.status > 299) {
    return classifyAnswer(answer, what, effect);
  }
  const json = parseJson(answer.text);
  // 200 with half a text: the effect is there, and only a new read tells what it is.
  if (json === undefined) {
    return classifyAnswer({ kind: 'BrokenOff', cause: 'the answer is no JSON' }, what, effect);
  }
  return done(json);
}
