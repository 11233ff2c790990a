// What a checker is: it hears what really happened, knows the world's truth, and says which rule was broken.

import type { AddressFamily } from '../../domain/address/families.ts';
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
  /** Of the pod object that the sandbox was made for: another may bear the name by now. */
  readonly podUid: string;
  readonly address: Ip;
  /** Its IPv6 address, where it has both families. */
  readonly ipv6?: Ip;
}

/** All of a pod's addresses, IPv4 first. */
export const addressesOf = ({ address, ipv6 }: LiveSandbox): readonly Ip[] =>
  ipv6 === undefined ? [address] : [address, ipv6];

export interface WorldTruth {
  now(): number;
  readonly ec2: Ec2Truth;
  readonly cluster: ClusterAdmin;
  readonly cooldownMs: number;
  /** How long somebody may still act on what people wrote before, ms. */
  readonly lagMs: number;
  /** containerId -> sandbox */
  readonly live: ReadonlyMap<string, LiveSandbox>;
  /**
   * Whether somebody else took the sandbox's address from under it, or so shortly before that its node need not know:
   * nobody can protect it from that.
   */
  isRobbed(sandbox: LiveSandbox): boolean;
  instanceOf(node: NodeName): InstanceId | undefined;
  /** Whether a person has said so on the node, by the label of SEL-15. */
  isLeftAlone(node: NodeName): boolean;
  /** What the node's pods get, by a model of the workload's own. */
  familiesOf(node: NodeName): readonly AddressFamily[];
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
  /** The node's disk is lost, and with it what its agent remembered. */
  onDiskLost?(node: NodeName): void;
  /** At the end of the calm phase. */
  atRest?(): void;
}
