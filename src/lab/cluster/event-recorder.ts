// Kubernetes Events as `kubectl get events` shows them: the same one again counts up.

import type { ClusterEvent, Subscription } from '../../ports/cluster.ts';

export interface RecordedEvent extends ClusterEvent {
  readonly count: number;
  /** Milliseconds since the epoch. */
  readonly firstAt: number;
  readonly lastAt: number;
}

export interface EventRecorder {
  record(event: ClusterEvent): void;
  /** In the order of their first time. */
  list(): readonly RecordedEvent[];
  onEvent(notify: (event: RecordedEvent) => void): Subscription;
}

/** Kubernetes drops Events after an hour; here the oldest give way. */
const EVENT_MAX = 10_000;

export function createEventRecorder(now: () => number): EventRecorder {
  // about, type, reason and message as text -> the Event
  const events = new Map<string, RecordedEvent>();
  const listeners = new Set<(event: RecordedEvent) => void>();
  return {
    record: (event) => {
      const { kind, namespace, name } = event.about;
      const key = [kind, namespace, name, event.type, event.reason, event.message].join('\n');
      const before = events.get(key);
      const recorded: RecordedEvent = {
        ...event,
        count: (before?.count ?? 0) + 1,
        firstAt: before?.firstAt ?? now(),
        lastAt: now(),
      };
      events.set(key, recorded);
      if (events.size > EVENT_MAX) dropOldest(events);
      for (const notify of listeners) notify(recorded);
    },
    list: () => [...events.values()],
    onEvent: (notify) => {
      listeners.add(notify);
      return { close: () => listeners.delete(notify) };
    },
  };
}

function dropOldest(events: Map<string, RecordedEvent>): void {
  const [oldest] = events.keys();
  if (oldest !== undefined) events.delete(oldest);
}
