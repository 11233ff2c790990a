// A small HTTP server for a node's own use: introspection, health and metrics. It reads, and never changes, anything.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type BindAddress, describeBindAddress } from '../../domain/bind-address.ts';
import { err, ok, type Result } from '../../domain/result.ts';
import type { Log } from '../../ports/log.ts';
import { listenOnSocket } from './unix-socket.ts';

export interface HttpAnswer {
  readonly status: number;
  /** JSON unless given. */
  readonly contentType?: string;
  readonly body: string;
}

/** path -> what is answered to GET and HEAD. */
export type HttpRoutes = ReadonlyMap<string, () => HttpAnswer | Promise<HttpAnswer>>;

export interface LocalHttpOptions {
  readonly address: BindAddress;
  readonly routes: HttpRoutes;
  readonly log: Log;
  /** Time for a request to arrive in, and for an answer to be taken; milliseconds, 5 s unless given. */
  readonly requestMs?: number;
}

export interface LocalHttp {
  /** The port that is listened on, which the system chose where port 0 was asked for; 0 for a unix socket. */
  readonly port: number;
  close(): Promise<void>;
}

/** What a client may take of us: scripts, probes and a scraper or two. All times in milliseconds. */
const CONNECTION_COUNT_MAX = 64;
const REQUESTS_PER_CONNECTION_MAX = 1000;
const HEADER_BYTES_MAX = 8 * 1024;
const REQUEST_MS = 5000;
/** How often connections are looked at for requests that take too long. */
const CHECK_MS = 1000;
/** Longer than Prometheus' usual pause between scrapes would only hold a connection for it. */
const KEEP_ALIVE_MS = 5000;

/** Serves until closed. `err` says why it cannot listen, such as a port that is taken. */
export async function serveLocalHttp(options: LocalHttpOptions): Promise<Result<LocalHttp, string>> {
  const { address, routes, log, requestMs = REQUEST_MS } = options;
  const server = createServer(
    {
      maxHeaderSize: HEADER_BYTES_MAX,
      headersTimeout: requestMs,
      requestTimeout: requestMs,
      connectionsCheckingInterval: Math.min(CHECK_MS, requestMs),
      keepAliveTimeout: KEEP_ALIVE_MS,
    },
    (request, response) => {
      answer(routes, request, response).catch((error: unknown) => {
        log.error('a local HTTP request failed', { path: request.url, error: String(error) });
        if (!response.headersSent) send(response, { status: 500, body: '"the agent failed; see its log"\n' });
        else response.destroy();
      });
    },
  );
  server.maxConnections = CONNECTION_COUNT_MAX;
  server.maxRequestsPerSocket = REQUESTS_PER_CONNECTION_MAX;
  // Also for answers that nobody reads.
  server.setTimeout(requestMs, (socket) => socket.destroy());
  const listening = await listen(server, address);
  if (!listening.ok) return listening;
  server.on('error', (error) => log.error('the local HTTP server failed', { error: error.message }));
  const bound = server.address();
  return ok({
    port: typeof bound === 'object' && bound !== null ? bound.port : 0,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  });
}

async function listen(server: Server, address: BindAddress): Promise<Result<void, string>> {
  if (address.kind === 'Unix') return listenOnSocket(server, address.path);
  const { host, port } = address;
  return new Promise((resolve) => {
    const fail = (error: Error): void =>
      resolve(err(`cannot listen on ${describeBindAddress(address)}: ${error.message}`));
    server.once('error', fail);
    server.listen(host === undefined ? { port } : { port, host }, () => {
      server.off('error', fail);
      resolve(ok(undefined));
    });
  });
}

async function answer(routes: HttpRoutes, request: IncomingMessage, response: ServerResponse): Promise<void> {
  // What a client sends after its headers is read by nobody: the connection ends with the answer.
  const hasBody =
    request.headers['transfer-encoding'] !== undefined || !isNought(request.headers['content-length']);
  if (hasBody) response.shouldKeepAlive = false;
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.setHeader('allow', 'GET, HEAD');
    return send(response, { status: 405, body: '"only GET and HEAD are served here"\n' });
  }
  const [path = ''] = (request.url ?? '').split('?', 1);
  const route = routes.get(path);
  const paths = [...routes.keys()];
  if (route === undefined) return send(response, { status: 404, body: `${JSON.stringify({ paths })}\n` });
  send(response, await route());
}

const isNought = (length: string | undefined): boolean => length === undefined || length === '0';

function send(
  response: ServerResponse,
  { status, contentType = 'application/json', body }: HttpAnswer,
): void {
  response.writeHead(status, { 'content-type': contentType, 'content-length': Buffer.byteLength(body) });
  response.end(body);
}
