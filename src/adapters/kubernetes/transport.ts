// HTTP to the API server: one request with its whole answer, or a stream of chunks. What went wrong is told by what it leaves open.

import {
  Agent as HttpAgent,
  type ClientRequest,
  type IncomingMessage,
  request as httpRequest,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { Clock } from '../../ports/clock.ts';
import type { Credentials, KubernetesConnection } from './connection.ts';

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  /** With its query. */
  readonly path: string;
  readonly body?: unknown;
  readonly contentType?: string;
  /** From now to the end of the answer. */
  readonly timeoutMs: number;
}

export type ApiAnswer =
  | {
      readonly kind: 'Answered';
      readonly status: number;
      readonly text: string;
      readonly retryAfterMs?: number;
    }
  /** No connection came about: the server never saw the request. */
  | { readonly kind: 'NotSent'; readonly cause: string }
  /** Broken off on the way there or back: nobody knows what became of it. */
  | { readonly kind: 'BrokenOff'; readonly cause: string };

export interface ApiStream {
  /** Ends the stream; nothing is told any more. */
  close(): void;
}

export interface StreamListener {
  onChunk(chunk: Buffer): void;
  /** Exactly once, unless closed. Answered with a status other than 200, or ended, or broken off. */
  onEnd(end: ApiAnswer): void;
}

export interface StreamRequest {
  readonly path: string;
  /** Silence after which the connection counts as dead. */
  readonly silenceMs: number;
}

export interface Transport {
  send(request: ApiRequest): Promise<ApiAnswer>;
  stream(request: StreamRequest, listener: StreamListener): ApiStream;
  /** Breaks off all that is under way. */
  close(): void;
}

/** Far above a page of 500 of the largest objects. */
const ANSWER_BYTES_MAX = 256 * 1024 * 1024;
const CONNECTIONS_MAX = 64;
/** Well below the 90 s or so after which API servers and load balancers drop idle connections. */
const IDLE_CONNECTION_MS = 20_000;
const KEEP_ALIVE_PROBE_MS = 15_000;

export interface TransportOptions {
  readonly connection: KubernetesConnection;
  readonly clock: Clock;
  readonly userAgent: string;
}

interface Context extends TransportOptions {
  readonly agent: HttpAgent | HttpsAgent;
  readonly underWay: Set<ClientRequest>;
}

/** Connections are kept and used again. Calls answer and do not reject. */
export function createTransport(options: TransportOptions): Transport {
  const isTls = options.connection.server.startsWith('https:');
  const agentOptions = {
    keepAlive: true,
    maxSockets: CONNECTIONS_MAX,
    timeout: IDLE_CONNECTION_MS,
    keepAliveMsecs: KEEP_ALIVE_PROBE_MS,
  };
  const agent = isTls ? new HttpsAgent(agentOptions) : new HttpAgent(agentOptions);
  const context: Context = { ...options, agent, underWay: new Set() };
  return {
    send: (request) => send(context, request),
    stream: (request, listener) => stream(context, request, listener),
    close: () => {
      for (const request of context.underWay) request.destroy(new Error('the client is closed'));
      agent.destroy();
    },
  };
}

async function send(context: Context, request: ApiRequest): Promise<ApiAnswer> {
  const credentials = await readCredentials(context);
  if ('cause' in credentials) return { kind: 'NotSent', cause: credentials.cause };
  return new Promise((resolve) => {
    const exchange = open(context, request, credentials);
    const timer = context.clock.timer(request.timeoutMs, 'kubernetes:timeout', () => {
      exchange.outgoing.destroy(new Error(`no answer within ${request.timeoutMs} ms`));
    });
    const settle = (answer: ApiAnswer): void => {
      timer.cancel();
      resolve(answer);
    };
    exchange.outgoing.on('error', (error) => settle(exchange.brokenOff(error)));
    exchange.outgoing.on('response', (incoming) => {
      collect(incoming).then(
        (text) => settle(answered(incoming, text)),
        (error: unknown) => settle(exchange.brokenOff(error)),
      );
    });
  });
}

function stream(context: Context, { path, silenceMs }: StreamRequest, listener: StreamListener): ApiStream {
  let outgoing: ClientRequest | undefined;
  let isOver = false;
  let watchdog = context.clock.timer(silenceMs, 'kubernetes:silence', () => giveUp());
  const giveUp = (): void => end({ kind: 'BrokenOff', cause: `nothing was heard for ${silenceMs} ms` });
  const heard = (): void => {
    watchdog.cancel();
    if (!isOver) watchdog = context.clock.timer(silenceMs, 'kubernetes:silence', giveUp);
  };
  const finish = (): void => {
    isOver = true;
    watchdog.cancel();
    outgoing?.destroy();
  };
  const end = (answer: ApiAnswer): void => {
    if (isOver) return;
    finish();
    listener.onEnd(answer);
  };
  void readCredentials(context).then((credentials) => {
    if (isOver) return;
    if ('cause' in credentials) {
      end({ kind: 'NotSent', cause: credentials.cause });
      return;
    }
    const exchange = open(context, { method: 'GET', path }, credentials);
    outgoing = exchange.outgoing;
    outgoing.on('error', (error) => end(exchange.brokenOff(error)));
    outgoing.on('response', (incoming) => {
      heard();
      if (incoming.statusCode !== 200) {
        collect(incoming).then(
          (text) => end(answered(incoming, text)),
          (error: unknown) => end(exchange.brokenOff(error)),
        );
        return;
      }
      incoming.on('data', (chunk: Buffer) => {
        heard();
        if (!isOver) listener.onChunk(chunk);
      });
      incoming.on('end', () => end(answered(incoming, '')));
      incoming.on('error', (error) => end(exchange.brokenOff(error)));
    });
  });
  return { close: finish };
}

async function readCredentials(context: Context): Promise<Credentials | { readonly cause: string }> {
  try {
    return await context.connection.credentials();
  } catch (error) {
    return { cause: `the credentials cannot be read: ${messageOf(error)}` };
  }
}

interface Exchange {
  readonly outgoing: ClientRequest;
  /** What an error on this exchange leaves open. */
  brokenOff(error: unknown): ApiAnswer;
}

function open(
  { connection, agent, userAgent, underWay }: Context,
  request: Pick<ApiRequest, 'method' | 'path' | 'body' | 'contentType'>,
  credentials: Credentials,
): Exchange {
  const body = request.body === undefined ? undefined : Buffer.from(JSON.stringify(request.body));
  const url = new URL(connection.server + request.path);
  const { authorization, ...tls } = credentials;
  const outgoing = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, {
    method: request.method,
    agent,
    headers: {
      accept: 'application/json',
      'user-agent': userAgent,
      ...(authorization === undefined ? {} : { authorization }),
      ...(body === undefined
        ? {}
        : { 'content-type': request.contentType ?? 'application/json', 'content-length': body.length }),
    },
    ...tls,
    rejectUnauthorized: !connection.insecureSkipTlsVerify,
    ...(connection.serverName === undefined ? {} : { servername: connection.serverName }),
  });
  underWay.add(outgoing);
  let isConnected = false;
  outgoing.on('close', () => underWay.delete(outgoing));
  outgoing.on('socket', (socket) => {
    if (outgoing.reusedSocket) isConnected = true;
    // Over TLS nothing is sent before the handshake; `connect` comes before it.
    else socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', () => (isConnected = true));
  });
  outgoing.end(body);
  return {
    outgoing,
    brokenOff: (error) => {
      const cause = `${request.method} ${url.origin}${request.path}: ${messageOf(error)}`;
      return isConnected ? { kind: 'BrokenOff', cause } : { kind: 'NotSent', cause };
    },
  };
}

async function collect(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let byteCount = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    byteCount += chunk.length;
    if (byteCount > ANSWER_BYTES_MAX) throw new Error(`the answer is longer than ${ANSWER_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function answered(incoming: IncomingMessage, text: string): ApiAnswer {
  const seconds = Number(incoming.headers['retry-after'] ?? Number.NaN);
  return {
    kind: 'Answered',
    status: incoming.statusCode ?? 0,
    text,
    ...(Number.isFinite(seconds) && seconds >= 0 ? { retryAfterMs: seconds * 1000 } : {}),
  };
}

/** Node gathers the failures of several addresses of one name in an error without a text. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join('; ');
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  return error.message === '' ? code : error.message;
}
