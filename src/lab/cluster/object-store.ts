// The objects of the simulated cluster, as etcd has them: uids, resource versions, generations, and who hears of changes.

import { assert } from '../../domain/result.ts';
import { sameData } from '../../domain/same-data.ts';
import type { NodeName, PodKey } from '../../domain/ids.ts';
import type { Kind, KindMap, PodRecord, Subscription } from '../../ports/cluster.ts';
import { type Random, randomHex } from '../../ports/random.ts';

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
  /** Pods that are bound to the node, whether or not it is there. */
  podsOf(node: NodeName): readonly PodRecord[];
  /** Names of the nodes that pods are bound to. */
  nodesWithPods(): readonly NodeName[];
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
      return [(object as KindMap['Node']).instanceId, (object as KindMap['Node']).taints];
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
    case 'NodeNetworkClass':
      return (object as KindMap['NodeNetworkClass']).spec;
    case 'Namespace':
      // Its finalizers are not read here.
      return undefined;
  }
}

/** What the store is made of. */
interface Etcd {
  /** name -> object, by kind */
  readonly objects: { readonly [K in Kind]: Map<string, KindMap[K]> };
  /** node -> keys of the pods that are bound to it */
  readonly podsOf: Map<NodeName, Set<PodKey>>;
  readonly listeners: Set<(change: AnyStoreChange) => void>;
  revision: number;
}

export function createObjectStore(random: Random): ObjectStore {
  const etcd: Etcd = {
    objects: {
      Node: new Map(),
      Pod: new Map(),
      EniConfig: new Map(),
      NodeNetwork: new Map(),
      NodeNetworkClass: new Map(),
      Namespace: new Map(),
    },
    podsOf: new Map(),
    listeners: new Set(),
    revision: 0,
  };
  return {
    get: (kind, name) => mapOf(etcd, kind).get(name),
    list: (kind) => [...mapOf(etcd, kind).values()],
    podsOf: (node) => [...(etcd.podsOf.get(node) ?? [])].flatMap((key) => etcd.objects.Pod.get(key) ?? []),
    nodesWithPods: () => [...etcd.podsOf.keys()],
    create: (kind, fields) => createObject(etcd, { kind, fields, uid: newUid(random) }),
    update: (kind, name, change) => {
      const before = existing(etcd, kind, name);
      const after = change(before);
      return sameData(before, after) ? before : replaceObject(etcd, { kind, before, after });
    },
    touch: (kind, name) => {
      const before = existing(etcd, kind, name);
      replaceObject(etcd, { kind, before, after: before });
    },
    delete: (kind, name) => deleteObject(etcd, kind, name),
    onChange: (notify) => {
      etcd.listeners.add(notify);
      return { close: () => etcd.listeners.delete(notify) };
    },
  };
}

const mapOf = <K extends Kind>(etcd: Etcd, kind: K): Map<string, KindMap[K]> => etcd.objects[kind];

function existing<K extends Kind>(etcd: Etcd, kind: K, name: string): KindMap[K] {
  const object = mapOf(etcd, kind).get(name);
  assert(object !== undefined, `${kind} ${name} is changed while it is there`);
  return object;
}

function nextRevision(etcd: Etcd): string {
  etcd.revision += 1;
  return String(etcd.revision);
}

function emit<K extends Kind>(etcd: Etcd, change: StoreChange<K>): void {
  if (change.kind === 'Pod') indexPod(etcd, change as unknown as StoreChange<'Pod'>);
  for (const notify of etcd.listeners) notify(change as unknown as AnyStoreChange);
}

function indexPod({ podsOf }: Etcd, { type, object, before }: StoreChange<'Pod'>): void {
  const from = before?.nodeName;
  const to = type === 'Deleted' ? undefined : object.nodeName;
  if (from === to) return;
  if (from !== undefined) {
    const pods = podsOf.get(from);
    pods?.delete(object.key);
    if (pods?.size === 0) podsOf.delete(from);
  }
  if (to !== undefined) podsOf.set(to, (podsOf.get(to) ?? new Set()).add(object.key));
}

function createObject<K extends Kind>(
  etcd: Etcd,
  { kind, fields, uid }: { readonly kind: K; readonly fields: NewObject<K>; readonly uid: string },
): KindMap[K] {
  const name = objectName(kind, fields);
  assert(!mapOf(etcd, kind).has(name), `${kind} ${name} is created while it is not there`);
  const versioning = { uid, resourceVersion: nextRevision(etcd), generation: 1, deleting: false };
  const object = { ...fields, ...versioning } as unknown as KindMap[K];
  mapOf(etcd, kind).set(name, object);
  emit(etcd, { kind, type: 'Applied', object, before: undefined });
  return object;
}

function replaceObject<K extends Kind>(
  etcd: Etcd,
  { kind, before, after }: { readonly kind: K; readonly before: KindMap[K]; readonly after: KindMap[K] },
): KindMap[K] {
  const isNewSpec = !sameData(specOf(kind, before), specOf(kind, after));
  const object: KindMap[K] = {
    ...after,
    uid: before.uid,
    generation: before.generation + (isNewSpec ? 1 : 0),
    resourceVersion: nextRevision(etcd),
  };
  mapOf(etcd, kind).set(objectName(kind, object), object);
  emit(etcd, { kind, type: 'Applied', object, before });
  return object;
}

function deleteObject(etcd: Etcd, kind: Kind, name: string): boolean {
  const before = mapOf(etcd, kind).get(name);
  if (before === undefined) return false;
  mapOf(etcd, kind).delete(name);
  emit(etcd, { kind, type: 'Deleted', object: { ...before, resourceVersion: nextRevision(etcd) }, before });
  return true;
}

function newUid(random: Random): string {
  const hex = randomHex(random, 32);
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
