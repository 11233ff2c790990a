// The echo protocol of NamespaceSockets over descriptors that are already in their namespace.

import { createSocket } from 'node:dgram';
import { createServer, Socket } from 'node:net';
import type { Ip } from '../../domain/address/ip.ts';
import { parseIp } from '../../domain/address/parse-ip.ts';
import type { EchoConnection, EchoServer } from '../../ports/namespace-sockets.ts';
import { done, failed } from '../../ports/outcome.ts';
import { failureOf, readLines, type SocketOutcome } from './line-reader.ts';

/** Everything that is open, so that it can be closed all at once. */
export type OpenHandles = Set<{ close(): void }>;

const IPV4_MAPPED_PREFIX = '::ffff:';
const LISTEN_BACKLOG = 128;

/** An address as node:net tells it: IPv4 peers of a socket for both families come mapped into IPv6. */
const plainAddress = (text: string): string =>
  text.startsWith(IPV4_MAPPED_PREFIX) ? text.slice(IPV4_MAPPED_PREFIX.length) : text;

/** Listens on a bound TCP socket. Tells each client, at once and after each of its lines, the address it is seen with. */
export function serveEcho(fd: number, handles: OpenHandles): Promise<SocketOutcome<EchoServer>> {
  const clients = new Set<Socket>();
  const server = createServer((client) => {
    const line = `${plainAddress(client.remoteAddress ?? '')}\n`;
    clients.add(client);
    client.setEncoding('utf8');
    client.on('close', () => clients.delete(client));
    // A client that goes away in mid-line is the client's business: 'close' follows and forgets it.
    client.on('error', () => {});
    client.on('data', (text: string) => {
      client.write(line.repeat(text.split('\n').length - 1));
    });
    client.write(line);
  });
  const stop = (): void => {
    for (const client of clients) client.destroy();
    server.close();
  };
  const handle = { close: stop };
  return new Promise((resolve) => {
    server.once('error', (error) => {
      resolve(failed(failureOf(error, 'listening socket')));
    });
    server.listen({ fd, backlog: LISTEN_BACKLOG }, () => {
      handles.add(handle);
      resolve(
        done({
          close: () =>
            new Promise((closed) => {
              handles.delete(handle);
              server.once('close', closed);
              stop();
            }),
        }),
      );
    });
  });
}

/** Waits until a connecting TCP socket is greeted by its server; the server's words are how it saw us. */
export async function greetServer(
  fd: number,
  options: { readonly handles: OpenHandles; readonly timeoutMs: number; readonly server: string },
): Promise<SocketOutcome<EchoConnection>> {
  const { handles, timeoutMs, server } = options;
  const socket = new Socket({ fd, readable: true, writable: true });
  const lines = readLines(socket, server);
  const handle = { close: (): unknown => socket.destroy() };
  handles.add(handle);
  socket.on('close', () => handles.delete(handle));

  const greeting = await lines.next(timeoutMs);
  if (greeting.kind !== 'ok') {
    socket.destroy();
    return greeting;
  }
  const seenAs = parseIp(greeting.value);
  if (!seenAs.ok) {
    socket.destroy();
    return failed({ errno: 'EPROTO', message: `${server} is no echo server: ${seenAs.error}` });
  }
  return done({
    seenAs: seenAs.value,
    ping: async () => {
      socket.write('\n');
      const answer = await lines.next(timeoutMs);
      return answer.kind === 'ok' ? done(undefined) : answer;
    },
    close: () =>
      new Promise((closed) => {
        if (socket.closed) {
          closed();
          return;
        }
        socket.once('close', () => {
          closed();
        });
        socket.destroy();
      }),
  });
}

/** The source address of the next datagram on a bound UDP socket. Closes the socket. */
export function receiveOne(
  fd: number,
  options: { readonly handles: OpenHandles; readonly timeoutMs: number; readonly port: number },
): Promise<SocketOutcome<Ip>> {
  const { handles, timeoutMs, port } = options;
  const socket = createSocket('udp6');
  return new Promise((resolve) => {
    const finish = (outcome: SocketOutcome<Ip>): void => {
      clearTimeout(timer);
      if (!handles.delete(handle)) return;
      socket.close();
      resolve(outcome);
    };
    const handle = {
      close: (): void => {
        finish(failed({ errno: 'ECANCELED', message: `closed while waiting on UDP port ${port}` }));
      },
    };
    const timer = setTimeout(() => {
      finish(
        failed({ errno: 'ETIMEDOUT', message: `no datagram on UDP port ${port} within ${timeoutMs} ms` }),
      );
    }, timeoutMs);
    handles.add(handle);
    socket.on('error', (error) => {
      finish(failed(failureOf(error, `UDP port ${port}`)));
    });
    socket.on('message', (_payload, from) => {
      const source = parseIp(plainAddress(from.address));
      finish(source.ok ? done(source.value) : failed({ errno: 'EPROTO', message: source.error }));
    });
    socket.bind({ fd });
  });
}
