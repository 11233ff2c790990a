// The Worker that opens sockets inside namespaces; their descriptors are the whole process's.

import { parentPort } from 'node:worker_threads';
import { assert } from '../../domain/result.ts';
import { outcomeOf } from './kernel-refusal.ts';
import { openClient, openReceiver, openServer, sendSpoofed } from './open-sockets.ts';
import type { SocketRequest, WorkerReply } from './worker-messages.ts';

/** What the datagram says does not matter: its source address is the message. */
const SPOOFED_PAYLOAD = Buffer.from('eniwhere');

function perform(request: SocketRequest): unknown {
  const { netnsPath } = request;
  switch (request.operation) {
    case 'openServer':
      return openServer(netnsPath, request.input.port);
    case 'openReceiver':
      return openReceiver(netnsPath, request.input.port);
    case 'openClient':
      return openClient(netnsPath, request.input);
    case 'sendSpoofed':
      sendSpoofed(netnsPath, { ...request.input, payload: SPOOFED_PAYLOAD });
      return null;
  }
}

assert(parentPort !== null, 'socket-worker.ts runs in a Worker');
const port = parentPort;
port.on('message', (request: SocketRequest) => {
  const reply: WorkerReply = { requestId: request.requestId, outcome: outcomeOf(() => perform(request)) };
  port.postMessage(reply);
});
