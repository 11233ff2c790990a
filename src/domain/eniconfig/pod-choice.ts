// The ENIConfig that a pod asks for itself, and what becomes of the wish on its node.

import { quote } from '../address/quote.ts';
import type { PodKey } from '../ids.ts';
import { type EniConfigView, labelsOf } from './eni-config.ts';
import { type LabelSelector, matchesLabels } from './label-selector.ts';
import { parseLabelSelector } from './label-selector-text.ts';
import type { SelectionNode } from './selection-node.ts';

/** On a pod or its namespace: the name of an ENIConfig. */
export const POD_ENI_CONFIG = 'eniwhere.io/eni-config';
/** On a pod or its namespace: a label selector over ENIConfigs. */
export const POD_ENI_CONFIG_SELECTOR = 'eniwhere.io/eni-config-selector';

type Annotations = Readonly<Record<string, string>>;

/** What is written. `where` is `annotation KEY`, for messages. */
export type PodWish =
  | { readonly kind: 'Nothing' }
  | { readonly kind: 'Name'; readonly name: string }
  | { readonly kind: 'Selector'; readonly selector: LabelSelector; readonly text: string }
  | { readonly kind: 'Mistake'; readonly message: string; readonly fix: string };

/** Reads the annotations of a pod, or of a namespace. A key that is there with an empty value is a mistake, not absent. */
export function wishOf(annotations: Annotations): PodWish {
  const name = annotations[POD_ENI_CONFIG];
  const text = annotations[POD_ENI_CONFIG_SELECTOR];
  if (name !== undefined && text !== undefined)
    return mistake(
      `it has both annotations ${POD_ENI_CONFIG} and ${POD_ENI_CONFIG_SELECTOR}`,
      'take one of the two away',
    );
  if (name !== undefined)
    return name.trim() === ''
      ? mistake(`annotation ${POD_ENI_CONFIG} is empty`, 'name an ENIConfig in it, or take it away')
      : { kind: 'Name', name };
  if (text === undefined) return { kind: 'Nothing' };
  const selector = parseLabelSelector(text);
  return selector.ok
    ? { kind: 'Selector', selector: selector.value, text }
    : mistake(`annotation ${POD_ENI_CONFIG_SELECTOR}: ${selector.error}`, 'write it like zone in (internal)');
}

const mistake = (message: string, fix: string): PodWish => ({ kind: 'Mistake', message, fix });

/** The pod's own wish goes before its namespace's. */
export function wishOfPod(pod: Annotations, namespace: Annotations | undefined): PodWish {
  const own = wishOf(pod);
  return own.kind === 'Nothing' && namespace !== undefined ? wishOf(namespace) : own;
}

/** What the controller has decided for one pod that chooses; the agent gives it an address of this ENIConfig or none. */
export type PodDecision =
  | { readonly kind: 'EniConfig'; readonly pod: PodKey; readonly uid: string; readonly eniConfig: string }
  | {
      readonly kind: 'Refused';
      readonly pod: PodKey;
      readonly uid: string;
      /** CamelCase, as in Events. */
      readonly reason: PodRefusal;
      /** What is wrong and what to do. */
      readonly message: string;
    };

export type PodRefusal =
  | 'PodChoiceInvalid'
  | 'EniConfigNotFound'
  | 'EniConfigInvalid'
  | 'EniConfigInOtherZone'
  | 'EniConfigInOtherVpc'
  | 'NoEniConfigInZone'
  | 'CustomNetworkingOff';

export interface PodChoiceInput {
  readonly pod: PodKey;
  readonly uid: string;
  readonly wish: Exclude<PodWish, { kind: 'Nothing' }>;
  readonly node: SelectionNode;
  readonly byName: ReadonlyMap<string, EniConfigView>;
  readonly customNetworking: boolean;
  /** ENIConfigs that the node has ENIs of, or is getting some of, in the order in which they are preferred. */
  readonly present: readonly string[];
  /** The ENIConfig that was decided for this very pod before. */
  readonly before?: string;
}

/** Undefined: EC2 has not answered yet for what the choice hangs on, so nothing is decided and the pod waits. */
export function decidePodChoice(input: PodChoiceInput): PodDecision | undefined {
  const { pod, uid, wish, byName, node } = input;
  const refused = (reason: PodRefusal, message: string): PodDecision => ({
    kind: 'Refused',
    pod,
    uid,
    reason,
    message,
  });
  if (!input.customNetworking)
    return refused(
      'CustomNetworkingOff',
      'it asks for an ENIConfig, but custom networking is off; set AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG=true, or take its annotation away',
    );
  switch (wish.kind) {
    case 'Mistake':
      return refused('PodChoiceInvalid', `${wish.message}; ${wish.fix}`);
    case 'Name': {
      const view = byName.get(wish.name);
      if (view?.kind === 'Unresolved') return undefined;
      const problem = problemOf(wish.name, view, node);
      return problem === undefined
        ? { kind: 'EniConfig', pod, uid, eniConfig: wish.name }
        : refused(problem.reason, problem.message);
    }
    case 'Selector':
      return decideBySelector(input, wish, refused);
  }
}

interface Problem {
  readonly reason: PodRefusal;
  readonly message: string;
}

function problemOf(name: string, view: EniConfigView | undefined, node: SelectionNode): Problem | undefined {
  const asks = `it asks for ENIConfig ${quote(name)}`;
  if (view === undefined)
    return {
      reason: 'EniConfigNotFound',
      message: `${asks}, which does not exist; create it with a subnet in zone ${node.zone}, or correct annotation ${POD_ENI_CONFIG}`,
    };
  if (view.kind === 'Invalid')
    return {
      reason: 'EniConfigInvalid',
      message: `${asks}, which cannot be used: ${view.message}; ${view.fix}`,
    };
  if (view.kind === 'Unresolved') return undefined;
  const { subnet } = view;
  if (subnet.vpcId !== node.vpcId)
    return {
      reason: 'EniConfigInOtherVpc',
      message: `${asks}, whose subnet ${subnet.subnetId} belongs to ${subnet.vpcId} and the node to ${node.vpcId}; name an ENIConfig of the node's VPC`,
    };
  if (subnet.zone !== node.zone)
    return {
      reason: 'EniConfigInOtherZone',
      message: `${asks}, whose subnet lies in zone ${subnet.zone}, but it was put on node ${node.name} in ${node.zone}; let the scheduler choose by requesting eniwhere.io/ip.${name}, or by topology.kubernetes.io/zone`,
    };
  return undefined;
}

/** Of those that match: what was decided before, else one that the node has ENIs of, else the one with the most room. */
function decideBySelector(
  { pod, uid, node, byName, present, before }: PodChoiceInput,
  wish: Extract<PodWish, { kind: 'Selector' }>,
  refused: (reason: PodRefusal, message: string) => PodDecision,
): PodDecision | undefined {
  const matching = [...byName].filter(([, view]) => matchesLabels(wish.selector, labelsOf(view)));
  const usable = matching.flatMap(([name, view]) =>
    view.kind === 'Valid' && problemOf(name, view, node) === undefined
      ? [{ name, free: view.subnet.freeAddressCount }]
      : [],
  );
  const names = new Set(usable.map(({ name }) => name));
  const known = [...(before === undefined ? [] : [before]), ...present].find((name) => names.has(name));
  if (known !== undefined) return { kind: 'EniConfig', pod, uid, eniConfig: known };
  if (matching.some(([, view]) => view.kind === 'Unresolved')) return undefined;
  const [best] = usable.sort((a, b) => b.free - a.free || (a.name < b.name ? -1 : 1));
  if (best !== undefined) return { kind: 'EniConfig', pod, uid, eniConfig: best.name };
  return refused(
    'NoEniConfigInZone',
    `it asks for an ENIConfig with the labels ${quote(wish.text)}, and none in zone ${node.zone} can be used (${matching.length} have the labels); ` +
      `label an ENIConfig with a subnet in that zone, or correct annotation ${POD_ENI_CONFIG_SELECTOR}`,
  );
}
