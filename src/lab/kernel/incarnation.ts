// One life of a simulated process: from its start to its crash.

import { assert } from '../../domain/result.ts';
import type { Clock, Timer } from '../../ports/clock.ts';
import type { SimEvent } from './event-heap.ts';

export interface Incarnation {
  readonly clock: Clock;
  /** `promise`, but it never settles once this incarnation is dead. `label` names the wait in deadlock reports. */
  guard<T>(promise: Promise<T>, label: string): Promise<T>;
  /** Labels of guarded promises that have not settled. */
  waiting(): readonly string[];
  isAlive(): boolean;
  /** Drops every pending timer and sleep: nothing of this incarnation runs again. */
  kill(): void;
}

export interface IncarnationContext {
  readonly owner: string;
  readonly now: () => number;
  /** Goes on with the world's time, which nobody sets. */
  readonly bootNow: () => number;
  readonly schedule: (
    request: Pick<SimEvent, 'owner' | 'label' | 'run' | 'life'> & { ms: number },
  ) => SimEvent;
}

const NO_TIMER: Timer = { cancel: () => {} };

export function createIncarnation({ owner, now, bootNow, schedule }: IncarnationContext): Incarnation {
  const life = { isAlive: true };
  const waits = new Map<symbol, string>();

  const start = (ms: number, label: string, run: () => void): SimEvent | undefined => {
    // The text is made only when it is needed: there are thousands of timers in a second.
    if (!(ms >= 0 && Number.isFinite(ms))) assert(false, `timer ${label} of ${owner} is set ${ms} ms ahead`);
    return life.isAlive ? schedule({ owner, life, ms, label, run }) : undefined;
  };
  const clock: Clock = {
    now,
    bootNow,
    timer: (ms, label, run) => {
      const event = start(ms, label, run);
      if (event === undefined) return NO_TIMER;
      return {
        cancel: () => {
          event.cancelled = true;
        },
      };
    },
    sleep: (ms, label) =>
      new Promise((resolve) => {
        start(ms, label, resolve);
      }),
  };

  return {
    clock,
    guard: (promise, label) =>
      new Promise((resolve, reject) => {
        if (!life.isAlive) return;
        const wait = Symbol(label);
        waits.set(wait, label);
        const whenAlive = (settle: () => void): void => {
          waits.delete(wait);
          if (life.isAlive) settle();
        };
        promise.then(
          (value) => whenAlive(() => resolve(value)),
          (error: unknown) => whenAlive(() => reject(error)),
        );
      }),
    waiting: () => [...waits.values()],
    isAlive: () => life.isAlive,
    kill: () => {
      life.isAlive = false;
      waits.clear();
    },
  };
}
