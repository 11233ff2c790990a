// Subscriptions to a namespace's changes, for all stacks over one Worker.

import type { Subscription } from '../../ports/cluster.ts';
import { startWorker, type WorkerClient } from './worker-client.ts';
import type { StackAddress } from './worker-messages.ts';

export interface ChangeWatch {
  /** Calls back once at the start, and then after changes, at most once per NOTIFY_INTERVAL_MS. */
  subscribe(stack: StackAddress, notify: () => void): Subscription;
  close(): Promise<void>;
}

/** A change of the network is many messages; this gathers those of one. */
const NOTIFY_INTERVAL_MS = 20;

interface Subscriber {
  readonly stack: StackAddress;
  readonly notify: () => void;
  timer: NodeJS.Timeout | undefined;
}

/** The Worker is started by the first subscription. */
export function createChangeWatch(): ChangeWatch {
  const subscribers = new Set<Subscriber>();
  let worker: WorkerClient | undefined;
  const start = (): WorkerClient =>
    startWorker('watch-worker', ({ changedStackId }) => {
      for (const subscriber of subscribers) {
        if (subscriber.stack.stackId === changedStackId) schedule(subscriber);
      }
    });

  return {
    subscribe: (stack, notify) => {
      worker ??= start();
      const watching = worker;
      const subscriber: Subscriber = { stack, notify, timer: undefined };
      subscribers.add(subscriber);
      // A namespace that cannot be watched cannot be entered either: every other request then says so.
      void watching.ask({ operation: 'watch', stack });
      return {
        close: () => {
          if (!subscribers.delete(subscriber)) return;
          clearTimeout(subscriber.timer);
          const others = [...subscribers].some((other) => other.stack.stackId === stack.stackId);
          if (!others) void watching.ask({ operation: 'unwatch', stack });
        },
      };
    },
    close: async () => {
      for (const { timer } of subscribers) clearTimeout(timer);
      subscribers.clear();
      await worker?.close();
    },
  };
}

function schedule(subscriber: Subscriber): void {
  subscriber.timer ??= setTimeout(() => {
    subscriber.timer = undefined;
    subscriber.notify();
  }, NOTIFY_INTERVAL_MS);
}
