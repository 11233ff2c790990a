// What a checker is: it hears what really happened, knows the world's truth, and says which rule was broken.

import type { Ip } from '../../domain/address/ip.ts';
import type { InstanceId, NodeName, PodKey } from '../../domain/ids.ts';
import type { ClusterAdmin } from '../cluster/cluster-admin.ts';
import type { Ec2Truth } from '../ec2/ec2-truth.ts';
import type { Ec2Change } from '../ec2/region.ts';

/** A sandbox whose ADD was answered with success and whose DEL has not begun. */
export interface LiveSandbox {
  readonly containerId: string;
  readonly node: NodeName;
  readonly pod: PodKey;
  readonly address: Ip;
}

export interface WorldTruth {
  now(): number;
  readonly ec2: Ec2Truth;
  readonly cluster: ClusterAdmin;
  readonly cooldownMs: number;
  /** containerId -> sandbox */
  readonly live: ReadonlyMap<string, LiveSandbox>;
  instanceOf(node: NodeName): InstanceId | undefined;
  /** Actors of EC2 changes that are controllers under test. */
  isController(actor: string): boolean;
  /** Reports a broken rule; the first one ends the run. */
  broken(rule: string, what: string): void;
}

export interface Checker {
  onEc2Change?(change: Ec2Change): void;
  onAdded?(sandbox: LiveSandbox): void;
  /** DEL begins: from here on the pod is no more. */
  onDeleting?(sandbox: LiveSandbox): void;
  /** At the end of the calm phase. */
  atRest?(): void;
}
