// Rule 3: the NodeNetworkClass that claims the node chooses among its ENIConfigs.

import { quote } from '../address/quote.ts';
import type { Choice } from './choice.ts';
import { classOfNode } from './class-of-node.ts';
import {
  classInvalid,
  classMatches,
  classNotSupported,
  classUnreadable,
  noneInZone,
  noneUsable,
  unresolvedCandidate,
} from './class-problem.ts';
import { chooseByStrategy, type StrategyCandidate } from './class-strategy.ts';
import { type EniConfigView, labelsOf } from './eni-config.ts';
import { matchesLabels } from './label-selector.ts';
import { type NodeNetworkClass, unsupportedOf } from './node-network-class.ts';
import type { SelectionInput } from './selection-input.ts';
import type { SelectionNode } from './selection-node.ts';
import { groupsUnknown, type ProblemContext, unreadable } from './selection-problem.ts';
import type { Selection } from './selection.ts';

/** Label of the ENIConfigs that the controller makes for a class with subnet tags; value: the class's name. */
export const CLASS_LABEL = 'eniwhere.io/node-network-class';

/** Names that a reason lists before it only counts. */
const NAMES_LISTED_MAX = 8;

export type ClassAnswer =
  | { readonly selection: Selection }
  | { readonly choice: Choice; readonly view: Extract<EniConfigView, { kind: 'Valid' }> }
  /** The class names no ENIConfig; the rules after it go on, and in the end the class's own fallback. */
  | { readonly notApplied: string; readonly fallbackOf?: NodeNetworkClass };

type ByName = ReadonlyMap<string, EniConfigView>;

/** Answers by class. Fails closed on a class that claims the node and is malformed, or asks for what is not supported. */
export function selectByClass(input: SelectionInput, context: ProblemContext): ClassAnswer {
  const { classes } = input;
  const { node } = context;
  if (classes.length === 0) return { notApplied: 'there are no NodeNetworkClasses' };
  const found = classOfNode(classes, node);
  if (found === undefined)
    return { notApplied: `none of ${classes.length} NodeNetworkClasses matches the node` };
  const { spec } = found;
  if (spec.kind === 'Malformed') {
    return {
      selection:
        spec.match === undefined
          ? classUnreadable(found.name, spec, node)
          : classInvalid(found.name, spec, node),
    };
  }
  const { nodeNetworkClass } = spec;
  const unsupported = unsupportedOf(nodeNetworkClass);
  if (unsupported !== undefined) return { selection: classNotSupported(found.name, unsupported, node) };
  if (nodeNetworkClass.candidates === undefined)
    return {
      notApplied: `NodeNetworkClass ${quote(found.name)} matches the node and lists no ENIConfigs`,
      fallbackOf: nodeNetworkClass,
    };
  // The next rule says so, and stops.
  if (input.eniConfigs.kind === 'Unreadable') return { notApplied: 'the ENIConfigs cannot be read' };
  return choose(nodeNetworkClass, input, context);
}

function choose(from: NodeNetworkClass, input: SelectionInput, context: ProblemContext): ClassAnswer {
  const { node, byName } = context;
  const names = candidateNames(from, byName);
  const views = names.flatMap((name) => byName.get(name) ?? []);
  const usable = views.flatMap((view): readonly StrategyCandidate[] => {
    if (view.kind === 'Unresolved') return [{ name: view.name }];
    if (view.kind === 'Invalid' || !isInReach(view, node)) return [];
    return [{ name: view.eniConfig.name, freeAddressCount: view.subnet.freeAddressCount }];
  });
  if (usable.length === 0) return { selection: nothingUsable(from, { names, views }, context) };
  const { strategy } = from;
  const choice = chooseByStrategy({
    strategy,
    candidates: usable,
    key: node.primaryAddress,
    ...(input.current === undefined ? {} : { current: input.current }),
    use: input.use,
  });
  const view = byName.get(choice.name);
  if (choice.kind === 'Wait' || view?.kind !== 'Valid')
    return { selection: unresolvedCandidate(from.name, choice.name, node) };
  const reason =
    usable.length === 1
      ? `${classMatches(from.name, node)}, and ${quote(choice.name)} is its only ENIConfig in zone ${node.zone}`
      : `${classMatches(from.name, node)} and takes ${quote(choice.name)}, ${choice.why}, ` +
        `of ${listed(usable.map(({ name }) => name))} in zone ${node.zone} (strategy ${strategy})`;
  return { choice: { source: 'Class', name: choice.name, reason }, view };
}

function listed(names: readonly string[]): string {
  const shown = names.slice(0, NAMES_LISTED_MAX).map(quote).join(', ');
  return names.length > NAMES_LISTED_MAX ? `${shown} and ${names.length - NAMES_LISTED_MAX} more` : shown;
}

/** An ENI attaches only within its zone and VPC. */
const isInReach = (view: Extract<EniConfigView, { kind: 'Valid' }>, node: SelectionNode): boolean =>
  view.subnet.zone === node.zone && view.subnet.vpcId === node.vpcId;

/** The ENIConfigs that the class chooses among, in the order of preference; names that do not exist are among them. */
export function candidateNames({ name, candidates }: NodeNetworkClass, byName: ByName): readonly string[] {
  switch (candidates?.kind) {
    case undefined:
      return [];
    case 'Names':
      return candidates.names;
    case 'Selector':
      return [...byName]
        .filter(([, view]) => matchesLabels(candidates.selector, labelsOf(view)))
        .map(([one]) => one)
        .sort();
    case 'SubnetTags':
      return [...byName]
        .filter(([, view]) => labelsOf(view)[CLASS_LABEL] === name)
        .map(([one]) => one)
        .sort();
  }
}

/**
 * No candidate serves. A candidate that is broken or missing is a person's mistake and fails closed; only where all that
 * was named is in order and elsewhere does the class's fallback hold.
 */
function nothingUsable(
  from: NodeNetworkClass,
  { names, views }: { readonly names: readonly string[]; readonly views: readonly EniConfigView[] },
  context: ProblemContext,
): Selection {
  const { node, byName } = context;
  const invalid = views.find((view) => view.kind === 'Invalid');
  const missing = names.find((name) => !byName.has(name));
  if (invalid !== undefined || missing !== undefined) {
    return noneUsable(
      from.name,
      { ...(missing === undefined ? {} : { missing }), ...(invalid === undefined ? {} : { invalid }) },
      node,
    );
  }
  if (from.fallback === 'None') return noneInZone(from, names, node);
  return fallbackSelection(from, `none of its ENIConfigs is in zone ${node.zone}`, node);
}

/** The node's own subnet and groups, as the class allows where it has nothing else. */
export function fallbackSelection(from: NodeNetworkClass, why: string, node: SelectionNode): Selection {
  const source = 'ClassFallback';
  const reason =
    `${classMatches(from.name, node)}, ${why}, and its fallback is NodeSubnet, ` +
    'so pods use the subnet and the security groups of the node itself';
  if (node.primarySecurityGroupIds.length === 0) return unreadable(source, reason, groupsUnknown(node));
  return {
    kind: 'NodeSubnet',
    subnetId: node.primarySubnetId,
    securityGroupIds: node.primarySecurityGroupIds,
    source,
    reason,
  };
}
