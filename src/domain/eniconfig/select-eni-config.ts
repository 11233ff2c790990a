// Which ENIConfig a node gets, and why: the first rule that names one decides, and a wrong name never falls through.

import { quote } from '../address/quote.ts';
import { assert } from '../result.ts';
import { type Choice, choiceReason, type WrittenPlace } from './choice.ts';
import type { EniConfigView } from './eni-config.ts';
import { type ClassAnswer, fallbackSelection, selectByClass } from './select-by-class.ts';
import type { Selection, SelectionSource } from './selection.ts';
import {
  DEFAULT_ENI_CONFIG_KEY,
  DEFAULT_ENI_CONFIG_NAME,
  EXTERNAL_ENI_CONFIG_LABEL,
  type SelectionInput,
} from './selection-input.ts';
import type { SelectionNode } from './selection-node.ts';
import {
  emptyName,
  groupsUnknown,
  inOtherVpc,
  inOtherZone,
  invalid,
  notFound,
  nothingNamed,
  type ProblemContext,
  unreadable,
  unresolved,
} from './selection-problem.ts';

/** A rule that was looked at. `detail` says what it found; the last one tried is the one that matched. */
export interface TriedRule {
  readonly rule: SelectionSource;
  readonly matched: boolean;
  readonly detail: string;
}

export interface SelectionDecision {
  readonly selection: Selection;
  readonly tried: readonly TriedRule[];
}

/** A rule's answer: it decides, or says why it does not apply. */
type Answer = { readonly selection: Selection } | { readonly notApplied: string };

interface Rule {
  readonly name: SelectionSource;
  readonly answer: () => Answer;
}

const EMPTY: ReadonlyMap<string, EniConfigView> = new Map();

/**
 * Chooses by the rules of precedence: external label, annotation, label, class, zone, `default`, class fallback.
 * Fails closed (`kind: 'None'`): on a written name that cannot be used, on an ENIConfig of another zone or VPC, and when
 * the node or the ENIConfigs cannot be read, because users choose subnets for security reasons.
 */
export function selectEniConfig(input: SelectionInput): SelectionDecision {
  if (input.node.kind === 'Unreadable') {
    const { name, cause } = input.node;
    const reason = `node ${name} cannot be read`;
    const selection = unreadable('Unreadable', reason, `${reason}: ${cause}`);
    return { selection, tried: [{ rule: 'Unreadable', matched: true, detail: selection.message }] };
  }
  const tried: TriedRule[] = [];
  for (const { name, answer } of rulesFor(input, input.node.node)) {
    const answered = answer();
    if ('selection' in answered) {
      const { selection } = answered;
      const detail = selection.kind === 'None' ? selection.message : selection.reason;
      return { selection, tried: [...tried, { rule: name, matched: true, detail }] };
    }
    tried.push({ rule: name, matched: false, detail: answered.notApplied });
  }
  assert(false, 'the last selection rule always decides');
}

/** The rules in order of precedence; the last always decides. */
function rulesFor(input: SelectionInput, node: SelectionNode): readonly Rule[] {
  const { settings, eniConfigs } = input;
  const annotationKey = settings.annotationKey || DEFAULT_ENI_CONFIG_KEY;
  const labelKey = settings.labelKey || DEFAULT_ENI_CONFIG_KEY;
  const places: readonly WrittenPlace[] = [
    { source: 'ExternalLabel', kind: 'label', key: EXTERNAL_ENI_CONFIG_LABEL },
    { source: 'Annotation', kind: 'annotation', key: annotationKey },
    { source: 'Label', kind: 'label', key: labelKey },
  ];
  const byName = eniConfigs.kind === 'Readable' ? eniConfigs.byName : EMPTY;
  const context: ProblemContext = { node, byName, annotationKey };
  const byClass = selectByClass(input, context);
  const implied: readonly Rule[] =
    eniConfigs.kind === 'Unreadable'
      ? [{ name: 'Unreadable', answer: () => ({ selection: eniConfigsUnreadable(eniConfigs.cause) }) }]
      : [
          { name: 'Zone', answer: () => impliedName({ source: 'Zone', name: node.zone }, context) },
          {
            name: 'Default',
            answer: () => impliedName({ source: 'Default', name: DEFAULT_ENI_CONFIG_NAME }, context),
          },
        ];
  return [
    { name: 'CustomNetworkingOff', answer: () => customNetworkingOff(settings.customNetworking, node) },
    ...places.map((place) => ({
      name: place.source,
      answer: () => writtenName(place, input, context),
    })),
    { name: 'Class', answer: () => classAnswer(byClass, node) },
    ...implied,
    { name: 'ClassFallback', answer: () => classFallback(byClass, node) },
    { name: 'Nothing', answer: () => ({ selection: nothingNamed(places, context) }) },
  ];
}

function customNetworkingOff(customNetworking: boolean, node: SelectionNode): Answer {
  if (customNetworking) return { notApplied: 'custom networking is on' };
  const source = 'CustomNetworkingOff';
  const reason =
    'custom networking is off (AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG), ' +
    `so pods use the subnet and the security groups of node ${node.name} itself`;
  if (node.primarySecurityGroupIds.length === 0)
    return { selection: unreadable(source, reason, groupsUnknown(node)) };
  return {
    selection: {
      kind: 'NodeSubnet',
      subnetId: node.primarySubnetId,
      securityGroupIds: node.primarySecurityGroupIds,
      source,
      reason,
    },
  };
}

/** Rules 0 to 2: a name that a person wrote on the node. */
function writtenName(place: WrittenPlace, input: SelectionInput, context: ProblemContext): Answer {
  const { node } = context;
  const values = place.kind === 'label' ? node.labels : node.annotations;
  // Keys are configurable, so one may be called like a member of every object.
  const name = Object.hasOwn(values, place.key) ? values[place.key] : undefined;
  if (name === undefined) return { notApplied: `node ${node.name} has no ${place.kind} ${place.key}` };
  if (name.trim() === '') return { selection: emptyName(place, context) };
  const choice: Choice = { source: place.source, name, place };
  if (input.eniConfigs.kind === 'Unreadable') {
    const reason = choiceReason(choice, node);
    const what = `${reason}, but the ENIConfigs cannot be read: ${input.eniConfigs.cause}`;
    return { selection: unreadable(place.source, reason, what) };
  }
  const view = context.byName.get(name);
  return { selection: view === undefined ? notFound(choice, context) : use(choice, view, context) };
}

/** Rule 3. */
function classAnswer(answer: ClassAnswer, node: SelectionNode): Answer {
  return 'choice' in answer ? { selection: chosen(answer.choice, answer.view, node) } : answer;
}

/** Rule 6: of a class that lists no ENIConfigs, when the rules after it found none either. */
function classFallback(answer: ClassAnswer, node: SelectionNode): Answer {
  const from = 'fallbackOf' in answer ? answer.fallbackOf : undefined;
  if (from === undefined)
    return { notApplied: 'no NodeNetworkClass without ENIConfigs of its own matches the node' };
  return from.fallback === 'None'
    ? { notApplied: `the fallback of NodeNetworkClass ${quote(from.name)} is None` }
    : { selection: fallbackSelection(from, 'nothing names an ENIConfig', node) };
}

/** Rules 4 and 5: an ENIConfig that applies by its own name, if it exists. */
function impliedName(choice: Choice, context: ProblemContext): Answer {
  const view = context.byName.get(choice.name);
  return view === undefined
    ? { notApplied: `there is no ENIConfig named "${choice.name}"` }
    : { selection: use(choice, view, context) };
}

const eniConfigsUnreadable = (cause: string): Selection =>
  unreadable('Unreadable', 'the ENIConfigs cannot be read', `the ENIConfigs cannot be read: ${cause}`);

/** The selection of an existing ENIConfig, or the problem that keeps this node from using it. */
function use(choice: Choice, view: EniConfigView, context: ProblemContext): Selection {
  const { node } = context;
  switch (view.kind) {
    case 'Invalid':
      return invalid(choice, view, context);
    case 'Unresolved':
      return unresolved(choice, view, context);
    case 'Valid':
      if (view.subnet.vpcId !== node.vpcId) return inOtherVpc(choice, view, context);
      if (view.subnet.zone !== node.zone) return inOtherZone(choice, view, context);
      return chosen(choice, view, node);
  }
}

/** An ENIConfig without groups means the groups of the primary ENI; EC2 would take the VPC's default group. */
function chosen(
  choice: Choice,
  { eniConfig, subnet }: Extract<EniConfigView, { kind: 'Valid' }>,
  node: SelectionNode,
): Selection {
  const named = choiceReason(choice, node);
  const inherits = eniConfig.securityGroupIds.length === 0;
  if (inherits && node.primarySecurityGroupIds.length === 0)
    return unreadable(choice.source, named, groupsUnknown(node));
  return {
    kind: 'EniConfig',
    name: eniConfig.name,
    subnetId: subnet.subnetId,
    securityGroupIds: inherits ? node.primarySecurityGroupIds : eniConfig.securityGroupIds,
    source: choice.source,
    reason: inherits
      ? `${named}; it lists no security groups, so those of the node's primary ENI apply`
      : named,
  };
}
