// NodeNetworkClasses that claim a node and cannot serve it: what is wrong, and what to do.

import { quote } from '../address/quote.ts';
import type { EniConfigView } from './eni-config.ts';
import type { ClassMistake, NodeNetworkClass } from './node-network-class.ts';
import type { SelectionNode } from './selection-node.ts';
import { type NoSelection, none } from './selection-problem.ts';

/** Names that a message lists before it only counts. */
const NAMES_LISTED_MAX = 8;

/** The first half of every reason. */
export const classMatches = (className: string, node: SelectionNode): string =>
  `NodeNetworkClass ${quote(className)} matches node ${node.name}`;

/** The class is malformed, and what of it can be read claims the node. */
export function classInvalid(className: string, mistake: ClassMistake, node: SelectionNode): NoSelection {
  const reason = classMatches(className, node);
  return none('Class', 'ClassInvalid', {
    reason,
    message: `${reason}, but cannot be followed: ${mistake.message}`,
    fix: mistake.fix,
  });
}

/** The class is so malformed that it may be meant for any node. */
export function classUnreadable(className: string, mistake: ClassMistake, node: SelectionNode): NoSelection {
  return none('Class', 'ClassUnreadable', {
    reason: `NodeNetworkClass ${quote(className)} may be meant for node ${node.name}`,
    message:
      `which nodes NodeNetworkClass ${quote(className)} is meant for cannot be read, so node ${node.name} keeps ` +
      `what it has and gets no new ENI: ${mistake.message}`,
    fix: mistake.fix,
  });
}

/** The class asks for something that this version cannot do. */
export function classNotSupported(
  className: string,
  mistake: ClassMistake,
  node: SelectionNode,
): NoSelection {
  const reason = classMatches(className, node);
  return none('Class', 'ClassNotSupported', {
    reason,
    message: `${reason}, but asks for what this version cannot do: ${mistake.message}`,
    fix: mistake.fix,
  });
}

/** The choice hangs on an ENIConfig of which EC2 has not answered yet. */
export function unresolvedCandidate(className: string, candidate: string, node: SelectionNode): NoSelection {
  const reason = classMatches(className, node);
  return none('Class', 'EniConfigUnresolved', {
    reason,
    message: `${reason}, and EC2 has not yet said what the subnet of its ENIConfig ${quote(candidate)} is`,
    fix: 'Wait for EC2; if this lasts, check that the controller may call ec2:DescribeSubnets and ec2:DescribeSecurityGroups',
  });
}

/** No candidate can serve, and one of them is broken or not there. */
export function noneUsable(
  className: string,
  wrong: {
    readonly missing?: string;
    readonly invalid?: Extract<EniConfigView, { kind: 'Invalid' }>;
  },
  node: SelectionNode,
): NoSelection {
  const reason = classMatches(className, node);
  const none_ = `none of its ENIConfigs can serve zone ${node.zone}`;
  if (wrong.invalid !== undefined)
    return none('Class', 'EniConfigInvalid', {
      reason,
      message: `${reason}, but ${none_}: ${wrong.invalid.message}`,
      fix: wrong.invalid.fix,
    });
  const missing = wrong.missing ?? '';
  return none('Class', 'EniConfigNotFound', {
    reason,
    message: `${reason}, but ${none_}: ENIConfig ${quote(missing)} does not exist`,
    fix:
      `Create ENIConfig ${quote(missing)} with a subnet in zone ${node.zone}, or name another in spec.eniConfigs: ` +
      `kubectl edit nodenetworkclass ${className}`,
  });
}

/** All candidates are in order, and none is in the node's zone. */
export function noneInZone(
  from: NodeNetworkClass,
  names: readonly string[],
  node: SelectionNode,
): NoSelection {
  const reason = classMatches(from.name, node);
  const listed = names.slice(0, NAMES_LISTED_MAX).map(quote).join(', ');
  const more = names.length > NAMES_LISTED_MAX ? ` and ${names.length - NAMES_LISTED_MAX} more` : '';
  const which = names.length === 0 ? nothingFound(from) : `its ENIConfigs ${listed}${more} lie elsewhere`;
  return none('Class', 'NoEniConfigInZone', {
    reason,
    message: `${reason}, but has no ENIConfig in zone ${node.zone} of ${node.vpcId}: ${which}`,
    fix: fixFor(from, node),
  });
}

function nothingFound({ candidates }: NodeNetworkClass): string {
  if (candidates?.kind === 'SubnetTags') return `no subnet carries ${tagsText(candidates.tags)}`;
  return 'no ENIConfig has the labels that its selector asks for';
}

function fixFor({ name, candidates }: NodeNetworkClass, { zone, vpcId }: SelectionNode): string {
  if (candidates?.kind === 'SubnetTags')
    return `Tag a subnet of ${vpcId} in zone ${zone} with ${tagsText(candidates.tags)}`;
  const add =
    candidates?.kind === 'Selector'
      ? 'with the labels of its selector'
      : 'and add it to spec.eniConfigs.names';
  return `Create an ENIConfig with a subnet of ${vpcId} in zone ${zone} ${add}: kubectl edit nodenetworkclass ${name}`;
}

const tagsText = (tags: Readonly<Record<string, string>>): string =>
  Object.entries(tags)
    .map(([key, value]) => `${key}=${value}`)
    .sort()
    .join(', ');
