// A NodeNetworkClass as far as selection knows it today: enough to tell whether it claims a node.

import type { SelectionNode } from './selection-node.ts';

export interface NodeNetworkClass {
  readonly name: string;
  /** The highest wins; among equals the first by name. */
  readonly priority: number;
  /** Every one of these labels must be on the node with this value; none at all matches every node. */
  readonly matchLabels: Readonly<Record<string, string>>;
}

/** The class that claims the node: of those that match, the one with the highest priority. */
export function classOfNode(
  classes: readonly NodeNetworkClass[],
  node: SelectionNode,
): NodeNetworkClass | undefined {
  return classes
    .filter((candidate) => matches(candidate, node))
    .sort((a, b) => b.priority - a.priority || (a.name < b.name ? -1 : 1))
    .at(0);
}

const matches = ({ matchLabels }: NodeNetworkClass, { labels }: SelectionNode): boolean =>
  Object.entries(matchLabels).every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value);
