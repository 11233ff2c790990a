// A NodeNetworkClass: which nodes it is for, which ENIConfigs serve them, and how their pools are kept.

import type { AddressFamily } from '../address/families.ts';
import type { Cidr } from '../address/ip.ts';
import type { SecurityGroupId } from '../ids.ts';
import type { Mode } from '../ipam/mode.ts';
import type { WarmTargets } from '../ipam/warm-targets.ts';
import type { LabelSelector } from './label-selector.ts';

/** Which nodes: everything that is given must hold. A list matches when one of its entries does. */
export interface ClassMatch {
  readonly nodeSelector: LabelSelector;
  readonly zones?: readonly string[];
  /** Values of `eks.amazonaws.com/nodegroup` or `karpenter.sh/nodepool`. */
  readonly nodeGroups?: readonly string[];
  /** `m5.large`, or `m5.*` for a family. */
  readonly instanceTypes?: readonly string[];
  /** The node's primary address lies in one of them. */
  readonly nodeCidrs?: readonly Cidr[];
}

/** Which ENIConfigs may serve the nodes of the class. */
export type ClassCandidates =
  /** In the order of preference. */
  | { readonly kind: 'Names'; readonly names: readonly string[] }
  | { readonly kind: 'Selector'; readonly selector: LabelSelector }
  /** The controller makes an ENIConfig for every subnet that carries all of these tags. */
  | {
      readonly kind: 'SubnetTags';
      readonly tags: Readonly<Record<string, string>>;
      /** Of the ENIConfigs that are made; empty means the groups of the node's primary ENI. */
      readonly securityGroupIds: readonly SecurityGroupId[];
    };

export type ClassStrategy = 'First' | 'Hash' | 'MostFree' | 'Spread';

/** What the class sets for its nodes in place of the cluster's settings; what is absent stays as the cluster has it. */
export interface ClassOverrides {
  /** All warm targets at once: one alone would be overruled by another that the cluster sets. */
  readonly targets?: Omit<WarmTargets, 'maxEni'>;
  readonly maxEni?: number;
  readonly mode?: Mode;
  readonly addressFamilies?: readonly AddressFamily[];
  readonly externalSnat?: boolean;
  readonly excludeSnatCidrs?: readonly Cidr[];
  readonly onEniConfigChange?: 'Cordon' | 'Keep';
}

export interface NodeNetworkClass {
  readonly name: string;
  /** The highest wins; among equals the first by name. */
  readonly priority: number;
  readonly match: ClassMatch;
  /** Absent: the class only sets how its nodes' pools are kept, and the rules after it name the ENIConfig. */
  readonly candidates?: ClassCandidates;
  readonly strategy: ClassStrategy;
  /** What nodes get for which no ENIConfig is in sight. */
  readonly fallback: 'NodeSubnet' | 'None';
  readonly overrides: ClassOverrides;
}

/** What is wrong with a class, naming the field and its value, and what to do about it. */
export interface ClassMistake {
  readonly message: string;
  readonly fix: string;
}

/**
 * A class as read. Of a malformed one as much as can be told whom it claims: the nodes that it was meant for must not
 * fall to another rule in silence.
 */
export type ClassSpec =
  | { readonly kind: 'Parsed'; readonly nodeNetworkClass: NodeNetworkClass }
  | (ClassMistake & {
      readonly kind: 'Malformed';
      readonly priority?: number;
      /** Absent: it may be meant for any node. */
      readonly match?: ClassMatch;
    });

export interface NamedClass {
  readonly name: string;
  readonly spec: ClassSpec;
}

/** What this version cannot do of what the class asks for; the class is refused rather than half obeyed. */
export function unsupportedOf({ name, candidates }: NodeNetworkClass): ClassMistake | undefined {
  if (candidates?.kind === 'SubnetTags' && name.length > LABEL_VALUE_LENGTH_MAX)
    return {
      message: `NodeNetworkClass "${name}": its name is longer than the ${LABEL_VALUE_LENGTH_MAX} characters of the label that marks the ENIConfigs made for it`,
      fix: `give the class a shorter name, or name its ENIConfigs in spec.eniConfigs.names`,
    };
  return undefined;
}

/** https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/ */
const LABEL_VALUE_LENGTH_MAX = 63;
