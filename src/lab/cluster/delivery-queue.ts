// Watch events on their way to a client: in order, each in its time.

import type { Clock } from '../../ports/clock.ts';
import type { WatchEvent } from '../../ports/cluster.ts';

export interface DeliveryQueue<T> {
  /** `name` is that of the object that the event is about; undefined for a snapshot. Comes no sooner than what was pushed before. */
  push(event: WatchEvent<T>, name: string | undefined, delayMs: number): void;
  /** Drops an undelivered `Applied` that a newer one of the same object makes superfluous. */
  coalesce(name: string): void;
  /** Drops all that is undelivered. */
  clear(): void;
  length(): number;
}

interface Delivery<T> {
  readonly dueAt: number;
  readonly event: WatchEvent<T>;
  readonly name: string | undefined;
}

export interface DeliveryQueueOptions<T> {
  /** The client's own clock: one that has died gets nothing more. Its wall clock plays no part: that of the network is another. */
  readonly clock: Clock;
  /** Names the wait in traces. */
  readonly label: string;
  readonly deliver: (event: WatchEvent<T>) => void;
}

export function createDeliveryQueue<T>({ clock, label, deliver }: DeliveryQueueOptions<T>): DeliveryQueue<T> {
  let queue: Delivery<T>[] = [];
  let lastDueAt = clock.bootNow();
  let isArmed = false;

  const arm = (): void => {
    const next = queue[0];
    if (next === undefined || isArmed) return;
    isArmed = true;
    clock.timer(Math.max(0, next.dueAt - clock.bootNow()), label, () => {
      isArmed = false;
      deliverDue();
    });
  };
  const deliverDue = (): void => {
    // `deliver` may clear the queue, so its head is looked at anew each time.
    for (let next = queue[0]; next !== undefined && next.dueAt <= clock.bootNow(); next = queue[0]) {
      queue.shift();
      deliver(next.event);
    }
    arm();
  };

  return {
    push: (event, name, delayMs) => {
      lastDueAt = Math.max(lastDueAt, clock.bootNow() + delayMs);
      queue.push({ dueAt: lastDueAt, event, name });
      arm();
    },
    coalesce: (name) => {
      // Nothing is dropped from behind a snapshot or a deletion: after those the object may be another one.
      const last = queue.findLastIndex((delivery) => delivery.name === name || delivery.name === undefined);
      if (queue[last]?.event.type === 'Applied') queue.splice(last, 1);
    },
    clear: () => {
      queue = [];
    },
    length: () => queue.length,
  };
}
