// Selections that fail closed: what is wrong, and what to do.

import { quote } from '../address/quote.ts';
import {
  annotateCommand,
  type Choice,
  choiceReason,
  placeText,
  removeCommand,
  renameCommand,
  type WrittenPlace,
} from './choice.ts';
import type { EniConfigView } from './eni-config.ts';
import type { Selection, SelectionProblemCode, SelectionSource } from './selection.ts';
import { DEFAULT_ENI_CONFIG_NAME } from './selection-input.ts';
import type { SelectionNode } from './selection-node.ts';

/** What the texts speak of: the node, the ENIConfigs as far as they could be read, and the annotation's key. */
export interface ProblemContext {
  readonly node: SelectionNode;
  readonly byName: ReadonlyMap<string, EniConfigView>;
  readonly annotationKey: string;
}

/** Candidates that a message lists before it only counts. */
const CANDIDATES_LISTED_MAX = 8;

export type NoSelection = Extract<Selection, { kind: 'None' }>;
type WrittenChoice = Extract<Choice, { place: WrittenPlace }>;
type ValidView = Extract<EniConfigView, { kind: 'Valid' }>;

/** A selection that fails closed. */
export const none = (
  source: SelectionSource,
  problem: SelectionProblemCode,
  texts: { readonly reason: string; readonly message: string; readonly fix: string },
): NoSelection => ({ kind: 'None', source, problem, ...texts });

/** The name is there, and empty: a person's mistake, not an absent name. */
export function emptyName(place: WrittenPlace, { node, ...context }: ProblemContext): NoSelection {
  const where = placeText(place, node);
  const command = renameCommand(place, node, { name: 'NAME', annotationKey: context.annotationKey });
  return none(place.source, 'EmptyName', {
    reason: `${where} is present with an empty value`,
    message: `${where} is present with an empty value, which names no ENIConfig; it does not count as absent`,
    fix: `Name an ENIConfig: ${command} -- or take the ${place.kind} away: ${removeCommand(place, node)}`,
  });
}

export function notFound(choice: Choice, context: ProblemContext): NoSelection {
  const reason = choiceReason(choice, context.node);
  const create = `Create ENIConfig ${quote(choice.name)} with a subnet in zone ${context.node.zone}`;
  const rename = renameToCandidate(choice, context);
  return none(choice.source, 'EniConfigNotFound', {
    reason,
    message: `${reason}, but no ENIConfig has that name; ${candidatesText(context)}`,
    fix: rename === undefined ? create : `${create}, or name one that the node can use: ${rename}`,
  });
}

export function invalid(
  choice: Choice,
  view: Extract<EniConfigView, { kind: 'Invalid' }>,
  { node }: ProblemContext,
): NoSelection {
  const reason = choiceReason(choice, node);
  return none(choice.source, 'EniConfigInvalid', {
    reason,
    message: `${reason}, but that ENIConfig cannot be used: ${view.message}`,
    fix: view.fix,
  });
}

export function unresolved(
  choice: Choice,
  view: Extract<EniConfigView, { kind: 'Unresolved' }>,
  { node }: ProblemContext,
): NoSelection {
  const reason = choiceReason(choice, node);
  return none(choice.source, 'EniConfigUnresolved', {
    reason,
    message: `${reason}, and EC2 has not yet said what its subnet is: ${view.message}`,
    fix: 'Wait for EC2; if this lasts, check that the controller may call ec2:DescribeSubnets and ec2:DescribeSecurityGroups',
  });
}

export function inOtherZone(choice: Choice, view: ValidView, context: ProblemContext): NoSelection {
  const { node } = context;
  const reason = choiceReason(choice, node);
  return none(choice.source, 'EniConfigInOtherZone', {
    reason,
    message:
      `${reason}, but its subnet ${view.subnet.subnetId} lies in zone ${view.subnet.zone} and the node in ` +
      `${node.zone}: an ENI attaches only within its zone; ${candidatesText(context)}`,
    fix: fixOfPlace(choice, context),
  });
}

export function inOtherVpc(choice: Choice, view: ValidView, context: ProblemContext): NoSelection {
  const { node } = context;
  const reason = choiceReason(choice, node);
  return none(choice.source, 'EniConfigInOtherVpc', {
    reason,
    message:
      `${reason}, but its subnet ${view.subnet.subnetId} belongs to ${view.subnet.vpcId} and the node to ` +
      `${node.vpcId}; ${candidatesText(context)}`,
    fix: fixOfPlace(choice, context),
  });
}

/** No rule names an ENIConfig. */
export function nothingNamed(keys: readonly WrittenPlace[], context: ProblemContext): NoSelection {
  const { node, annotationKey } = context;
  const written = keys.map(({ kind, key }) => `no ${kind} ${key}`).join(', ');
  const [candidate = 'NAME'] = candidatesInZone(context);
  return none('Nothing', 'NoEniConfig', {
    reason: `nothing names an ENIConfig for node ${node.name}`,
    message:
      `node ${node.name} has ${written}, and no ENIConfig is named "${node.zone}" (its zone) or ` +
      `"${DEFAULT_ENI_CONFIG_NAME}"; ${candidatesText(context)}`,
    fix:
      `Create an ENIConfig named "${node.zone}" with a subnet in that zone, or name one for the node: ` +
      annotateCommand(node, { name: candidate, annotationKey }),
  });
}

/** Something could not be read. `what` is a sentence such as `the ENIConfigs cannot be read: timeout`. */
export const unreadable = (source: SelectionSource, reason: string, what: string): NoSelection =>
  none(source, 'Unreadable', {
    reason,
    message: `${what}; an outage never chooses a subnet, so no ENI is made until then`,
    fix: 'Nothing to do if this passes; if it lasts, check that the controller reaches the API server and EC2, and its log',
  });

/** What an `unreadable` says of a node whose own groups should apply and have not been described. */
export const groupsUnknown = (node: SelectionNode): string =>
  `the security groups of the primary ENI of node ${node.name} are not known`;

/** What to do about an ENIConfig that lies in the wrong place: for a written name, name another; else mend it. */
function fixOfPlace(choice: Choice, context: ProblemContext): string {
  const { node, annotationKey } = context;
  switch (choice.source) {
    case 'ExternalLabel':
    case 'Annotation':
    case 'Label':
      return placeFix(choice, context);
    case 'Class':
    case 'Zone':
      return (
        `Set spec.subnet of ENIConfig "${choice.name}" to a subnet of ${node.vpcId} in zone ${node.zone}: ` +
        `kubectl edit eniconfig ${choice.name}`
      );
    case 'Default':
      return (
        `Create an ENIConfig named "${node.zone}" with a subnet of ${node.vpcId} in that zone, ` +
        `or name one for the node: ${annotateCommand(node, { name: candidatesInZone(context)[0] ?? 'NAME', annotationKey })}`
      );
  }
}

function placeFix(choice: WrittenChoice, context: ProblemContext): string {
  const { node, annotationKey } = context;
  const rename = renameToCandidate(choice, context);
  return rename === undefined
    ? `Create an ENIConfig with a subnet of ${node.vpcId} in zone ${node.zone} and name it: ` +
        renameCommand(choice.place, node, { name: 'NAME', annotationKey })
    : `Name an ENIConfig that the node can use: ${rename}`;
}

/** The command that names an ENIConfig that would work: the nearest spelling, else the first. None when there is none. */
function renameToCandidate(choice: Choice, context: ProblemContext): string | undefined {
  const candidates = candidatesInZone(context);
  const wanted = plainSpelling(choice.name);
  const name = candidates.find((candidate) => plainSpelling(candidate) === wanted) ?? candidates[0];
  if (name === undefined || !('place' in choice)) return undefined;
  return renameCommand(choice.place, context.node, { name, annotationKey: context.annotationKey });
}

/** What people get wrong in a name: case, spaces, separators. */
const plainSpelling = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');

/** Names of the ENIConfigs that the node could use, in code-unit order. */
function candidatesInZone({ node, byName }: ProblemContext): readonly string[] {
  const names: string[] = [];
  for (const [name, view] of byName) {
    if (view.kind !== 'Valid') continue;
    if (view.subnet.zone === node.zone && view.subnet.vpcId === node.vpcId) names.push(name);
  }
  return names.sort();
}

function candidatesText(context: ProblemContext): string {
  const names = candidatesInZone(context);
  const zone = context.node.zone;
  if (names.length === 0) return `no usable ENIConfig has its subnet in the node's zone ${zone}`;
  const listed = names.slice(0, CANDIDATES_LISTED_MAX).map((name) => `"${name}"`);
  const more = names.length - listed.length;
  return `ENIConfigs in the node's zone ${zone}: ${listed.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
