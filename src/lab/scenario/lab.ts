// The world of one run: the simulated EC2 and cluster, the nodes with their agents and kubelets, and the controller.

import type { InstanceId, NodeName, PodKey } from '../../domain/ids.ts';
import type { Clock } from '../../ports/clock.ts';
import type { SimCluster } from '../cluster/sim-cluster.ts';
import type { LabEc2 } from '../ec2/lab-ec2.ts';
import type { Kubelet, PodState } from './kubelet.ts';
import type { Packets } from './packets.ts';
import type { Places } from './places.ts';
import type { Scenario } from './scenario.ts';

export interface LabNode {
  readonly name: NodeName;
  readonly instanceId: InstanceId;
  /** Path of the node's network namespace; absent in memory. */
  readonly netnsPath?: string;
  readonly kubelet: Kubelet;
  /** Ends the agent and starts it again over the same journal. */
  restartAgent(): Promise<void>;
  /** Ends kubelet and agent; pods stay as they are. */
  stop(): Promise<void>;
}

export interface Lab {
  readonly scenario: Scenario;
  readonly clock: Clock;
  readonly ec2: LabEc2;
  readonly cluster: SimCluster;
  readonly nodes: ReadonlyMap<string, LabNode>;
  /** Absent where there are no network namespaces. */
  readonly packets?: Packets;
  readonly places: Places;
  launchNode(name: string): Promise<LabNode>;
  /** Stops the controller and starts one with the scenario's settings and `changes` on top. */
  restartController(changes: Readonly<Record<string, string>>): Promise<void>;
  /** Stops everything in the reverse order of its start, and removes what was made. */
  close(): Promise<void>;
}

/** The pod as its node's kubelet has it; of a pod that is deleted, as the last kubelet had it. */
export function podStateOf(lab: Lab, pod: PodKey): PodState | undefined {
  const home = lab.cluster.admin.get('Pod', pod)?.nodeName;
  if (home !== undefined) return lab.nodes.get(home)?.kubelet.pods.get(pod);
  for (const node of lab.nodes.values()) {
    const state = node.kubelet.pods.get(pod);
    if (state !== undefined) return state;
  }
  return undefined;
}

/** Every pod object whose deletion nobody asked for, whether or not a kubelet has seen it yet. */
export const livingPods = (lab: Pick<Lab, 'cluster'>): readonly PodKey[] =>
  lab.cluster.admin.list('Pod').flatMap(({ key, deleting }) => (deleting ? [] : [key]));
