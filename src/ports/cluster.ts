// Kubernetes as Eniwhere uses it: six kinds, projected to the fields that are read, and Events.

import type { EniConfig, EniConfigStatus } from '../domain/eniconfig/eni-config.ts';
import type { ClassSpec } from '../domain/eniconfig/node-network-class.ts';
import type { EniConfigObject } from '../domain/eniconfig/resolve-eni-config.ts';
import type { InstanceId, NodeName, PodKey } from '../domain/ids.ts';
import type { NodeNetworkSpec, NodeNetworkStatus } from '../domain/ipam/node-network.ts';
import type { Outcome } from './outcome.ts';

interface Meta {
  readonly name: string;
  readonly uid: string;
  /** Opaque; only compared for equality. */
  readonly resourceVersion: string;
  /** Rises by one with every change of the spec. */
  readonly generation: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly deleting: boolean;
}

export interface NodeRecord extends Meta {
  readonly name: NodeName;
  /** From spec.providerID (aws:///ZONE/i-...); absent while the cloud provider has not set it. */
  readonly instanceId?: InstanceId;
  /** Label topology.kubernetes.io/zone, or the zone of the provider id. */
  readonly zone?: string;
  readonly taints: readonly NodeTaint[];
  /** status.capacity of the extended resources whose names begin with `eniwhere.io/`; others are left out. */
  readonly extendedResources: Readonly<Record<string, number>>;
  /** status.capacity.pods: what kubelet was told; absent until it has said so. */
  readonly podCapacity?: number;
  /** status.nodeInfo.kernelVersion, such as `6.1.155-176.282.amzn2023.x86_64`; absent until kubelet has said so. */
  readonly kernelVersion?: string;
}

export interface NodeTaint {
  readonly key: string;
  readonly value?: string;
  readonly effect: 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute';
}

/** Only its annotations are read: they hold for all pods in it. */
export type NamespaceRecord = Meta;

export interface PodRecord extends Meta {
  readonly key: PodKey;
  readonly namespace: string;
  readonly nodeName?: NodeName;
  readonly hostNetwork: boolean;
  /** Succeeded or Failed: holds no address any more. */
  readonly finished: boolean;
  /** A container asks for `vpc.amazonaws.com/pod-eni`, as EKS has pods do that a SecurityGroupPolicy matches. */
  readonly asksBranchEni?: true;
}

/** An ENIConfig object as read: a well-formed one, or the reason why it is not. */
export interface EniConfigRecord extends Meta {
  readonly spec: EniConfigObject['spec'];
  readonly status?: EniConfigStatus;
}

/** A NodeNetworkClass object as read. */
export interface NodeNetworkClassRecord extends Meta {
  readonly spec: ClassSpec;
  readonly status?: NodeNetworkClassStatus;
}

export interface NodeNetworkClassStatus {
  readonly ready: boolean;
  readonly message: string;
  /** Nodes that the class claims. */
  readonly nodeCount: number;
  /** ENIConfigs that it chooses among, by name. */
  readonly eniConfigs: readonly string[];
}

export interface NodeNetworkRecord extends Meta {
  readonly name: NodeName;
  readonly spec: NodeNetworkSpec;
  readonly status: NodeNetworkStatus;
}

export interface KindMap {
  readonly Node: NodeRecord;
  readonly Pod: PodRecord;
  readonly EniConfig: EniConfigRecord;
  readonly NodeNetwork: NodeNetworkRecord;
  readonly NodeNetworkClass: NodeNetworkClassRecord;
  readonly Namespace: NamespaceRecord;
}
export type Kind = keyof KindMap;

export type WatchEvent<T> =
  /** The whole list: at the start, and again after every gap. Whatever is not in it is gone. */
  | { readonly type: 'Snapshot'; readonly objects: readonly T[] }
  | { readonly type: 'Applied'; readonly object: T }
  | { readonly type: 'Deleted'; readonly object: T };

export interface Subscription {
  close(): void;
}

/** Narrows a watch to one object by name, or to the pods of one node. */
export interface WatchScope {
  readonly name?: string;
  readonly nodeName?: NodeName;
}

export interface ClusterFailure {
  readonly kind: 'conflict' | 'not-found' | 'already-exists' | 'forbidden' | 'invalid' | 'unavailable';
  readonly message: string;
}

export type ClusterOutcome<T> = Outcome<T, ClusterFailure>;

export interface ClusterReader {
  /** Lists, then watches, and relists by itself after gaps and outages, for ever, until closed. */
  watch<K extends Kind>(request: {
    readonly kind: K;
    readonly scope?: WatchScope;
    readonly onEvent: (event: WatchEvent<KindMap[K]>) => void;
  }): Subscription;
  /** A read from the API server itself, not from a cache. `ok` with `undefined` means: certainly not there. */
  get<K extends Kind>(kind: K, name: string): Promise<ClusterOutcome<KindMap[K] | undefined>>;
}

export interface ClusterEvent {
  readonly about: { readonly kind: Kind; readonly name: string; readonly namespace?: string };
  readonly type: 'Normal' | 'Warning';
  /** CamelCase, one word, such as SubnetFull. */
  readonly reason: string;
  /** What is wrong, and what to do. */
  readonly message: string;
}

/** The controller's rights. Updates carry the record's resourceVersion and fail with `conflict` when it is not the newest. */
export interface ClusterWriter {
  createNodeNetwork(
    name: NodeName,
    owner: NodeRecord,
    spec: NodeNetworkSpec,
  ): Promise<ClusterOutcome<NodeNetworkRecord>>;
  updateNodeNetworkSpec(record: NodeNetworkRecord): Promise<ClusterOutcome<NodeNetworkRecord>>;
  deleteNodeNetwork(record: NodeNetworkRecord): Promise<ClusterOutcome<void>>;
  updateEniConfigStatus(record: EniConfigRecord, status: EniConfigStatus): Promise<ClusterOutcome<void>>;
  updateNodeNetworkClassStatus(
    record: NodeNetworkClassRecord,
    status: NodeNetworkClassStatus,
  ): Promise<ClusterOutcome<void>>;
  createEniConfig(eniConfig: EniConfig): Promise<ClusterOutcome<EniConfigRecord>>;
  /** Writes the subnet and the groups; the name and the labels stay. */
  updateEniConfigSpec(
    record: EniConfigRecord,
    spec: Pick<EniConfig, 'subnetId' | 'securityGroupIds'>,
  ): Promise<ClusterOutcome<EniConfigRecord>>;
  deleteEniConfig(record: EniConfigRecord): Promise<ClusterOutcome<void>>;
  /** Adds the taint beside those that are there. */
  addNodeTaint(record: NodeRecord, taint: NodeTaint): Promise<ClusterOutcome<NodeRecord>>;
  /** Takes away every taint with this key, whatever its value and effect; others stay. */
  removeNodeTaint(record: NodeRecord, key: string): Promise<ClusterOutcome<NodeRecord>>;
  /**
   * Sets the node's extended resources whose names begin with `eniwhere.io/` to exactly these (status.capacity and
   * status.allocatable, in the status subresource); those not named are taken away.
   */
  setExtendedResources(
    record: NodeRecord,
    resources: Readonly<Record<string, number>>,
  ): Promise<ClusterOutcome<NodeRecord>>;
}

/**
 * The status subresource. Of the record's status each writes its own part: the controller its condition types, the agent
 * all else. The other's part stays, and must be in the record as it was read.
 */
export interface StatusWriter {
  updateNodeNetworkStatus(record: NodeNetworkRecord): Promise<ClusterOutcome<NodeNetworkRecord>>;
}

export interface EventWriter {
  /** Never fails towards the caller: an Event that cannot be written is logged and dropped. */
  emit(event: ClusterEvent): void;
}

export type ControllerCluster = ClusterReader & ClusterWriter & StatusWriter & EventWriter;
export type AgentCluster = ClusterReader & StatusWriter & EventWriter;
