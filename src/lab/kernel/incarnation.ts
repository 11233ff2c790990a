// One life of a simulated process: from its start to its crash.

import { assert } from '../../domain/result.ts';
import type { Clock } from '../../ports/clock.ts';
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
  /** Of the world's clock, which nobody sets. */
  readonly bootNow: () => number;
  readonly schedule: (request: { owner: string; ms: number; label: string; run: () => void }) => SimEvent;
}

export function createIncarnation({ owner, now, bootNow, schedule }: IncarnationContext): Incarnation {
  let alive = true;
  const pending = new Set<SimEvent>();
  const waits = new Map<symbol, string>();

  const clock: Clock = {
    now,
    bootNow,
    timer: (ms, label, run) => {
      assert(ms >= 0 && Number.isFinite(ms), `timer ${label} of ${owner} is set ${ms} ms ahead`);
      if (!alive) return { cancel: () => {} };
      const event = schedule({
        owner,
        ms,
        label,
        run: () => {
          pending.delete(event);
          run();
        },
      });
      pending.add(event);
      return {
        cancel: () => {
          event.cancelled = true;
          pending.delete(event);
        },
      };
    },
    sleep: (ms, label) =>
      new Promise((resolve) => {
        clock.timer(ms, label, resolve);
      }),
  };

  return {
    clock,
    guard: (promise, label) =>
      new Promise((resolve, reject) => {
        if (!alive) return;
        const wait = Symbol(label);
        waits.set(wait, label);
        const whenAlive = (settle: () => void): void => {
          waits.delete(wait);
          if (alive) settle();
        };
        promise.then(
          (value) => whenAlive(() => resolve(value)),
          (error: unknown) => whenAlive(() => reject(error)),
        );
      }),
    waiting: () => [...waits.values()],
    isAlive: () => alive,
    kill: () => {
      alive = false;
      for (const event of pending) event.cancelled = true;
      pending.clear();
      waits.clear();
    },
  };
}
