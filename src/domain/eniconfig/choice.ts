// A name that a rule came up with, before anyone looked whether the ENIConfig can be used.

import { quote } from '../address/quote.ts';
import { DEFAULT_ENI_CONFIG_KEY } from './selection-input.ts';
import type { SelectionNode } from './selection-node.ts';

/** Where a person wrote a name. */
export interface WrittenPlace {
  readonly source: 'ExternalLabel' | 'Annotation' | 'Label';
  readonly kind: 'label' | 'annotation';
  readonly key: string;
}

export type Choice =
  | { readonly source: WrittenPlace['source']; readonly name: string; readonly place: WrittenPlace }
  | { readonly source: 'Zone' | 'Default'; readonly name: string }
  /** `reason` says which class, and why this one of its candidates. */
  | { readonly source: 'Class'; readonly name: string; readonly reason: string };

/** Why this name, as a sentence without its full stop. */
export function choiceReason(choice: Choice, node: SelectionNode): string {
  switch (choice.source) {
    case 'ExternalLabel':
    case 'Annotation':
    case 'Label':
      return `${placeText(choice.place, node)} names ${quote(choice.name)}`;
    case 'Class':
      return choice.reason;
    case 'Zone':
      return `ENIConfig ${quote(choice.name)} is named like the zone of node ${node.name}`;
    case 'Default':
      return `nothing else names an ENIConfig for node ${node.name}, so ${quote(choice.name)} applies`;
  }
}

/** `annotation KEY on node NAME`. */
export const placeText = ({ kind, key }: WrittenPlace, node: SelectionNode): string =>
  `${kind} ${key} on node ${node.name}`;

/**
 * The command that names another ENIConfig. A label whose key the user configured usually means more than this choice
 * (the zone, a node group), so it is left alone: the annotation outranks it.
 */
export function renameCommand(
  place: WrittenPlace,
  node: SelectionNode,
  naming: { readonly name: string; readonly annotationKey: string },
): string {
  const isForeignLabel = place.source === 'Label' && place.key !== DEFAULT_ENI_CONFIG_KEY;
  return isForeignLabel
    ? annotateCommand(node, naming)
    : `kubectl ${VERB[place.kind]} node ${node.name} ${place.key}=${naming.name} --overwrite`;
}

/** The command that names an ENIConfig by the annotation. */
export const annotateCommand = (
  node: SelectionNode,
  naming: { readonly name: string; readonly annotationKey: string },
): string => `kubectl annotate node ${node.name} ${naming.annotationKey}=${naming.name} --overwrite`;

/** The command that takes the name away. */
export const removeCommand = ({ kind, key }: WrittenPlace, node: SelectionNode): string =>
  `kubectl ${VERB[kind]} node ${node.name} ${key}-`;

const VERB = { label: 'label', annotation: 'annotate' } as const;
