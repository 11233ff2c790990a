// NodeNetwork: the contract between controller and agent. The spec is the controller's; of the status, all but the
// controller's own condition types is the agent's.

import type { AddressFamily } from '../address/families.ts';
import type { Cidr, Ip } from '../address/ip.ts';
import type { DatapathSettings } from '../datapath/datapath-settings.ts';
import type { PodDecision } from '../eniconfig/pod-choice.ts';
import type { Selection } from '../eniconfig/selection.ts';
import type { EniId, InstanceId, IntentId, PodKey, SecurityGroupId, SubnetId, VpcId } from '../ids.ts';
import type { Mode } from './mode.ts';

export interface InstanceFacts {
  readonly instanceId: InstanceId;
  readonly instanceType: string;
  readonly zone: string;
  readonly vpcId: VpcId;
  readonly primaryEniId: EniId;
  readonly primaryAddress: Ip;
  readonly primarySubnetId: SubnetId;
  readonly primarySecurityGroupIds: readonly SecurityGroupId[];
}

/**
 * An EC2 call noted before it is made. The id is the client token and the ENI's tag; it is reused on every retry and
 * closed only by a sighting, by a definite failure of the first try, or by expiry (ec2.md, ClientToken).
 */
export interface Intent {
  readonly id: IntentId;
  readonly kind: 'CreateEni';
  /** The request is repeated exactly on a retry, so it is recorded with the intent. */
  readonly subnetId: SubnetId;
  readonly securityGroupIds: readonly SecurityGroupId[];
  /** Single addresses for pods, or blocks: EC2 takes one of the two. */
  readonly addressCount: number;
  readonly prefixCount: number;
  /** /80 blocks: 1 for pods with IPv6, else 0. */
  readonly ipv6PrefixCount: number;
  /** ENIConfig name, or `''` for the node's own subnet. */
  readonly eniConfig: string;
  /** Milliseconds since the epoch. */
  readonly notedAt: number;
}

export interface SpecEni {
  readonly eniId: EniId;
  readonly mac: string;
  readonly primary: boolean;
  readonly deviceIndex: number;
  readonly networkCardIndex: number;
  /** ENIConfig name this ENI was made for; `''` for the node's own subnet and for the primary ENI. */
  readonly eniConfig: string;
  readonly subnetId: SubnetId;
  readonly subnetCidr: Cidr;
  /** Absent: the subnet has none, or nobody on the node needs it. */
  readonly subnetIpv6Cidr?: Cidr;
  readonly securityGroupIds: readonly SecurityGroupId[];
  readonly primaryAddress: Ip;
  /** Addresses that the agent may hand out, those being withdrawn included. Always empty on the primary ENI. */
  readonly addresses: readonly Ip[];
  /** Blocks that the ENI holds whole. Of a /28 every address is in `addresses`; of a /80 those of pods without IPv4. */
  readonly prefixes: readonly Cidr[];
  /** Addresses that the controller wants back: the agent stops offering them. */
  readonly withdrawing: readonly Ip[];
  /** Takes no new pods; given back when empty. */
  readonly cordoned: boolean;
  /** Serves only pods that chose its ENIConfig. */
  readonly chosenOnly?: true;
}

/** What is known of pods that choose their ENIConfig. */
export interface Choosing {
  /** Namespaces whose pods choose unless they say otherwise themselves, sorted. */
  readonly namespaces: readonly string[];
  /** Sorted by pod. A pod that chooses and is not here waits. */
  readonly pods: readonly PodDecision[];
}

export interface NodeNetworkSpec {
  readonly instance: InstanceFacts;
  readonly selection: Selection;
  /** How the ENIs' slots are filled from now on; what they hold of the other kind drains. */
  readonly mode: Mode;
  /** What new pods get. A pod that has an address keeps what it has. */
  readonly addressFamilies: readonly AddressFamily[];
  readonly intents: readonly Intent[];
  readonly enis: readonly SpecEni[];
  readonly settings: DatapathSettings;
  /** Time an address rests after release before it may serve again (IP_COOLDOWN_PERIOD), milliseconds. */
  readonly cooldownMs: number;
  /** Absent: pods may not choose their ENIConfig. */
  readonly choosing?: Choosing;
}

export interface UsedAddress {
  readonly ip: Ip;
  readonly pod: PodKey;
}

export interface Condition {
  readonly type: ConditionType;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
  /** Milliseconds since the epoch at which `status` last changed. */
  readonly lastTransitionAt: number;
}

export type StatusOwner = 'controller' | 'agent';

/** Condition type -> who alone writes it. All else in the status is the agent's. */
export const CONDITION_OWNERS = {
  EniConfigSelected: 'controller',
  AddressesAvailable: 'controller',
  /** There only where mode Prefix is set. */
  PrefixesAvailable: 'controller',
  AgentReady: 'agent',
} as const satisfies Record<string, StatusOwner>;

export type ConditionType = keyof typeof CONDITION_OWNERS;

export interface NodeNetworkStatus {
  /** metadata.generation of the spec that this status answers. */
  readonly observedGeneration: number;
  readonly used: readonly UsedAddress[];
  /** Released addresses whose cooldown is not over. */
  readonly cooling: readonly Ip[];
  /** Addresses let go for ever (under this grant): only these may be unassigned. */
  readonly withdrawn: readonly Ip[];
  readonly conditions: readonly Condition[];
}

export const emptyStatus: NodeNetworkStatus = {
  observedGeneration: 0,
  used: [],
  cooling: [],
  withdrawn: [],
  conditions: [],
};
