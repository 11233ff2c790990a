// A cluster as the planner of capacity sees it: subnets, groups of like nodes, and how they keep their pools.

import type { Cidr } from '../address/ip.ts';
import type { SubnetReservations } from '../address/subnet-reservations.ts';
import type { InstanceLimits } from '../instance/instance-limits.ts';
import type { Mode } from '../ipam/mode.ts';
import type { WarmTargets } from '../ipam/warm-targets.ts';

export interface PlannedSubnet {
  /** The ENIConfig's name, for a subnet of pods. */
  readonly name: string;
  readonly zone: string;
  readonly cidr: Cidr;
  /** Whose addresses it holds: a node takes one of a nodes' subnet for its primary ENI. */
  readonly for: 'pods' | 'nodes';
  /** Addresses in use by anything else than the nodes and pods of this plan. */
  readonly otherCount: number;
  /** What subnet CIDR reservations keep; nothing when absent. `otherCount` counts outside them. */
  readonly reservations?: SubnetReservations;
  /** Blocks in what is reserved for prefixes that others than these nodes have, in whole or in part. */
  readonly otherBlockCount?: number;
}

export const GROUP_STRATEGIES = ['MostFree', 'Spread', 'Hash', 'First'] as const;
export type GroupStrategy = (typeof GROUP_STRATEGIES)[number];

export interface PlannedTargets extends WarmTargets {
  /** WARM_PREFIX_TARGET: free prefixes kept, in mode Prefix. */
  readonly warmPrefix: number;
}

export interface PlannedGroup {
  readonly name: string;
  readonly limits: InstanceLimits;
  readonly zones: readonly string[];
  /** Names of pods' subnets that the nodes may use, in the order of preference; all of the node's zone when empty. */
  readonly eniConfigs: readonly string[];
  readonly strategy: GroupStrategy;
  readonly mode: Mode;
  readonly targets: PlannedTargets;
  /** Nodes there are now; growth adds to them. */
  readonly nodeCount: number;
  readonly podsPerNode: number;
}

export interface CapacityModel {
  readonly subnets: readonly PlannedSubnet[];
  readonly groups: readonly PlannedGroup[];
}

/** What one node holds of its pods' subnet once it has come to rest. */
export interface NodeHolding {
  readonly eniCount: number;
  /** Secondary addresses, or 16 for each prefix. */
  readonly podAddressCount: number;
  /** Of them, prefixes. */
  readonly prefixCount: number;
  /** Pods that have an address. */
  readonly podCount: number;
  /** Why the rest of its pods have none; absent when all have. */
  readonly blocked?: string;
}

/** An ENI's own primary address comes out of the same subnet. */
export const subnetUse = (holding: NodeHolding): number => holding.eniCount + holding.podAddressCount;
