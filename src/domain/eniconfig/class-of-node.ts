// Which NodeNetworkClass claims a node.

import { cidrContains } from '../address/cidr.ts';
import { matchesLabels } from './label-selector.ts';
import type { ClassMatch, NamedClass, NodeNetworkClass } from './node-network-class.ts';
import type { SelectionNode } from './selection-node.ts';

/** What EKS managed node groups and Karpenter write on their nodes. */
const NODE_GROUP_LABELS = ['eks.amazonaws.com/nodegroup', 'karpenter.sh/nodepool'] as const;

/** The nodes' facts that a match looks at. */
export type MatchedNode = Pick<SelectionNode, 'labels' | 'zone' | 'instanceType' | 'primaryAddress'>;

/**
 * The class that claims the node: of those that match the one with the highest priority, among equals the first by name.
 * A malformed class takes part by what of it can be read; one whose priority cannot be read counts as the highest.
 */
export function classOfNode(classes: readonly NamedClass[], node: MatchedNode): NamedClass | undefined {
  return [...classes]
    .filter(({ spec }) => {
      const match = spec.kind === 'Parsed' ? spec.nodeNetworkClass.match : spec.match;
      return match === undefined || matchesNode(match, node);
    })
    .sort((a, b) => comparePriority(priorityOf(b), priorityOf(a)) || (a.name < b.name ? -1 : 1))
    .at(0);
}

/** The well-formed class whose settings hold for the node, if it has one. */
export function settingsClassOf(
  classes: readonly NamedClass[],
  node: MatchedNode,
): NodeNetworkClass | undefined {
  const found = classOfNode(classes, node);
  return found?.spec.kind === 'Parsed' ? found.spec.nodeNetworkClass : undefined;
}

const priorityOf = ({ spec }: NamedClass): number =>
  spec.kind === 'Parsed' ? spec.nodeNetworkClass.priority : (spec.priority ?? Infinity);

// Infinity - Infinity is not a number.
const comparePriority = (a: number, b: number): number => (a === b ? 0 : a - b);

/** Whether everything that the match gives holds for the node. */
export function matchesNode(match: ClassMatch, node: MatchedNode): boolean {
  const { nodeSelector, zones, nodeGroups, instanceTypes, nodeCidrs } = match;
  return (
    matchesLabels(nodeSelector, node.labels) &&
    (zones === undefined || zones.includes(node.zone)) &&
    (nodeGroups === undefined || nodeGroupsOf(node).some((group) => nodeGroups.includes(group))) &&
    (instanceTypes === undefined || instanceTypes.some((type) => matchesType(type, node.instanceType))) &&
    (nodeCidrs === undefined || nodeCidrs.some((cidr) => cidrContains(cidr, node.primaryAddress)))
  );
}

const nodeGroupsOf = ({ labels }: MatchedNode): readonly string[] =>
  NODE_GROUP_LABELS.flatMap((key) => (Object.hasOwn(labels, key) ? [labels[key] ?? ''] : []));

const matchesType = (pattern: string, type: string): boolean =>
  pattern.endsWith('*') ? type.startsWith(pattern.slice(0, -1)) : type === pattern;
