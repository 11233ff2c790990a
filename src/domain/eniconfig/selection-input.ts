// What selection knows when it decides: one node, the ENIConfigs, the classes, and the settings.

import type { NodeName } from '../ids.ts';
import type { EniConfigUse } from './class-strategy.ts';
import type { EniConfigView } from './eni-config.ts';
import type { NamedClass } from './node-network-class.ts';
import type { SelectionNode } from './selection-node.ts';

/** Default key of the annotation and of the label that name a node's ENIConfig. */
export const DEFAULT_ENI_CONFIG_KEY = 'k8s.amazonaws.com/eniConfig';

/** Label that outranks all other rules, with a fixed key: for those who use it with the AWS CNI. */
export const EXTERNAL_ENI_CONFIG_LABEL = 'vpc.amazonaws.com/externalEniConfig';

/** Name of the ENIConfig that serves nodes for which nothing else names one. */
export const DEFAULT_ENI_CONFIG_NAME = 'default';

/** Something that selection needs and that cannot be read just now; `cause` goes on from "... cannot be read: ". */
export interface NotReadable {
  readonly kind: 'Unreadable';
  readonly cause: string;
}

export interface SelectionSettings {
  /** AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG. */
  readonly customNetworking: boolean;
  /** ENI_CONFIG_ANNOTATION_DEF; the default key when empty, as in the AWS CNI. */
  readonly annotationKey: string;
  /** ENI_CONFIG_LABEL_DEF; the default key when empty. */
  readonly labelKey: string;
}

export interface SelectionInput {
  readonly node:
    | { readonly kind: 'Readable'; readonly node: SelectionNode }
    | (NotReadable & { readonly name: NodeName });
  readonly eniConfigs:
    | { readonly kind: 'Readable'; readonly byName: ReadonlyMap<string, EniConfigView> }
    | NotReadable;
  readonly classes: readonly NamedClass[];
  /** The ENIConfig whose ENIs take the node's new pods now: some strategies stay with it. */
  readonly current?: string;
  /** By ENIConfig, what the other nodes make of it. */
  readonly use: ReadonlyMap<string, EniConfigUse>;
  readonly settings: SelectionSettings;
}

/** Custom networking on, with the default keys. */
export const defaultSelectionSettings: SelectionSettings = {
  customNetworking: true,
  annotationKey: DEFAULT_ENI_CONFIG_KEY,
  labelKey: DEFAULT_ENI_CONFIG_KEY,
};
