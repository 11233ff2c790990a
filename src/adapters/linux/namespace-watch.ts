// Waits for the kernel's notifications of all watched namespaces at once, on a thread of libuv's pool: the thread that asks stays free.

import type { StackAddress } from './worker-messages.ts';
import { closeSocket, drainWakeUp, openWakeUp, pollInputFromPool, wakeUp } from './libc.ts';
import { withNamespace } from './namespace.ts';
import { drainNotifications, openNotifications } from './notifications.ts';

/**
 * How long one poll may last, milliseconds. Notifications and requests end it at once; a process that ends without
 * asking, by a mistake, waits for it. Each end of it costs an idle node a few dozen microseconds.
 */
const POLL_TIMEOUT_MS = 2000;

export interface NamespaceWatch {
  /** Throws KernelRefusal when the namespace cannot be entered. */
  watch(stack: StackAddress): void;
  unwatch(stackId: number): void;
}

/** `tell` is called with the id of a stack whose namespace changed, and once when its watch begins. */
export function createNamespaceWatch(tell: (stackId: number) => void): NamespaceWatch {
  /** Stack id -> its sockets. */
  const watched = new Map<number, readonly number[]>();
  /** Ends the present poll, so that the next one is about the sockets as they are then. */
  let wakeFd: number | undefined;

  const pollWhileWatched = async (fd: number): Promise<void> => {
    while (watched.size > 0) {
      const ready = new Set(await pollInputFromPool([fd, ...[...watched.values()].flat()], POLL_TIMEOUT_MS));
      if (ready.has(fd)) drainWakeUp(fd);
      for (const [stackId, sockets] of watched) {
        const changed = sockets.filter((socket) => ready.has(socket));
        for (const socket of changed) drainNotifications(socket);
        if (changed.length > 0) tell(stackId);
      }
    }
    wakeFd = undefined;
    closeSocket(fd);
  };

  return {
    watch: ({ stackId, netnsPath }) => {
      if (watched.has(stackId)) return;
      watched.set(stackId, withNamespace(netnsPath, openNotifications));
      // What changed between the subscriber's call and now was missed.
      tell(stackId);
      if (wakeFd !== undefined) {
        wakeUp(wakeFd);
        return;
      }
      wakeFd = openWakeUp();
      void pollWhileWatched(wakeFd);
    },
    unwatch: (stackId) => {
      for (const socket of watched.get(stackId) ?? []) closeSocket(socket);
      watched.delete(stackId);
      if (wakeFd !== undefined) wakeUp(wakeFd);
    },
  };
}
