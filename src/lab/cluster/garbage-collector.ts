// What Kubernetes deletes by itself: what a deleted object owned, and the pods of a deleted node.

import type { Clock } from '../../ports/clock.ts';
import type { NodeNetworkRecord, NodeRecord } from '../../ports/cluster.ts';
import type { ObjectStore } from './object-store.ts';

export interface GarbageCollector {
  /** Notes the owner reference of a new NodeNetwork. One whose owner is gone already is collected soon. */
  own(record: NodeNetworkRecord, owner: NodeRecord): void;
}

export interface GarbageCollectorOptions {
  readonly clock: Clock;
  readonly store: ObjectStore;
  readonly delayMs: () => number;
}

export function createGarbageCollector({ clock, store, delayMs }: GarbageCollectorOptions): GarbageCollector {
  // uid of a NodeNetwork -> the Node that owns it
  const owners = new Map<string, Pick<NodeRecord, 'name' | 'uid'>>();
  const isThere = ({ name, uid }: Pick<NodeRecord, 'name' | 'uid'>): boolean =>
    store.get('Node', name)?.uid === uid;

  const collect = (): void => {
    for (const record of store.list('NodeNetwork')) {
      const owner = owners.get(record.uid);
      if (owner !== undefined && !isThere(owner)) store.delete('NodeNetwork', record.name);
    }
    for (const node of store.nodesWithPods()) {
      if (store.get('Node', node) !== undefined) continue;
      for (const pod of store.podsOf(node)) store.delete('Pod', pod.key);
    }
  };
  let isDue = false;
  const collectLater = (): void => {
    if (isDue) return;
    isDue = true;
    clock.timer(delayMs(), 'garbage-collection', () => {
      isDue = false;
      collect();
    });
  };

  store.onChange(({ kind, type, object }) => {
    if (type !== 'Deleted') return;
    if (kind === 'Node') collectLater();
    if (kind === 'NodeNetwork') owners.delete(object.uid);
  });
  return {
    own: (record, owner) => {
      owners.set(record.uid, { name: owner.name, uid: owner.uid });
      if (!isThere(owner)) collectLater();
    },
  };
}
