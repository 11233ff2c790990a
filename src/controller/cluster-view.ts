// What we believe of the cluster: the newest object of each kind, written by watches and by answers to our own writes.

import { POD_ENI_CONFIG } from '../domain/eniconfig/pod-choice.ts';
import type { InstanceId, NodeName } from '../domain/ids.ts';
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
  /** instance -> names of the nodes that say that they are it: one, as a rule */
  readonly nodesOfInstance: Map<InstanceId, Set<string>>;
  /** `namespace/name` -> pod */
  readonly pods: Map<string, PodRecord>;
  /** node name -> keys of the pods bound to it */
  readonly podsOfNode: Map<string, Set<string>>;
  readonly eniConfigs: Map<string, EniConfigRecord>;
  readonly nodeNetworks: Map<string, NodeNetworkRecord>;
  /** NodeNetwork -> the last versions of it that the watch has brought, oldest first */
  readonly broughtVersions: Map<string, string[]>;
  /** NodeNetwork -> the last versions of it that own writes have replaced, oldest first */
  readonly replacedVersions: Map<string, string[]>;
  readonly classes: Map<string, NodeNetworkClassRecord>;
  readonly namespaces: Map<string, NamespaceRecord>;
  /** ENIConfig -> pods and namespaces that ask for it by name */
  readonly wishedNames: Map<string, number>;
  /** Nodes that were written, or whose NodeNetwork was, since somebody last emptied this. */
  readonly touchedNodes: Set<string>;
  /** Kinds whose first snapshot has come: nothing is decided before all have (RST-1). */
  readonly synced: Set<Kind>;
}

/** An empty view. */
export function createClusterView(): ClusterView {
  return {
    nodes: new Map(),
    nodesOfInstance: new Map(),
    pods: new Map(),
    podsOfNode: new Map(),
    eniConfigs: new Map(),
    nodeNetworks: new Map(),
    broughtVersions: new Map(),
    replacedVersions: new Map(),
    classes: new Map(),
    namespaces: new Map(),
    wishedNames: new Map(),
    touchedNodes: new Set(),
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
  switch (event.type) {
    case 'Snapshot': {
      const gone = new Map(storeOf(view, kind));
      for (const object of event.objects) {
        gone.delete(keyOf(object));
        put(view, kind, object);
      }
      for (const object of gone.values()) remove(view, kind, object);
      view.synced.add(kind);
      return [...event.objects, ...gone.values()];
    }
    case 'Applied':
      put(view, kind, event.object);
      return [event.object];
    case 'Deleted':
      remove(view, kind, event.object);
      return [event.object];
  }
}

/** What is held of an object that an event tells of. */
export const known = <K extends Kind>(
  view: ClusterView,
  kind: K,
  object: KindMap[K],
): KindMap[K] | undefined => storeOf(view, kind).get(keyOf(object));

/** More than come while a request is under way. */
const BROUGHT_VERSION_COUNT_MAX = 64;
/** More than the watch is behind. */
const REPLACED_VERSION_COUNT_MAX = 16;

/**
 * Takes in the answer to a request for the node's object that is sent now. It is newer than what is held, unless the watch
 * went on meanwhile and has brought this very version, too: agents write the status at any time, and nobody would tell of
 * it again. `over` is the version that the request replaces, if it is a write.
 */
export function expectNodeNetwork(
  view: ClusterView,
  name: NodeName,
  over?: NodeNetworkRecord,
): (answer: NodeNetworkRecord) => void {
  const held = view.nodeNetworks.get(name);
  return (answer) => {
    if (over !== undefined) noteReplaced(view, over, answer);
    const now = view.nodeNetworks.get(name);
    // Deleted meanwhile: nobody would tell of that again.
    if (held !== undefined && now === undefined) return;
    const isPassed = view.broughtVersions.get(name)?.includes(answer.resourceVersion) === true;
    // A watch may leave a version out that is followed by another one; then it comes to no harm to wait for the watch.
    const isBehind = now?.uid !== answer.uid || now.generation < answer.generation;
    if (now !== held && (isPassed || !isBehind)) return;
    view.nodeNetworks.set(name, answer);
    view.touchedNodes.add(name);
  };
}

/**
 * The same for the node itself. What the watch has brought since stands, whatever the answer says: the node may be gone, or
 * another one of its name be there, and nobody would tell of that again; what the answer has more will come by the watch.
 */
export function expectNode(view: ClusterView, name: NodeName): (answer: NodeRecord) => void {
  const held = view.nodes.get(name);
  return (answer) => {
    if (held !== undefined && view.nodes.get(name) === held) put(view, 'Node', answer);
  };
}

function noteBrought({ broughtVersions }: ClusterView, { name, resourceVersion }: AnyRecord): void {
  push(broughtVersions, { name, version: resourceVersion, countMax: BROUGHT_VERSION_COUNT_MAX });
}

/**
 * What a write has replaced can never be what stands again. Its event may come after the write's answer, and a round that
 * believed it would write the same once more, over a version that is no more.
 */
function noteReplaced(
  { replacedVersions }: ClusterView,
  over: NodeNetworkRecord,
  answer: NodeNetworkRecord,
): void {
  if (over.uid !== answer.uid || over.resourceVersion === answer.resourceVersion) return;
  push(replacedVersions, {
    name: over.name,
    version: versionKey(over),
    countMax: REPLACED_VERSION_COUNT_MAX,
  });
}

const versionKey = ({ uid, resourceVersion }: AnyRecord): string => `${uid}/${resourceVersion}`;

interface Pushing {
  readonly name: string;
  readonly version: string;
  readonly countMax: number;
}

function push(lists: Map<string, string[]>, { name, version, countMax }: Pushing): void {
  const versions = lists.get(name) ?? [];
  lists.set(name, versions);
  versions.push(version);
  if (versions.length > countMax) versions.shift();
}

/** The API server has said that there is none. */
export function forgetNodeNetwork(view: ClusterView, name: NodeName): void {
  view.nodeNetworks.delete(name);
  view.touchedNodes.add(name);
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

function put<K extends Kind>(view: ClusterView, kind: K, object: KindMap[K]): void {
  const store = storeOf(view, kind);
  const key = keyOf(object);
  const before = store.get(key);
  if (kind === 'NodeNetwork') noteBrought(view, object);
  if (before !== undefined && isOlder(object, before)) return;
  if (kind === 'NodeNetwork' && view.replacedVersions.get(key)?.includes(versionKey(object)) === true) return;
  if (before !== undefined) unindex(view, kind, before);
  store.set(key, object);
  countWish(view, kind, { object, change: 1 });
  switch (kind) {
    case 'Pod':
      addTo(view.podsOfNode, (object as PodRecord).nodeName, key);
      break;
    case 'Node':
      addTo(view.nodesOfInstance, (object as NodeRecord).instanceId, key);
      view.touchedNodes.add(key);
      break;
    case 'NodeNetwork':
      view.touchedNodes.add(key);
      break;
    default:
  }
}

/**
 * A watch may deliver an object that is older than the answer to our own write. resourceVersions are opaque, but the
 * generation of one and the same object never falls.
 */
const isOlder = (object: AnyRecord, before: AnyRecord): boolean =>
  object.uid === before.uid && object.generation < before.generation;

function remove<K extends Kind>(view: ClusterView, kind: K, object: KindMap[K]): void {
  const store = storeOf(view, kind);
  const key = keyOf(object);
  const before = store.get(key);
  // A late deletion of an object that has been made again under the same name must not take the new one away.
  if (before === undefined || before.uid !== object.uid) return;
  unindex(view, kind, before);
  store.delete(key);
  if (kind !== 'NodeNetwork') return;
  view.broughtVersions.delete(key);
  view.replacedVersions.delete(key);
}

/** Other kinds may carry the annotation too: there it means nothing. */
function countWish(
  view: ClusterView,
  kind: Kind,
  { object, change }: { readonly object: AnyRecord; readonly change: 1 | -1 },
): void {
  const name = object.annotations[POD_ENI_CONFIG];
  if (name === undefined || (kind !== 'Pod' && kind !== 'Namespace')) return;
  const count = (view.wishedNames.get(name) ?? 0) + change;
  if (count > 0) view.wishedNames.set(name, count);
  else view.wishedNames.delete(name);
}

function unindex(view: ClusterView, kind: Kind, object: AnyRecord): void {
  countWish(view, kind, { object, change: -1 });
  switch (kind) {
    case 'Pod':
      takeFrom(view.podsOfNode, (object as PodRecord).nodeName, keyOf(object));
      break;
    case 'Node':
      takeFrom(view.nodesOfInstance, (object as NodeRecord).instanceId, keyOf(object));
      view.touchedNodes.add(keyOf(object));
      break;
    case 'NodeNetwork':
      view.touchedNodes.add(keyOf(object));
      break;
    default:
  }
}

function addTo<Key>(index: Map<Key, Set<string>>, key: Key | undefined, member: string): void {
  if (key === undefined) return;
  const members = index.get(key);
  if (members === undefined) index.set(key, new Set([member]));
  else members.add(member);
}

function takeFrom<Key>(index: Map<Key, Set<string>>, key: Key | undefined, member: string): void {
  if (key === undefined) return;
  const members = index.get(key);
  members?.delete(member);
  if (members?.size === 0) index.delete(key);
}
