// What a boot document is made from, and what comes of it.

import type { Cidr } from '../address/ip.ts';

export const OPERATING_SYSTEMS = ['al2', 'al2023', 'bottlerocket'] as const;
export type OperatingSystem = (typeof OPERATING_SYSTEMS)[number];

/** Who starts the nodes. EKS adds its own part to the user data of a managed node group whose template names no AMI. */
export const NODE_STARTERS = ['managed', 'managed-with-ami', 'self-managed', 'karpenter'] as const;
export type NodeStarter = (typeof NODE_STARTERS)[number];

/** How a node finds its cluster; needed where nobody else tells it. */
export interface ClusterAccess {
  readonly name: string;
  /** URL of the API server. */
  readonly endpoint: string;
  /** Base64, as `aws eks describe-cluster` answers it. */
  readonly certificateAuthority: string;
  /** Of Services; nodeadm finds the DNS address by it. */
  readonly serviceCidr: string;
}

/** Nodes whose primary address lies in `nodeCidr` get one of these ENIConfigs, by the rendezvous hash of the address. */
export interface AddressRow {
  readonly nodeCidr: Cidr;
  readonly eniConfigs: readonly string[];
}

export interface UserDataRequest {
  readonly os: OperatingSystem;
  readonly starter: NodeStarter;
  readonly clusterName: string;
  /** Absent: somebody else joins the node to its cluster, or a refusal says that it is needed. */
  readonly access?: ClusterAccess;
  /** Instance types that the nodes may have, each with the pods that it can hold. At least one. */
  readonly maxPods: readonly TypeMaxPods[];
  readonly labels: ReadonlyMap<string, string>;
  readonly startupTaint: boolean;
  /** Empty: the controller selects. */
  readonly byAddress: readonly AddressRow[];
  /** Label that carries the choice by address. */
  readonly labelKey: string;
  /** Bottlerocket has no shell: an image with bash, curl and apiclient that runs its user data as a script. */
  readonly bootstrapImage?: string;
}

export interface TypeMaxPods {
  /** `''` when a person gave the figure. */
  readonly instanceType: string;
  readonly maxPods: number;
  /** What a node of the type can hold at most. */
  readonly possible: number;
  /** What the operating system or EKS would take when nobody tells it better. */
  readonly unaware: number;
}

export interface UserDataRefusal {
  readonly kind: 'Refused';
  readonly code: 'NothingSurvives' | 'ClusterAccessNeeded' | 'NoShell' | 'TooManyPods';
  readonly message: string;
  readonly fix: string;
}

export interface UserDataDocument {
  readonly kind: 'Document';
  /** Multi-part, TOML, or the YAML of Kubernetes objects. */
  readonly format: 'mime' | 'toml' | 'yaml';
  readonly text: string;
  /** The max pods that kubelet ends up with, and why; undefined when each type gets its own. */
  readonly effectiveMaxPods: number | undefined;
  readonly notes: readonly string[];
}

export type UserDataAnswer = UserDataDocument | UserDataRefusal;

/** The controller takes it away once the node's network serves. */
export const STARTUP_TAINT = {
  key: 'eniwhere.io/network-not-ready',
  value: 'true',
  effect: 'NoSchedule',
} as const;

/** One document serves all types of its nodes, so the smallest figure holds for all. */
export function smallest(types: readonly TypeMaxPods[]): TypeMaxPods | undefined {
  return types.reduce<TypeMaxPods | undefined>(
    (least, one) => (least === undefined || one.maxPods < least.maxPods ? one : least),
    undefined,
  );
}

/** What a person should know when types of different size share a figure. */
export function limitNotes(types: readonly TypeMaxPods[]): readonly string[] {
  const least = smallest(types);
  const held = types.filter((one) => least !== undefined && one.maxPods > least.maxPods);
  if (least === undefined || held.length === 0) return [];
  const could = held.map((one) => `${one.instanceType} ${one.maxPods}`).join(', ');
  return [
    `max pods is ${least.maxPods} for all, limited by ${least.instanceType}; alone, these could hold more: ${could}; split the group to use them`,
  ];
}
