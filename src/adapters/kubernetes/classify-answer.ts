// What the API server's answers mean for the port: its Status objects and codes, classified once.
// https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/

import { z } from 'zod';
import type { ClusterFailure, ClusterOutcome } from '../../ports/cluster.ts';
import { failed, unknown } from '../../ports/outcome.ts';
import type { ApiAnswer } from './transport.ts';

const status = z.object({
  kind: z.literal('Status'),
  reason: z.string().optional(),
  message: z.string().optional(),
  code: z.number().optional(),
  details: z.object({ name: z.string().optional(), retryAfterSeconds: z.number().optional() }).nullish(),
});

export type ApiStatus = z.output<typeof status>;

/** The Status object in a text, if there is one: proxies answer pages, unknown paths a plain sentence. */
export function readStatus(text: string): ApiStatus | undefined {
  const json = parseJson(text);
  const parsed = status.safeParse(json);
  return parsed.success ? parsed.data : undefined;
}

/** `undefined` for what is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

export type Effect = 'read' | 'write';

/** What an answer other than 2xx means. A write that the server broke off may have happened; a read changed nothing. */
export function classifyAnswer(answer: ApiAnswer, what: string, effect: Effect): ClusterOutcome<never> {
  switch (answer.kind) {
    case 'NotSent':
      return failed({ kind: 'unavailable', message: `${what}: ${answer.cause}` });
    case 'BrokenOff': {
      const message = `${what}: ${answer.cause}`;
      return effect === 'write' ? unknown(message) : failed({ kind: 'unavailable', message });
    }
    case 'Answered':
      return classifyRefusal(answer, what, effect);
  }
}

function classifyRefusal(
  { status: code, text }: Extract<ApiAnswer, { readonly kind: 'Answered' }>,
  what: string,
  effect: Effect,
): ClusterOutcome<never> {
  const said = readStatus(text);
  const message = `${what}: ${said?.message ?? `HTTP ${code}${text === '' ? '' : ` ${text.trim().slice(0, 200)}`}`}`;
  const kind = kindOf(code, said?.reason ?? '');
  if (kind === undefined) {
    return effect === 'write' ? unknown(message) : failed({ kind: 'unavailable', message });
  }
  return failed({ kind, message });
}

/** `undefined`: the server may have broken after the effect. */
function kindOf(code: number, reason: string): ClusterFailure['kind'] | undefined {
  switch (code) {
    case 401:
    case 403:
      return 'forbidden';
    case 404:
    case 410:
      return 'not-found';
    case 409:
      return reason === 'AlreadyExists' ? 'already-exists' : 'conflict';
    // Refused before anything was done: too many requests, or not ready to serve.
    case 429:
    case 503:
      return 'unavailable';
    default:
      return code >= 400 && code < 500 ? 'invalid' : undefined;
  }
}
