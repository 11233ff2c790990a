// Program: HTTP on the metadata address, for the process that started this one inside the router's namespace.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Ip } from '../../domain/address/ip.ts';
import type { FromServer, ToServer } from './metadata-messages.ts';

/** More requests than this at once are refused. */
const WAITING_REQUESTS_MAX = 256;

const waiting = new Map<number, ServerResponse>();
let lastId = 0;

const tell = (message: FromServer): void => {
  process.send?.(message);
};

const header = (request: IncomingMessage, name: string): string | undefined => {
  const value = request.headers[name];
  return Array.isArray(value) ? value[0] : value;
};

function take(request: IncomingMessage, response: ServerResponse): void {
  if (waiting.size >= WAITING_REQUESTS_MAX) {
    response.writeHead(503).end();
    return;
  }
  lastId += 1;
  const id = lastId;
  waiting.set(id, response);
  response.once('close', () => waiting.delete(id));
  const token = header(request, 'x-aws-ec2-metadata-token');
  const tokenTtlSeconds = header(request, 'x-aws-ec2-metadata-token-ttl-seconds');
  tell({
    kind: 'Request',
    id,
    request: {
      source: (request.socket.remoteAddress ?? '') as Ip,
      method: request.method ?? '',
      path: (request.url ?? '').split('?')[0] ?? '',
      ...(token === undefined ? {} : { token }),
      ...(tokenTtlSeconds === undefined ? {} : { tokenTtlSeconds }),
      isForwarded: header(request, 'x-forwarded-for') !== undefined,
    },
  });
}

const listen = (addresses: readonly string[], port: number): void => {
  let listeningCount = 0;
  for (const host of addresses) {
    createServer(take)
      .once('error', (error) => {
        tell({ kind: 'CannotListen', message: error.message });
      })
      .listen({ host, port }, () => {
        listeningCount += 1;
        if (listeningCount === addresses.length) tell({ kind: 'Listening' });
      });
  }
};

// Whoever started this process is gone, in whatever way: nobody would answer any more.
process.once('disconnect', () => {
  process.exit();
});
process.on('message', (message: ToServer) => {
  if (message.kind === 'Listen') {
    listen(message.addresses, message.port);
    return;
  }
  const { status, body } = message.answer;
  waiting.get(message.id)?.writeHead(status, { 'content-type': 'text/plain', server: 'EC2ws' }).end(body);
});
