// NamespaceSockets: a Worker opens the sockets inside the namespaces, Node's event loop serves them all on this thread.

import type { NamespaceSockets } from '../../ports/namespace-sockets.ts';
import { done } from '../../ports/outcome.ts';
import { greetServer, type OpenHandles, receiveOne, serveEcho } from './echo-sockets.ts';
import type { SocketOutcome } from './line-reader.ts';
import { startWorker } from './worker-client.ts';
import type { SocketOperations } from './worker-messages.ts';

/**
 * Any number of sockets, one Worker. Requests are carried out in the order of calls: a datagram sent by `sendSpoofed`
 * after a call of `receiveDatagram` finds the receiver's socket open, also before that call is answered.
 */
export function createNamespaceSockets(): NamespaceSockets {
  const worker = startWorker('socket-worker');
  const handles: OpenHandles = new Set();
  const ask = async <Name extends keyof SocketOperations>(
    netnsPath: string,
    operation: Name,
    input: SocketOperations[Name]['input'],
  ): Promise<SocketOutcome<SocketOperations[Name]['output']>> =>
    // The Worker answers each operation with the output that SocketOperations gives it.
    (await worker.ask({ netnsPath, operation, input })) as SocketOutcome<SocketOperations[Name]['output']>;

  return {
    serve: async ({ netnsPath, port }) => {
      const fd = await ask(netnsPath, 'openServer', { port });
      return fd.kind === 'ok' ? serveEcho(fd.value, handles) : fd;
    },
    connect: async ({ netnsPath, timeoutMs, ...to }) => {
      const fd = await ask(netnsPath, 'openClient', to);
      if (fd.kind !== 'ok') return fd;
      return greetServer(fd.value, { handles, timeoutMs, server: `${to.address} port ${to.port}` });
    },
    sendSpoofed: async ({ netnsPath, ...datagram }) => {
      const sent = await ask(netnsPath, 'sendSpoofed', datagram);
      return sent.kind === 'ok' ? done(undefined) : sent;
    },
    receiveDatagram: async ({ netnsPath, port, timeoutMs }) => {
      const fd = await ask(netnsPath, 'openReceiver', { port });
      return fd.kind === 'ok' ? receiveOne(fd.value, { handles, timeoutMs, port }) : fd;
    },
    close: async () => {
      for (const handle of handles) handle.close();
      await worker.close();
    },
  };
}
