// The agent's end of the unix socket: HTTP with one JSON message each way.

import { mkdir } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { dirname } from 'node:path';
import { CNI_ERROR, cniError } from '../../protocol/cni/cni-error.ts';
import { CNI_HTTP_PATH, type CniReply, type CniRequest } from '../../protocol/agent-socket/cni-message.ts';
import { encodeReply, decodeRequest } from '../../protocol/agent-socket/codec.ts';
import { listenOnSocket } from './unix-socket.ts';

/** A CNI request is a few hundred bytes; a previous result or a long GC list some tens of kilobytes. */
const BODY_BYTES_MAX = 4 * 1024 * 1024;
const DIRECTORY_MODE = 0o700;

export interface AgentSocket {
  /** Stops listening, lets requests under way end, and removes the socket. */
  close(): Promise<void>;
}

/**
 * Listens on a unix socket at `path` that only its owner (root) may use. A socket that a dead agent left is removed;
 * one that somebody still answers on, and a path that is no socket, are refused.
 */
export async function serveAgentSocket(
  path: string,
  handle: (request: CniRequest) => Promise<CniReply>,
): Promise<AgentSocket> {
  await mkdir(dirname(path), { recursive: true, mode: DIRECTORY_MODE });
  const server = createServer((request, response) => {
    // A connection that broke in the middle has nobody to be told: the runtime asks again.
    answer(request, response, handle).catch(() => response.destroy());
  });
  const listening = await listenOnSocket(server, path);
  if (!listening.ok) throw new Error(listening.error);
  return {
    close: () =>
      new Promise((resolve, reject) => {
        server.close((error) => (error === undefined ? resolve() : reject(error)));
        server.closeIdleConnections();
      }),
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  handle: (request: CniRequest) => Promise<CniReply>,
): Promise<void> {
  const refuse = (status: number, why: string): void => {
    response.writeHead(status, { 'content-type': 'text/plain' });
    response.end(`${why}\n`);
  };
  if (request.method !== 'POST' || request.url !== CNI_HTTP_PATH) {
    return refuse(404, `only POST ${CNI_HTTP_PATH} is served here`);
  }
  const body = await readBody(request);
  if (body === undefined) return refuse(413, `the request is longer than ${BODY_BYTES_MAX} bytes`);
  const parsed = decodeRequest(body);
  if (!parsed.ok) return refuse(400, parsed.error);
  // The headers go out before the work begins: by them the plugin tells an agent that works from one that hangs.
  response.writeHead(200, { 'content-type': 'application/json' });
  response.flushHeaders();
  const reply = await handle(parsed.value).catch(mistake);
  response.end(encodeReply(reply));
}

/** Only a mistake of ours makes the handler reject; the runtime still gets a CNI error. */
function mistake(error: unknown): CniReply {
  const details = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return {
    kind: 'Error',
    error: cniError(CNI_ERROR.internal, 'the agent failed; this is a bug of Eniwhere', details),
  };
}

async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > BODY_BYTES_MAX) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
