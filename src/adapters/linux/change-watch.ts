// Subscriptions to a namespace's changes, for all stacks over one Worker, which has other work, too.

import type { Subscription } from '../../ports/cluster.ts';
import type { WorkerClient } from './worker-client.ts';
import type { StackAddress } from './worker-messages.ts';

export interface ChangeWatch {
  /** Calls back once at the start, and then after changes, at most once per NOTIFY_INTERVAL_MS. */
  subscribe(stack: StackAddress, notify: () => void): Subscription;
  /** Resolves once the Worker waits for nothing any more, so that it can be ended. */
  close(): Promise<void>;
}

/** A change of the network is many messages; this gathers those of one. */
const NOTIFY_INTERVAL_MS = 20;

interface Subscriber {
  readonly stack: StackAddress;
  readonly notify: () => void;
  timer: NodeJS.Timeout | undefined;
}

/** `worker` is one that keeps a namespace-watch.ts. */
export function createChangeWatch(worker: WorkerClient): ChangeWatch {
  const subscribers = new Set<Subscriber>();
  worker.onNotice(({ changedStackId }) => {
    for (const subscriber of subscribers) {
      if (subscriber.stack.stackId === changedStackId) schedule(subscriber);
    }
  });
  const remove = async (subscriber: Subscriber): Promise<void> => {
    if (!subscribers.delete(subscriber)) return;
    clearTimeout(subscriber.timer);
    const { stack } = subscriber;
    const others = [...subscribers].some((other) => other.stack.stackId === stack.stackId);
    if (!others) await worker.ask({ operation: 'unwatch', stack });
  };

  return {
    subscribe: (stack, notify) => {
      const subscriber: Subscriber = { stack, notify, timer: undefined };
      subscribers.add(subscriber);
      // A namespace that cannot be watched cannot be entered either: every other request then says so.
      void worker.ask({ operation: 'watch', stack });
      return { close: () => void remove(subscriber) };
    },
    close: async () => {
      await Promise.all([...subscribers].map(remove));
    },
  };
}

function schedule(subscriber: Subscriber): void {
  subscriber.timer ??= setTimeout(() => {
    subscriber.timer = undefined;
    subscriber.notify();
  }, NOTIFY_INTERVAL_MS);
}
