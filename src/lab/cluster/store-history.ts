// What the store held a short while ago: what an API server with a stale cache answers a list from.

import type { Kind, KindMap } from '../../ports/cluster.ts';
import { type AnyStoreChange, type ObjectStore, objectName } from './object-store.ts';

export interface StoreHistory {
  /** The objects as they were `agoMs` ago, or as far back as the history reaches, in no particular order. */
  listAsOf<K extends Kind>(kind: K, agoMs: number): readonly KindMap[K][];
}

export interface StoreHistoryOptions {
  readonly now: () => number;
  /** How far back the history reaches, milliseconds. */
  readonly reachMs: () => number;
}

export function createStoreHistory(store: ObjectStore, { now, reachMs }: StoreHistoryOptions): StoreHistory {
  let changes: { readonly at: number; readonly change: AnyStoreChange }[] = [];
  store.onChange((change) => {
    const cut = now() - reachMs();
    if (changes[0] !== undefined && changes[0].at < cut) changes = changes.filter(({ at }) => at >= cut);
    changes.push({ at: now(), change });
  });
  return {
    listAsOf: <K extends Kind>(kind: K, agoMs: number) => {
      const objects = new Map(store.list(kind).map((object) => [objectName(kind, object), object]));
      // The latest change is undone first.
      for (const { at, change } of changes.toReversed()) {
        if (at < now() - agoMs) break;
        if (change.kind !== kind) continue;
        const before = change.before as KindMap[K] | undefined;
        const name = objectName(kind, change.object as KindMap[K]);
        if (before === undefined) objects.delete(name);
        else objects.set(name, before);
      }
      return [...objects.values()];
    },
  };
}
