// Why a node's network is as it is: the rules tried, the addresses and their targets, what is missing, what comes next.

import type { AddressFamily } from '../address/families.ts';
import type { TriedRule } from '../eniconfig/select-eni-config.ts';
import type { Selection } from '../eniconfig/selection.ts';
import type { Condition, SpecEni } from '../ipam/node-network.ts';
import { servedPodCount } from '../ipam/node-status.ts';
import { networkServes } from '../ipam/network-serves.ts';
import { hasIpTargets, type WarmTargets } from '../ipam/warm-targets.ts';
import { sameData } from '../same-data.ts';
import { nextSteps, planNode, type PlannedNode } from './node-plan.ts';
import { networkOf, type Picture, type PictureNetwork, type PictureNode, podsOn } from './picture.ts';
import { type ReplayedSelection, replaySelection } from './replay-selection.ts';

export interface EniExplanation {
  readonly eniId: string;
  readonly eniConfig: string;
  readonly subnet: string;
  /** Whether it takes new pods. */
  readonly takesPods: boolean;
  readonly addressCount: number;
  readonly usedCount: number;
  readonly withdrawingCount: number;
}

export interface AddressExplanation {
  readonly heldCount: number;
  readonly usedCount: number;
  readonly coolingCount: number;
  readonly freeCount: number;
  /** Pods bound to the node that have no address yet. */
  readonly waiting: readonly string[];
  readonly maxPods: number;
  /** Which target holds, and what it asks for, as a sentence. */
  readonly target: string;
  readonly enis: readonly EniExplanation[];
}

export interface NodeExplanation {
  readonly kind: 'Node';
  readonly name: string;
  readonly found: boolean;
  readonly instanceType?: string;
  readonly zone?: string;
  readonly className?: string;
  /** What pods of the node are to get, and who says so. */
  readonly addressFamilies?: readonly AddressFamily[];
  readonly addressFamiliesBy?: string;
  /** By the rules, on what is in the cluster now. */
  readonly selection?: Selection;
  readonly tried: readonly TriedRule[];
  /** What the controller has published; absent until it has. */
  readonly published?: Selection;
  readonly addresses?: AddressExplanation;
  readonly conditions: readonly Condition[];
  /** Sentences: what is wrong or not there yet, with what to do where something can be done. */
  readonly missing: readonly string[];
  /** Sentences: what the controller does next. Empty: it is at rest. */
  readonly next: readonly string[];
}

/** Pure: every reason is the controller's own, the one that also stands in conditions and Events. */
export function explainNode(picture: Picture, name: string): NodeExplanation {
  const node = picture.nodes.find((one) => one.name === name);
  if (node === undefined)
    return {
      kind: 'Node',
      name,
      found: false,
      tried: [],
      conditions: [],
      missing: [`there is no node "${name}"; the nodes are ${listed(picture.nodes.map((one) => one.name))}`],
      next: [],
    };
  const network = networkOf(picture, name);
  const replayed = replaySelection(picture, node);
  const planned =
    network === undefined || replayed === undefined ? undefined : planOf(picture, network, replayed);
  const selection = replayed?.decision.selection;
  const instance = network?.spec.instance;
  const zone = instance?.zone ?? node.zone;
  return {
    kind: 'Node',
    name,
    found: true,
    ...(instance === undefined ? {} : { instanceType: instance.instanceType }),
    ...(zone === undefined ? {} : { zone }),
    ...(replayed?.className === undefined ? {} : { className: replayed.className }),
    ...(replayed === undefined ? {} : familiesOf(replayed)),
    ...(selection === undefined ? {} : { selection }),
    tried: replayed?.decision.tried ?? [],
    ...(network === undefined ? {} : { published: network.spec.selection }),
    ...(network === undefined || planned === undefined
      ? {}
      : { addresses: addressesOf(picture, network, planned) }),
    conditions: network?.status.conditions ?? [],
    missing: missingOf(picture, { node, network, replayed, planned }),
    next: planned === undefined ? [] : nextSteps(planned),
  };
}

const familiesOf = ({
  families,
  className,
  overrides,
}: ReplayedSelection): Pick<NodeExplanation, 'addressFamilies' | 'addressFamiliesBy'> => ({
  addressFamilies: families,
  addressFamiliesBy:
    overrides.addressFamilies === undefined
      ? "the controller's ENABLE_IPv4 and ENABLE_IPv6"
      : `spec.addressFamilies of class ${className}`,
});

const planOf = (
  picture: Picture,
  network: PictureNetwork,
  { decision, overrides, families }: ReplayedSelection,
): PlannedNode | undefined =>
  planNode(picture, network, { overrides, families, selection: decision.selection });

function addressesOf(
  picture: Picture,
  network: PictureNetwork,
  { view, pool }: PlannedNode,
): AddressExplanation {
  const { counts } = pool;
  const used = new Set<string>(network.status.used.map((one) => one.ip));
  const granted = new Set<string>(network.spec.enis.flatMap((eni) => eni.addresses));
  return {
    heldCount: network.spec.enis.reduce((sum, eni) => sum + eni.addresses.length, 0),
    // By pod and by grant: an IPv6 address that follows from an IPv4 one is not counted beside it.
    usedCount: servedPodCount(network.status),
    coolingCount: network.status.cooling.filter((ip) => granted.has(ip)).length,
    freeCount: counts.available,
    waiting: waitingOn(picture, network),
    maxPods: view.maxPods,
    target: targetText(view.settings.targets, counts.slotsPerEni),
    enis: network.spec.enis.filter((eni) => !eni.primary).map((eni) => eniOf(eni, used)),
  };
}

function waitingOn(picture: Picture, { name, status }: PictureNetwork): readonly string[] {
  const served = new Set<string>(status.used.map((one) => one.pod));
  return podsOn(picture, name)
    .map((pod) => pod.key)
    .filter((key) => !served.has(key));
}

const eniOf = (eni: SpecEni, used: ReadonlySet<string>): EniExplanation => ({
  eniId: eni.eniId,
  eniConfig: eni.eniConfig,
  subnet: eni.subnetId,
  takesPods: !eni.cordoned,
  addressCount: eni.addresses.length,
  usedCount: eni.addresses.filter((ip) => used.has(ip)).length,
  withdrawingCount: eni.withdrawing.length,
});

function targetText(targets: WarmTargets, slots: number): string {
  if (hasIpTargets(targets)) {
    const parts = [
      ...(targets.warmIp === undefined ? [] : [`WARM_IP_TARGET keeps ${targets.warmIp} addresses free`]),
      ...(targets.minimumIp === undefined ? [] : [`MINIMUM_IP_TARGET holds at least ${targets.minimumIp}`]),
    ];
    return parts.join(', ');
  }
  return `WARM_ENI_TARGET=${targets.warmEni} keeps ${targets.warmEni * slots} addresses free (${slots} to an ENI)`;
}

interface Known {
  readonly node: PictureNode;
  readonly network: PictureNetwork | undefined;
  readonly replayed: ReplayedSelection | undefined;
  readonly planned: PlannedNode | undefined;
}

function missingOf(picture: Picture, known: Known): readonly string[] {
  const { node, network, replayed, planned } = known;
  const selection = replayed?.decision.selection;
  return [
    ...(node.instanceId === undefined
      ? ['the node has no AWS provider id (spec.providerID): its cloud provider has not set it']
      : []),
    ...(network === undefined
      ? ['the controller has not published a NodeNetwork for the node: see that it runs, and its log']
      : []),
    ...(selection?.kind === 'None' ? [`${selection.message}; ${selection.fix}`] : []),
    ...driftOf(network, selection),
    ...familyDriftOf(network, replayed),
    // Without a selection all that follows is for its sake.
    ...(selection?.kind === 'None' ? [] : waitingFor(picture, network, planned)),
    ...(network !== undefined && planned === undefined
      ? [`the limits of instance type ${network.spec.instance.instanceType} are not known`]
      : []),
  ];
}

/** The controller follows within seconds; a difference that lasts means that it does not run or sees something else. */
function driftOf(network: PictureNetwork | undefined, selection: Selection | undefined): readonly string[] {
  if (network === undefined || selection === undefined || sameChoice(network.spec.selection, selection))
    return [];
  return [
    `published is ${choiceText(network.spec.selection)}, and the rules now give ${choiceText(selection)}: the controller follows within seconds when it runs`,
  ];
}

function familyDriftOf(
  network: PictureNetwork | undefined,
  replayed: ReplayedSelection | undefined,
): readonly string[] {
  if (network === undefined || replayed === undefined) return [];
  const { addressFamilies } = network.spec;
  if (sameData(addressFamilies, replayed.families)) return [];
  return [
    `published is ${addressFamilies.join(' and ')}, and pods are to get ${replayed.families.join(' and ')}: the controller follows within seconds when it runs`,
  ];
}

function sameChoice(a: Selection, b: Selection): boolean {
  if (a.kind !== b.kind) return false;
  if (a.kind === 'None' || b.kind === 'None') return true;
  const place = (one: Selection) =>
    one.kind === 'None' ? {} : { subnetId: one.subnetId, groups: [...one.securityGroupIds].sort() };
  return sameData(place(a), place(b));
}

export const choiceText = (selection: Selection): string =>
  selection.kind === 'EniConfig'
    ? `ENIConfig "${selection.name}"`
    : selection.kind === 'NodeSubnet'
      ? "the node's own subnet"
      : 'nothing';

function waitingFor(
  picture: Picture,
  network: PictureNetwork | undefined,
  planned: PlannedNode | undefined,
): readonly string[] {
  if (network === undefined) return [];
  const serves = networkServes(network, planned?.view.settings.targets ?? picture.settings.targets);
  const stuck = (planned?.plan.stuck ?? [])
    .filter(({ pods }) => pods.length > 0)
    .map(({ blocked }) => blocked.message);
  const short = (planned?.plan.conditions ?? [])
    .filter((one) => one.type === 'AddressesAvailable' && one.status === 'False')
    .map((one) => one.message);
  return [
    ...new Set([...refusalsOf(network), ...short, ...stuck]),
    ...(serves.serves ? [] : [serves.because]),
  ];
}

const REFUSED: ReadonlySet<string> = new Set(['Unauthorized', 'Ec2Refused']);

/** What EC2 refuses only the controller knows, which has asked: by its own condition. */
export const refusalsOf = ({ status }: PictureNetwork): readonly string[] =>
  status.conditions
    .filter((one) => one.type === 'AddressesAvailable' && one.status === 'False' && REFUSED.has(one.reason))
    .map((one) => one.message);

const NAMES_LISTED_MAX = 8;

/** `a, b and 3 more`. */
export function listed(names: readonly string[]): string {
  if (names.length === 0) return 'none';
  const shown = names.slice(0, NAMES_LISTED_MAX).join(', ');
  return names.length > NAMES_LISTED_MAX ? `${shown} and ${names.length - NAMES_LISTED_MAX} more` : shown;
}
