// The line before one empty bucket: by urgency, then by arrival. Whoever is called holds a claim to one token.

/** Most urgent first (ec2.md, order of spending). */
export const PRIORITIES = ['WaitingPods', 'NewNode', 'WarmPool', 'Release', 'Garbage'] as const;
export type Priority = (typeof PRIORITIES)[number];

export interface Line {
  /** Gets in line, or changes place when the priority is another one. The time of arrival stays. */
  wait(key: string, priority: Priority, now: number): void;
  /** Calls keys until `count` hold a claim; answers those that are called now. */
  callUpTo(count: number, now: number): readonly string[];
  /** The key comes for its token: answers since when it had waited; undefined when it was not called. */
  comeFor(key: string): number | undefined;
  /** Answers since when the key had waited, if it had. */
  leave(key: string): number | undefined;
  /** Takes their claims from those that were called before a time and did not come. */
  dropStale(calledBefore: number): void;
  calledCount(): number;
  /** Whether somebody waits who is as urgent or more. */
  hasAhead(priority: Priority): boolean;
  isEmpty(): boolean;
  counts(): ReadonlyMap<Priority, number>;
}

export function createLine(): Line {
  // key -> its priority and time of arrival
  const places = new Map<string, { readonly priority: Priority; readonly since: number }>();
  // priority -> keys in the order of arrival
  const queues = new Map<Priority, Set<string>>(PRIORITIES.map((priority) => [priority, new Set()]));
  // called key -> since when it had waited, and when it was called
  const called = new Map<string, { readonly since: number; readonly at: number }>();

  const unplace = (key: string): number | undefined => {
    const place = places.get(key);
    if (place === undefined) return undefined;
    places.delete(key);
    queues.get(place.priority)?.delete(key);
    return place.since;
  };
  const first = (): string | undefined => {
    for (const priority of PRIORITIES) for (const key of queues.get(priority) ?? []) return key;
    return undefined;
  };
  const unclaim = (key: string): number | undefined => {
    const claim = called.get(key);
    called.delete(key);
    return claim?.since;
  };
  return {
    wait: (key, priority, now) => {
      const place = places.get(key);
      if (place?.priority === priority) return;
      const since = unplace(key) ?? now;
      places.set(key, { priority, since });
      queues.get(priority)?.add(key);
    },
    callUpTo: (count, now) => {
      const keys: string[] = [];
      for (let key = first(); key !== undefined && called.size < count; key = first()) {
        called.set(key, { since: unplace(key) ?? now, at: now });
        keys.push(key);
      }
      return keys;
    },
    comeFor: unclaim,
    leave: (key) => unclaim(key) ?? unplace(key),
    dropStale: (calledBefore) => {
      for (const [key, { at }] of called) if (at < calledBefore) called.delete(key);
    },
    calledCount: () => called.size,
    hasAhead: (priority) => {
      for (const each of PRIORITIES) {
        if ((queues.get(each)?.size ?? 0) > 0) return true;
        if (each === priority) return false;
      }
      return false;
    },
    isEmpty: () => places.size === 0 && called.size === 0,
    counts: () => new Map(PRIORITIES.map((priority) => [priority, queues.get(priority)?.size ?? 0])),
  };
}
