// What the parts of the agent share: its ports, and the little state that more than one of them reads.

import type { Ip } from '../domain/address/ip.ts';
import type { EniId, NodeName, PodKey } from '../domain/ids.ts';
import type { NodeNetworkSpec } from '../domain/ipam/node-network.ts';
import type { Clock } from '../ports/clock.ts';
import type { AgentCluster, NodeNetworkRecord, PodRecord } from '../ports/cluster.ts';
import type { Log } from '../ports/log.ts';
import type { NetworkStack } from '../ports/network-stack.ts';
import type { LedgerStore } from './ledger-store.ts';

/** A spec that is acted on. */
export interface AcceptedSpec {
  readonly spec: NodeNetworkSpec;
  readonly uid: string;
  readonly generation: number;
}

export interface AgentContext {
  readonly nodeName: NodeName;
  readonly cluster: AgentCluster;
  readonly stack: NetworkStack;
  readonly clock: Clock;
  readonly log: Log;
  readonly store: LedgerStore;
  readonly shared: SharedState;
}

/** Each field has one writer, named here; everybody may read. */
export interface SharedState {
  /** The newest record seen, by watch, by read or by own write. Writer: node-network-follower, status-writer. */
  record: NodeNetworkRecord | undefined;
  /** Whether the API server has said anything of the object yet, be it that there is none. Writer: node-network-follower. */
  heard: boolean;
  /** When the journal was read, milliseconds since the epoch. Writer: start-agent. */
  loadedAt: number;
  /** Writer: spec-follower. Stays when the object is gone, for the pods that live on: see `offered`. */
  accepted: AcceptedSpec | undefined;
  /** Whether new pods may get addresses of `accepted`: not once its object is gone. Writer: spec-follower. */
  offered: boolean;
  /** The journal is read. Writer: start-agent. */
  loaded: boolean;
  /** The journal knew of no pod at the start: it is the node's first start, or the journal is lost. Writer: start-agent. */
  startedEmpty: boolean;
  /** Journal and kernel have been compared. Writer: spec-follower. */
  recovered: boolean;
  /**
   * Addresses that the object may still list as let go: what the last write said that may have taken effect. None of
   * them is handed out, though it be forgotten and granted anew (IP-6). Writer: status-writer.
   */
  toldWithdrawn: ReadonlySet<Ip>;
  /** When the status was written last, milliseconds since boot; undefined: not in this life. Writer: status-writer. */
  statusWrittenAt: number | undefined;
  /** By when a generation must be told that the status does not answer yet, milliseconds since boot. Writer: status-pace, status-writer. */
  generationDueAt: number | undefined;
  /** address -> the ENI by which the host routes it. Writer: host-keeper. */
  routed: ReadonlyMap<Ip, EniId>;
  /** ENIs whose link has not appeared. Writer: host-keeper. */
  pendingEnis: readonly EniId[];
  /** This node's pods as the API server told of them last; empty before it has. Writer: pod-follower. */
  pods: ReadonlyMap<PodKey, PodRecord>;
  /** Whether it has told of them. Writer: pod-follower. */
  podsHeard: boolean;
  /**
   * Addresses that the kernel may let reach instance metadata, be it by a table that is being replaced: a new pod gets
   * none of them. Writer: host-keeper.
   */
  imdsOpen: ReadonlySet<Ip>;
  /** Whether the host's datapath has been written since the start. Writer: host-keeper. */
  hostApplied: boolean;
  /** Why the host's datapath is not as it should be. Writer: host-keeper. */
  hostFailure: string | undefined;
}

export const initialState = (): SharedState => ({
  record: undefined,
  heard: false,
  loadedAt: 0,
  accepted: undefined,
  offered: false,
  loaded: false,
  startedEmpty: false,
  recovered: false,
  toldWithdrawn: new Set(),
  statusWrittenAt: undefined,
  generationDueAt: undefined,
  routed: new Map(),
  pendingEnis: [],
  pods: new Map(),
  podsHeard: false,
  imdsOpen: new Set(),
  hostApplied: false,
  hostFailure: undefined,
});

/** Why the agent cannot serve ADD at all; undefined when it can. */
export function notServing({ shared, store, nodeName }: AgentContext): string | undefined {
  if (!shared.loaded) return store.failure() ?? 'the journal is being read';
  if (shared.accepted === undefined) {
    return `there is no NodeNetwork ${nodeName} yet: the controller makes it once it knows the node's instance`;
  }
  if (!shared.recovered) return 'the pods that are running are being compared with the journal';
  if (!shared.hostApplied) return shared.hostFailure ?? "the node's routes and rules are being written";
  return undefined;
}
