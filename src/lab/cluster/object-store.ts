// The objects of the simulated cluster, as etcd has them: uids, resource versions, generations, and who hears of changes.

import { assert } from '../../domain/result.ts';
import type { Kind, KindMap, Subscription } from '../../ports/cluster.ts';
import { type Random, randomHex } from '../../ports/random.ts';
import { isSameValue } from './same-value.ts';

/** What the store itself sets. */
type Versioning = 'uid' | 'resourceVersion' | 'generation';

export type NewObject<K extends Kind> = Omit<KindMap[K], Versioning | 'deleting'>;

export interface StoreChange<K extends Kind> {
  readonly kind: K;
  readonly type: 'Applied' | 'Deleted';
  /** As it is now; of a deleted one, as it was last, with the resource version of its deletion. */
  readonly object: KindMap[K];
  /** As it was before; undefined for a new one. */
  readonly before: KindMap[K] | undefined;
}

export type AnyStoreChange = { readonly [K in Kind]: StoreChange<K> }[Kind];

export interface ObjectStore {
  /** By name; pods by `namespace/name`. */
  get<K extends Kind>(kind: K, name: string): KindMap[K] | undefined;
  /** In the order of creation. */
  list<K extends Kind>(kind: K): readonly KindMap[K][];
  /** The name must be free. */
  create<K extends Kind>(kind: K, object: NewObject<K>): KindMap[K];
  /** The object must be there. A change that changes nothing makes no new version and no event. */
  update<K extends Kind>(kind: K, name: string, change: (before: KindMap[K]) => KindMap[K]): KindMap[K];
  /** A new version of the same content: somebody wrote a field that is not read here. */
  touch(kind: Kind, name: string): void;
  /** False when it was not there. */
  delete(kind: Kind, name: string): boolean;
  onChange(notify: (change: AnyStoreChange) => void): Subscription;
}

/** What `get` and watches know the object by. */
export function objectName<K extends Kind>(kind: K, object: NewObject<K>): string {
  return kind === 'Pod' ? (object as NewObject<'Pod'>).key : object.name;
}

/** The part of an object whose change makes a new generation. */
function specOf(kind: Kind, object: KindMap[Kind]): unknown {
  switch (kind) {
    case 'Node':
      return (object as KindMap['Node']).instanceId;
    case 'Pod': {
      const { nodeName, hostNetwork } = object as KindMap['Pod'];
      return [nodeName, hostNetwork];
    }
    case 'EniConfig': {
      const { spec } = object as KindMap['EniConfig'];
      // The labels in it are those of the metadata, which make no new generation.
      return spec.kind === 'Parsed' ? { ...spec.eniConfig, labels: undefined } : spec;
    }
    case 'NodeNetwork':
      return (object as KindMap['NodeNetwork']).spec;
  }
}

export function createObjectStore(random: Random): ObjectStore {
  // name -> object, by kind
  const objects: { readonly [K in Kind]: Map<string, KindMap[K]> } = {
    Node: new Map(),
    Pod: new Map(),
    EniConfig: new Map(),
    NodeNetwork: new Map(),
  };
  const listeners = new Set<(change: AnyStoreChange) => void>();
  let revision = 0;

  const mapOf = <K extends Kind>(kind: K): Map<string, KindMap[K]> => objects[kind];
  const nextRevision = (): string => {
    revision += 1;
    return String(revision);
  };
  const emit = <K extends Kind>(change: StoreChange<K>): void => {
    for (const notify of listeners) notify(change as unknown as AnyStoreChange);
  };
  const existing = <K extends Kind>(kind: K, name: string): KindMap[K] => {
    const object = mapOf(kind).get(name);
    assert(object !== undefined, `${kind} ${name} is changed while it is there`);
    return object;
  };
  const replace = <K extends Kind>(kind: K, before: KindMap[K], after: KindMap[K]): KindMap[K] => {
    const isNewSpec = !isSameValue(specOf(kind, before), specOf(kind, after));
    const object: KindMap[K] = {
      ...after,
      uid: before.uid,
      generation: before.generation + (isNewSpec ? 1 : 0),
      resourceVersion: nextRevision(),
    };
    mapOf(kind).set(objectName(kind, object), object);
    emit({ kind, type: 'Applied', object, before });
    return object;
  };

  return {
    get: (kind, name) => mapOf(kind).get(name),
    list: (kind) => [...mapOf(kind).values()],
    create: (kind, fields) => {
      const name = objectName(kind, fields);
      assert(!mapOf(kind).has(name), `${kind} ${name} is created while it is not there`);
      const object = {
        ...fields,
        uid: newUid(random),
        resourceVersion: nextRevision(),
        generation: 1,
        deleting: false,
      } as unknown as KindMap[typeof kind];
      mapOf(kind).set(name, object);
      emit({ kind, type: 'Applied', object, before: undefined });
      return object;
    },
    update: (kind, name, change) => {
      const before = existing(kind, name);
      const after = change(before);
      return isSameValue(before, after) ? before : replace(kind, before, after);
    },
    touch: (kind, name) => {
      const before = existing(kind, name);
      replace(kind, before, before);
    },
    delete: (kind, name) => {
      const before = mapOf(kind).get(name);
      if (before === undefined) return false;
      mapOf(kind).delete(name);
      emit({ kind, type: 'Deleted', object: { ...before, resourceVersion: nextRevision() }, before });
      return true;
    },
    onChange: (notify) => {
      listeners.add(notify);
      return { close: () => listeners.delete(notify) };
    },
  };
}

function newUid(random: Random): string {
  const hex = randomHex(random, 32);
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
