// What we believe of the cluster: the newest object of each kind, written by watches and by answers to our own writes.

import { POD_ENI_CONFIG } from '../domain/eniconfig/pod-choice.ts';
import type { NodeName } from '../domain/ids.ts';
import type {
  EniConfigRecord,
  Kind,
  KindMap,
  NamespaceRecord,
  NodeNetworkClassRecord,
  NodeNetworkRecord,
  NodeRecord,
  PodRecord,
  WatchEvent,
} from '../ports/cluster.ts';

export interface ClusterView {
  readonly nodes: Map<string, NodeRecord>;
  /** `namespace/name` -> pod */
  readonly pods: Map<string, PodRecord>;
  /** node name -> keys of the pods bound to it */
  readonly podsOfNode: Map<string, Set<string>>;
  readonly eniConfigs: Map<string, EniConfigRecord>;
  readonly nodeNetworks: Map<string, NodeNetworkRecord>;
  readonly classes: Map<string, NodeNetworkClassRecord>;
  readonly namespaces: Map<string, NamespaceRecord>;
  /** ENIConfig -> pods and namespaces that ask for it by name */
  readonly wishedNames: Map<string, number>;
  /** Kinds whose first snapshot has come: nothing is decided before all have (RST-1). */
  readonly synced: Set<Kind>;
}

/** An empty view. */
export function createClusterView(): ClusterView {
  return {
    nodes: new Map(),
    pods: new Map(),
    podsOfNode: new Map(),
    eniConfigs: new Map(),
    nodeNetworks: new Map(),
    classes: new Map(),
    namespaces: new Map(),
    wishedNames: new Map(),
    synced: new Set(),
  };
}

const KIND_COUNT = 6;

export const isSynced = (view: ClusterView): boolean => view.synced.size === KIND_COUNT;

/** Takes in one watch event and answers the names of the objects that it touched. */
export function recordEvent<K extends Kind>(
  view: ClusterView,
  kind: K,
  event: WatchEvent<KindMap[K]>,
): readonly KindMap[K][] {
  const store = storeOf(view, kind);
  switch (event.type) {
    case 'Snapshot': {
      const gone = new Map(store);
      for (const object of event.objects) {
        gone.delete(keyOf(object));
        put(view, store, object);
      }
      for (const object of gone.values()) remove(view, store, object);
      view.synced.add(kind);
      return [...event.objects, ...gone.values()];
    }
    case 'Applied':
      put(view, store, event.object);
      return [event.object];
    case 'Deleted':
      remove(view, store, event.object);
      return [event.object];
  }
}

/** The answer to our own write is newer than anything the watch has brought. */
export function recordNodeNetwork(view: ClusterView, record: NodeNetworkRecord): void {
  view.nodeNetworks.set(record.name, record);
}

/** Pods of a node that need an address. */
export function podsNeedingAddress(view: ClusterView, node: NodeName): readonly PodRecord[] {
  const keys = view.podsOfNode.get(node) ?? new Set<string>();
  return [...keys].flatMap((key) => {
    const pod = view.pods.get(key);
    return pod === undefined || pod.hostNetwork || pod.finished || pod.deleting ? [] : [pod];
  });
}

type AnyRecord = KindMap[Kind];

const keyOf = (object: AnyRecord): string => ('key' in object ? object.key : object.name);

function storeOf<K extends Kind>(view: ClusterView, kind: K): Map<string, KindMap[K]> {
  const stores: { readonly [P in Kind]: Map<string, KindMap[P]> } = {
    Node: view.nodes,
    Pod: view.pods,
    EniConfig: view.eniConfigs,
    NodeNetwork: view.nodeNetworks,
    NodeNetworkClass: view.classes,
    Namespace: view.namespaces,
  };
  return stores[kind];
}

function put<T extends AnyRecord>(view: ClusterView, store: Map<string, T>, object: T): void {
  const key = keyOf(object);
  const before = store.get(key);
  if (before !== undefined && isOlder(object, before)) return;
  if (before !== undefined) unindex(view, before);
  store.set(key, object);
  countWish(view, object, 1);
  if ('key' in object && object.nodeName !== undefined) {
    const keys = view.podsOfNode.get(object.nodeName) ?? new Set<string>();
    view.podsOfNode.set(object.nodeName, keys.add(key));
  }
}

/**
 * A watch may deliver an object that is older than the answer to our own write. resourceVersions are opaque, but the
 * generation of one and the same object never falls.
 */
const isOlder = (object: AnyRecord, before: AnyRecord): boolean =>
  object.uid === before.uid && object.generation < before.generation;

function remove<T extends AnyRecord>(view: ClusterView, store: Map<string, T>, object: T): void {
  const key = keyOf(object);
  const before = store.get(key);
  // A late deletion of an object that has been made again under the same name must not take the new one away.
  if (before === undefined || before.uid !== object.uid) return;
  unindex(view, before);
  store.delete(key);
}

/** Other kinds may carry the annotation too: there it means nothing. */
function countWish(view: ClusterView, object: AnyRecord, change: 1 | -1): void {
  const name = object.annotations[POD_ENI_CONFIG];
  if (name === undefined || !('key' in object || view.namespaces.get(object.name) === object)) return;
  const count = (view.wishedNames.get(name) ?? 0) + change;
  if (count > 0) view.wishedNames.set(name, count);
  else view.wishedNames.delete(name);
}

function unindex(view: ClusterView, object: AnyRecord): void {
  countWish(view, object, -1);
  if (!('key' in object) || object.nodeName === undefined) return;
  view.podsOfNode.get(object.nodeName)?.delete(object.key);
}
