// The Worker that waits for the kernel's notifications, of all watched namespaces at once.

import { parentPort } from 'node:worker_threads';
import { assert } from '../../domain/result.ts';
import { outcomeOf } from './kernel-refusal.ts';
import { closeSocket, pollInput } from './libc.ts';
import { withNamespace } from './namespace.ts';
import { drainNotifications, openNotifications } from './notifications.ts';
import type { ChangeNotice, WatchRequest, WorkerReply } from './worker-messages.ts';

/** How long a request to this Worker may wait for the poll to return. Notifications themselves do not wait. */
const POLL_TIMEOUT_MS = 50;

/** Stack id -> its sockets. */
const watched = new Map<number, readonly number[]>();
let polling = false;

assert(parentPort !== null, 'watch-worker.ts runs in a Worker');
const port = parentPort;

function tell(stackId: number): void {
  const notice: ChangeNotice = { changedStackId: stackId };
  port.postMessage(notice);
}

function watch({ stackId, netnsPath }: WatchRequest['stack']): void {
  if (watched.has(stackId)) return;
  watched.set(stackId, withNamespace(netnsPath, openNotifications));
  // What changed between the subscriber's call and now was missed.
  tell(stackId);
  if (!polling) {
    polling = true;
    setImmediate(pollOnce);
  }
}

function unwatch(stackId: number): void {
  for (const fd of watched.get(stackId) ?? []) closeSocket(fd);
  watched.delete(stackId);
}

/** One poll; then the event loop has its turn, in which requests arrive. */
function pollOnce(): void {
  const ready = new Set(pollInput([...watched.values()].flat(), POLL_TIMEOUT_MS));
  for (const [stackId, fds] of watched) {
    const changed = fds.filter((fd) => ready.has(fd));
    for (const fd of changed) drainNotifications(fd);
    if (changed.length > 0) tell(stackId);
  }
  polling = watched.size > 0;
  if (polling) setImmediate(pollOnce);
}

function perform({ operation, stack }: WatchRequest): null {
  switch (operation) {
    case 'watch':
      watch(stack);
      return null;
    case 'unwatch':
      unwatch(stack.stackId);
      return null;
  }
}

port.on('message', (request: WatchRequest) => {
  const reply: WorkerReply = { requestId: request.requestId, outcome: outcomeOf(() => perform(request)) };
  port.postMessage(reply);
});
