// The lab's hand in the cluster: what people, the scheduler and the cloud provider do, past the API and its troubles.

import { type InstanceId, type NodeName, type PodKey, podKey } from '../../domain/ids.ts';
import type {
  EniConfigRecord,
  Kind,
  KindMap,
  NamespaceRecord,
  NodeNetworkClassRecord,
  NodeNetworkRecord,
  NodeRecord,
  NodeTaint,
  PodRecord,
  Subscription,
} from '../../ports/cluster.ts';
import type { ApiServer } from './api-server.ts';
import type { EventRecorder, RecordedEvent } from './event-recorder.ts';
import type { AnyStoreChange, NewObject, ObjectStore } from './object-store.ts';

type Texts = Readonly<Record<string, string>>;

/** What is absent stays as it is, or takes Kubernetes's default on a new object. */
interface MetaMaking {
  readonly labels?: Texts;
  readonly annotations?: Texts;
}

export interface NodeMaking extends MetaMaking {
  readonly name: NodeName;
  readonly instanceId?: InstanceId;
  /** The zone of the provider id, where there is no label topology.kubernetes.io/zone. */
  readonly zone?: string;
  readonly taints?: readonly NodeTaint[];
  readonly podCapacity?: number;
}

export interface PodMaking extends MetaMaking {
  readonly namespace: string;
  readonly name: string;
  readonly nodeName?: NodeName;
  readonly hostNetwork?: boolean;
}

export interface NodeNetworkClassMaking extends MetaMaking {
  readonly name: string;
  readonly spec: NodeNetworkClassRecord['spec'];
}

export interface NamespaceMaking extends MetaMaking {
  readonly name: string;
}

export interface EniConfigMaking extends MetaMaking {
  readonly name: string;
  readonly spec: EniConfigRecord['spec'];
}

/** Everything takes effect at once. Deleting what is not there answers false. */
export interface ClusterAdmin {
  applyNode(making: NodeMaking): NodeRecord;
  deleteNode(name: NodeName): boolean;
  applyPod(making: PodMaking): PodRecord;
  /** The scheduler's choice. */
  bindPod(key: PodKey, nodeName: NodeName): PodRecord;
  /** All its containers have ended: it holds no address any more. */
  finishPod(key: PodKey): PodRecord;
  /** Deletion has been asked for, and kubelet has not yet ended it. */
  startPodDeletion(key: PodKey): PodRecord;
  deletePod(key: PodKey): boolean;
  applyEniConfig(making: EniConfigMaking): EniConfigRecord;
  deleteEniConfig(name: string): boolean;
  applyNodeNetworkClass(making: NodeNetworkClassMaking): NodeNetworkClassRecord;
  deleteNodeNetworkClass(name: string): boolean;
  applyNamespace(making: NamespaceMaking): NamespaceRecord;
  /** Undefined removes the label. The object must be there; pods are named `namespace/name`. */
  setLabel(object: ObjectRef, key: string, value: string | undefined): void;
  setAnnotation(object: ObjectRef, key: string, value: string | undefined): void;
  get<K extends Kind>(kind: K, name: string): KindMap[K] | undefined;
  list<K extends Kind>(kind: K): readonly KindMap[K][];
  nodeNetwork(name: string): NodeNetworkRecord | undefined;
  events(): readonly RecordedEvent[];
  onEvent(notify: (event: RecordedEvent) => void): Subscription;
  /** Every change, in the turn in which it happens. */
  onChange(notify: (change: AnyStoreChange) => void): Subscription;
  /** The API server refuses everything for `ms` milliseconds. */
  takeDown(ms: number): void;
  bringUp(): void;
  /** Requests of all clients that have arrived since the start; watches do not count. */
  requestCount(): number;
}

export interface ObjectRef {
  readonly kind: Kind;
  readonly name: string;
}

const ZONE_LABEL = 'topology.kubernetes.io/zone';

export interface AdminContext {
  readonly store: ObjectStore;
  readonly events: EventRecorder;
  readonly server: ApiServer;
}

export function createClusterAdmin({ store, events, server }: AdminContext): ClusterAdmin {
  const changePod = (key: PodKey, change: Partial<PodRecord>): PodRecord =>
    store.update('Pod', key, (before) => ({ ...before, ...change }));
  return {
    applyNode: (making) => applyNode(store, making),
    deleteNode: (name) => store.delete('Node', name),
    applyPod: (making) => applyPod(store, making),
    bindPod: (key, nodeName) => changePod(key, { nodeName }),
    finishPod: (key) => changePod(key, { finished: true }),
    startPodDeletion: (key) => changePod(key, { deleting: true }),
    deletePod: (key) => store.delete('Pod', key),
    applyEniConfig: (making) => applyEniConfig(store, making),
    deleteEniConfig: (name) => store.delete('EniConfig', name),
    applyNodeNetworkClass: ({ name, spec, ...meta }) =>
      applyNamed(store, 'NodeNetworkClass', { name, meta, fields: { spec } }),
    deleteNodeNetworkClass: (name) => store.delete('NodeNetworkClass', name),
    applyNamespace: ({ name, ...meta }) => applyNamed(store, 'Namespace', { name, meta, fields: {} }),
    setLabel: ({ kind, name }, key, value) => {
      store.update(kind, name, (before) => relabelled(kind, before, changed(before.labels, key, value)));
    },
    setAnnotation: ({ kind, name }, key, value) => {
      store.update(kind, name, (before) => ({
        ...before,
        annotations: changed(before.annotations, key, value),
      }));
    },
    get: (kind, name) => store.get(kind, name),
    list: (kind) => store.list(kind),
    nodeNetwork: (name) => store.get('NodeNetwork', name),
    events: () => events.list(),
    onEvent: (notify) => events.onEvent(notify),
    onChange: (notify) => store.onChange(notify),
    takeDown: (ms) => server.takeDown(ms),
    bringUp: () => server.bringUp(),
    requestCount: () => server.requestCount(),
  };
}

function applyNode(store: ObjectStore, making: NodeMaking): NodeRecord {
  const before = store.get('Node', making.name);
  const labels = making.labels ?? before?.labels ?? {};
  const zone = labels[ZONE_LABEL] ?? making.zone ?? before?.zone;
  const instanceId = making.instanceId ?? before?.instanceId;
  const podCapacity = making.podCapacity ?? before?.podCapacity;
  const fields = {
    name: making.name,
    labels,
    annotations: making.annotations ?? before?.annotations ?? {},
    taints: making.taints ?? before?.taints ?? [],
    extendedResources: before?.extendedResources ?? {},
    ...(instanceId === undefined ? {} : { instanceId }),
    ...(zone === undefined ? {} : { zone }),
    ...(podCapacity === undefined ? {} : { podCapacity }),
  };
  return before === undefined
    ? store.create('Node', fields)
    : store.update('Node', making.name, (old) => ({ ...old, ...fields }));
}

function applyPod(store: ObjectStore, making: PodMaking): PodRecord {
  const key = podKey(making.namespace, making.name);
  const before = store.get('Pod', key);
  const nodeName = making.nodeName ?? before?.nodeName;
  const fields = {
    key,
    namespace: making.namespace,
    name: making.name,
    labels: making.labels ?? before?.labels ?? {},
    annotations: making.annotations ?? before?.annotations ?? {},
    hostNetwork: making.hostNetwork ?? before?.hostNetwork ?? false,
    finished: before?.finished ?? false,
    ...(nodeName === undefined ? {} : { nodeName }),
  };
  return before === undefined
    ? store.create('Pod', fields)
    : store.update('Pod', key, (old) => ({ ...old, ...fields }));
}

/** Makes an object, or changes what of it is given. */
function applyNamed<K extends 'NodeNetworkClass' | 'Namespace'>(
  store: ObjectStore,
  kind: K,
  making: { readonly name: string; readonly meta: MetaMaking; readonly fields: Partial<KindMap[K]> },
): KindMap[K] {
  const { name, meta, fields } = making;
  const before = store.get(kind, name);
  const labels = meta.labels ?? before?.labels ?? {};
  const annotations = meta.annotations ?? before?.annotations ?? {};
  const object = { ...fields, name, labels, annotations };
  return before === undefined
    ? store.create(kind, object as unknown as NewObject<K>)
    : store.update(kind, name, (old) => ({ ...old, ...object }));
}

function applyEniConfig(store: ObjectStore, making: EniConfigMaking): EniConfigRecord {
  const before = store.get('EniConfig', making.name);
  const fields = {
    name: making.name,
    labels: making.labels ?? before?.labels ?? {},
    annotations: making.annotations ?? before?.annotations ?? {},
    spec: making.spec,
  };
  return before === undefined
    ? store.create('EniConfig', fields)
    : store.update('EniConfig', making.name, (old) => ({ ...old, ...fields }));
}

/** New labels, and what is read from them. */
function relabelled<K extends Kind>(kind: K, before: KindMap[K], labels: Texts): KindMap[K] {
  const object = { ...before, labels };
  if (kind === 'Node' && labels[ZONE_LABEL] !== undefined) return { ...object, zone: labels[ZONE_LABEL] };
  if (kind === 'EniConfig') {
    const { spec } = before as EniConfigRecord;
    if (spec.kind === 'Parsed') {
      return { ...object, spec: { ...spec, eniConfig: { ...spec.eniConfig, labels } } };
    }
  }
  return object;
}

function changed(texts: Texts, key: string, value: string | undefined): Texts {
  const { [key]: _, ...others } = texts;
  return value === undefined ? others : { ...others, [key]: value };
}
