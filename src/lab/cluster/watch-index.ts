// Which watches a change concerns, without asking each: with thousands of nodes, most watch one object or one node's pods.

import type { Kind, Subscription, WatchScope } from '../../ports/cluster.ts';
import { type AnyStoreChange, type ObjectStore, objectName } from './object-store.ts';

export interface WatchIndex {
  /** `hear` is called for every change of the kind that the scope may concern, in the turn of the change. */
  add(kind: Kind, scope: WatchScope, hear: (change: AnyStoreChange) => void): Subscription;
}

const keyOf = (kind: Kind, { name, nodeName }: WatchScope): string =>
  name !== undefined ? `${kind} name ${name}` : nodeName !== undefined ? `${kind} node ${nodeName}` : kind;

export function createWatchIndex(store: ObjectStore): WatchIndex {
  // what is watched -> who does, in the order of their coming
  const watches = new Map<string, Set<(change: AnyStoreChange) => void>>();
  store.onChange((change) => {
    for (const key of keysOf(change)) for (const hear of watches.get(key) ?? []) hear(change);
  });
  return {
    add: (kind, scope, hear) => {
      const key = keyOf(kind, scope);
      const ofKey = watches.get(key) ?? new Set();
      watches.set(key, ofKey.add(hear));
      return {
        close: () => {
          ofKey.delete(hear);
          if (ofKey.size === 0 && watches.get(key) === ofKey) watches.delete(key);
        },
      };
    },
  };
}

/** The keys of all watches that the change may concern. */
function keysOf(change: AnyStoreChange): ReadonlySet<string> {
  const { kind, object } = change;
  const keys = new Set([kind, keyOf(kind, { name: objectName(kind, object) })]);
  if (change.kind !== 'Pod') return keys;
  for (const pod of [change.object, change.before])
    if (pod?.nodeName !== undefined) keys.add(keyOf(kind, { nodeName: pod.nodeName }));
  return keys;
}
