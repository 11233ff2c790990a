// The agent's end of the unix socket: HTTP with one JSON message each way.

import { mkdir } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { dirname } from 'node:path';
import { err, type Result } from '../../domain/result.ts';
import type { Log } from '../../ports/log.ts';
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

export interface AgentSocketOptions {
  /** Absent: nothing is told. */
  readonly log?: Log;
  /** The user at the other end of an accepted connection (SO_PEERCRED). Absent: the socket's mode alone guards it. */
  readonly peerUid?: (descriptor: number) => Result<number, string>;
}

type Handle = (request: CniRequest) => Promise<CniReply>;

const ROOT = 0;

/**
 * Listens on a unix socket at `path` that only its owner (root) may use. A socket that a dead agent left is removed;
 * one that somebody still answers on, and a path that is no socket, are refused.
 */
export async function serveAgentSocket(
  path: string,
  handle: Handle,
  options: AgentSocketOptions = {},
): Promise<AgentSocket> {
  await mkdir(dirname(path), { recursive: true, mode: DIRECTORY_MODE });
  const server = createServer((request, response) => {
    tellBrokenAnswer(request, response, options.log);
    answer(request, response, handle).catch((error: unknown) => {
      // It has nobody to be told: the runtime asks again.
      options.log?.warn('a connection to the agent broke off', { error: textOf(error) });
      response.destroy();
    });
  });
  // A caller that has closed its writing side still wants its answer.
  Object.assign(server, { httpAllowHalfOpen: true });
  server.on('connection', (socket) => guard(socket, options));
  server.on('clientError', (error, socket) => {
    // An answer that nobody takes any more is told by its own end.
    if ('code' in error && error.code === 'EPIPE') {
      socket.destroy();
      return;
    }
    options.log?.warn('the agent was sent what is no request, or not a whole one', { error: textOf(error) });
    if (socket.writable) socket.end('HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n');
    else socket.destroy();
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

/**
 * Beside the socket's mode: a folder that is mounted into a pod, or a mode that somebody changed, must not let others
 * hand out and take away addresses.
 */
function guard(socket: Socket, { log, peerUid }: AgentSocketOptions): void {
  if (peerUid === undefined) return;
  const descriptor = descriptorOf(socket);
  const uid = descriptor === undefined ? err('it has no file descriptor') : peerUid(descriptor);
  if (uid.ok && (uid.value === ROOT || uid.value === process.geteuid?.())) return;
  log?.warn('a caller who is not root is refused', uid.ok ? { uid: uid.value } : { failure: uid.error });
  // In this very turn: what it has sent must not be read.
  socket.write('HTTP/1.1 403 Forbidden\r\nconnection: close\r\ncontent-length: 0\r\n\r\n');
  socket.destroy();
}

/** Node.js has no public name for it. */
function descriptorOf(socket: Socket): number | undefined {
  const { _handle: handle } = socket as { readonly _handle?: { readonly fd?: number } | null };
  return handle?.fd !== undefined && handle.fd >= 0 ? handle.fd : undefined;
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** The runtime gave up, or was killed, while we worked: what was done stays done, and its DEL will undo it. */
function tellBrokenAnswer(request: IncomingMessage, response: ServerResponse, log: Log | undefined): void {
  response.once('close', () => {
    if (!response.writableFinished) log?.warn('a caller did not wait for its answer', { path: request.url });
  });
}

async function answer(request: IncomingMessage, response: ServerResponse, handle: Handle): Promise<void> {
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
