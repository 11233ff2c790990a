// What a run needs of a network: a place for each node, and packets where there are any.

import type { InstanceId, NodeName } from '../../domain/ids.ts';
import type { NetworkStack } from '../../ports/network-stack.ts';
import type { CniReply, CniRequest } from '../../protocol/agent-socket/cni-message.ts';
import type { Places } from './places.ts';
import type { PodRuntime } from './kubelet.ts';
import type { Packets } from './packets.ts';

export type HandleCni = (request: CniRequest) => Promise<CniReply>;

/** A node's place in the network, from its launch to the end of the run. */
export interface Seat {
  /** Path of the node's network namespace; absent in memory. */
  readonly netnsPath?: string;
  /** The node's kernel, opened anew by each life of its agent. */
  openStack(): NetworkStack;
  /** The node's container runtime, which hands CNI calls to whatever `serve` was given last. */
  readonly runtime: PodRuntime;
  /** Lets the runtime reach the agent, until the answer is closed: as an agent's socket would. */
  serve(handle: HandleCni): Promise<{ close(): Promise<void> }>;
}

export interface LabNetwork {
  /** Absent where there are no network namespaces. */
  readonly packets?: Packets;
  readonly places: Places;
  joinNode(node: { readonly name: NodeName; readonly instanceId: InstanceId }): Promise<Seat>;
  /** Removes everything that the network made. */
  close(): Promise<void>;
}
