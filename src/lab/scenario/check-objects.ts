// Expectations about objects: what the controller decided, what EC2 has, what kubelet and the agent report.

import { cidrContains } from '../../domain/address/cidr.ts';
import { familyOf } from '../../domain/address/ip.ts';
import type { PodKey } from '../../domain/ids.ts';
import { servedPodCount } from '../../domain/ipam/node-status.ts';
import { assert } from '../../domain/result.ts';
import type { ClusterEvent } from '../../ports/cluster.ts';
import type { Ec2Eni } from '../../ports/ec2.ts';
import { podAddresses } from '../ec2/pod-addresses.ts';
import type { CheckOf } from './check-schema.ts';
import { type Lab, type LabNode, livingPods, podStateOf } from './lab.ts';
import { securityGroupOf, subnetOf } from './scenario.ts';
import { matchPods, showPod } from './schema-words.ts';
import { allOf, listed, type Sighting } from './sighting.ts';

export function nodeOf(lab: Lab, name: string): LabNode {
  const node = lab.nodes.get(name);
  assert(node !== undefined, `the scenario's references are checked: node ${name}`);
  return node;
}

export function sightSelection(lab: Lab, want: CheckOf<'selection'>): Sighting {
  const expected = `${want.is}${want.source === undefined ? '' : ` by rule ${want.source}`}`;
  const selection = lab.cluster.admin.nodeNetwork(want.node)?.spec.selection;
  if (selection === undefined) return { held: false, seen: `no NodeNetwork ${want.node} yet`, expected };
  const is = selection.kind === 'EniConfig' ? selection.name : selection.kind;
  return {
    held: is === want.is && (want.source === undefined || want.source === selection.source),
    seen: `${want.node}: ${is} (${selection.source})`,
    expected,
  };
}

const secondaryEnis = (lab: Lab, node: LabNode): readonly Ec2Eni[] =>
  lab.ec2.truth.enisOf(node.instanceId).filter((eni) => eni.attachment?.deviceIndex !== 0);

const groupIds = (lab: Lab, refs: readonly string[]): readonly string[] =>
  refs.map((ref) => securityGroupOf(lab.scenario, ref).id).sort();

const sameGroups = (eni: Ec2Eni, ids: readonly string[]): boolean =>
  [...eni.securityGroupIds].sort().join() === ids.join();

function groupNames(lab: Lab, eni: Ec2Eni): string {
  const names = new Map<string, string>(lab.scenario.vpc.securityGroups.map(({ id, name }) => [id, name]));
  return eni.securityGroupIds.map((id) => names.get(id) ?? id).join(', ');
}

const subnetName = (lab: Lab, eni: Ec2Eni): string =>
  lab.scenario.vpc.subnets.find(({ id }) => id === eni.subnetId)?.name ?? eni.subnetId;

const showEni = (lab: Lab, eni: Ec2Eni): string =>
  `${eni.eniId} in ${subnetName(lab, eni)} under ${groupNames(lab, eni)} (${eni.attachment?.status ?? eni.status})`;

export function sightEnis(lab: Lab, want: CheckOf<'enis'>): Sighting {
  const subnet = want.subnet === undefined ? undefined : subnetOf(lab.scenario, want.subnet);
  const enis = secondaryEnis(lab, nodeOf(lab, want.node)).filter(
    (eni) => subnet === undefined || eni.subnetId === subnet.id,
  );
  const attached = enis.filter((eni) => eni.attachment?.status === 'attached');
  const groups = want.securityGroups === undefined ? undefined : groupIds(lab, want.securityGroups);
  const countOk = want.count === undefined || (want.count === attached.length && enis.length === want.count);
  const atLeastOk = attached.length >= (want.atLeast ?? 0);
  const where = subnet === undefined ? '' : ` in ${subnet.name}`;
  const under =
    want.securityGroups === undefined ? '' : `, each under exactly ${want.securityGroups.join(', ')}`;
  const number =
    want.count ?? `${want.atLeast ?? 'any number of'}${want.atLeast === undefined ? '' : ' or more'}`;
  return {
    held: countOk && atLeastOk && (groups === undefined || enis.every((eni) => sameGroups(eni, groups))),
    seen: enis.length === 0 ? `no ENI${where}` : listed(enis.map((eni) => showEni(lab, eni))),
    expected: `${number} ENI(s)${where} attached to ${want.node}${under}`,
  };
}

export function sightAddresses(lab: Lab, want: CheckOf<'addresses'>): Sighting {
  const enis = secondaryEnis(lab, nodeOf(lab, want.node));
  const held = enis.reduce((sum, eni) => sum + podAddresses(eni).length, 0);
  const prefixes = enis.reduce((sum, eni) => sum + eni.prefixes.length, 0);
  const status = lab.cluster.admin.nodeNetwork(want.node)?.status;
  const used = status === undefined ? 0 : servedPodCount(status);
  const parts = [
    { is: held, wanted: want.held, word: 'held' },
    { is: used, wanted: want.used, word: 'used' },
    { is: prefixes, wanted: want.prefixes, word: 'prefixes' },
  ].filter(({ word, wanted }) => wanted !== undefined || word !== 'prefixes');
  return {
    held: parts.every(({ is, wanted }) => wanted === undefined || wanted === is),
    seen: `${want.node}: ${parts.map(({ is, word }) => `${is} ${word}`).join(', ')}`,
    expected: parts
      .flatMap(({ wanted, word }) => (wanted === undefined ? [] : [`${wanted} ${word}`]))
      .join(', '),
  };
}

/** The ENI that EC2 says holds the pod's address, if it is attached to the pod's node. */
export function eniOfPod(lab: Lab, pod: PodKey): Ec2Eni | undefined {
  const state = podStateOf(lab, pod);
  if (state?.address === undefined) return undefined;
  const eni = lab.ec2.truth.eniHolding(lab.scenario.vpc.id, state.address);
  return eni?.attachment?.instanceId === lab.nodes.get(state.node)?.instanceId ? eni : undefined;
}

export function sightRunning(lab: Lab, want: CheckOf<'running'>): Sighting {
  const pods = matchPods(want.pods, livingPods(lab));
  const sightings = pods.map((pod) => sightOneRunning(lab, pod, want));
  const worst = allOf(sightings);
  const count = sightings.filter(({ held }) => held).length;
  const addresses = pods.flatMap((pod) => podStateOf(lab, pod)?.address ?? []);
  if (worst.held)
    return { ...worst, seen: pods.length === 1 ? worst.seen : `${pods.length} pods: ${listed(addresses)}` };
  return { ...worst, seen: pods.length === 1 ? worst.seen : `${count} of ${pods.length} do; ${worst.seen}` };
}

function sightOneRunning(lab: Lab, pod: PodKey, want: CheckOf<'running'>): Sighting {
  const subnet = want.subnet === undefined ? undefined : subnetOf(lab.scenario, want.subnet);
  const expected = [
    'running',
    ...(subnet === undefined ? [] : [`in ${subnet.name} (${subnet.cidr})`]),
    ...(want.families === undefined ? [] : [`with ${want.families.join(' and ')} alone`]),
    ...(want.securityGroups === undefined ? [] : [`under exactly ${want.securityGroups.join(', ')}`]),
    ...(want.deviceIndex === undefined ? [] : [`on the ENI with device index ${want.deviceIndex}`]),
  ].join(' ');
  const state = podStateOf(lab, pod);
  const name = showPod(pod);
  const miss = (seen: string): Sighting => ({ held: false, seen, expected });
  if (state === undefined) return miss(`${name}: kubelet has not seen it yet`);
  const { address, addresses = [], phase, node, addCount, refusal } = state;
  if (phase !== 'Running' || address === undefined)
    return miss(
      `${name}: ${phase}, ${addCount} ADDs${refusal === undefined ? '' : `, last refused: ${refusal}`}`,
    );
  const used = lab.cluster.admin.nodeNetwork(node)?.status.used ?? [];
  if (!used.some((one) => one.ip === address && one.pod === pod))
    return miss(`${name}: ${address}, which the agent does not list as used`);
  const eni = eniOfPod(lab, pod);
  if (eni === undefined) return miss(`${name}: ${address}, which EC2 has on no ENI of ${node}`);
  if (eni.attachment?.deviceIndex === 0) return miss(`${name}: ${address}, on the primary ENI`);
  const blocks =
    subnet === undefined ? [] : [subnet.cidr, ...(subnet.ipv6Cidr === undefined ? [] : [subnet.ipv6Cidr])];
  const stray = addresses.find((one) => !blocks.some((block) => cidrContains(block, one)));
  if (subnet !== undefined && (eni.subnetId !== subnet.id || stray !== undefined))
    return miss(`${name}: ${listed(addresses)} on ${showEni(lab, eni)}`);
  const elsewhere = addresses.find((one) => lab.ec2.truth.eniHolding(eni.vpcId, one)?.eniId !== eni.eniId);
  if (elsewhere !== undefined)
    return miss(`${name}: ${elsewhere}, which is not on ${eni.eniId} as ${address} is`);
  const families = addresses.map((one) => `IPv${familyOf(one)}`);
  if (want.families !== undefined && families.toSorted().join() !== want.families.toSorted().join())
    return miss(`${name}: ${listed(addresses)}`);
  if (want.securityGroups !== undefined && !sameGroups(eni, groupIds(lab, want.securityGroups)))
    return miss(`${name}: ${address} on ${showEni(lab, eni)}`);
  const deviceIndex = eni.attachment?.deviceIndex;
  if (want.deviceIndex !== undefined && want.deviceIndex !== deviceIndex)
    return miss(`${name}: ${address} on device index ${deviceIndex ?? 'unknown'}`);
  return { held: true, seen: `${name}: ${addresses.join(' ')} on ${eni.eniId}`, expected };
}

export function sightWaiting(lab: Lab, want: CheckOf<'waiting'>): Sighting {
  const states = matchPods(want.pods, livingPods(lab)).map((pod) => ({ pod, state: podStateOf(lab, pod) }));
  const running = states.filter(({ state }) => state?.phase !== 'Waiting');
  const seen = (running.length > 0 ? running : states).map(
    ({ pod, state }) =>
      `${showPod(pod)} ${state?.phase ?? 'unknown to kubelet'}${state?.address ? ` ${state.address}` : ''}`,
  );
  return { held: running.length === 0, seen: listed(seen), expected: 'no address yet' };
}

export function sightGone(lab: Lab, want: CheckOf<'gone'>): Sighting {
  const all = [...lab.nodes.values()].flatMap(({ kubelet }) => [...kubelet.pods.keys()]);
  const used = new Set(
    [...lab.nodes.keys()].flatMap((name) =>
      (lab.cluster.admin.nodeNetwork(name)?.status.used ?? []).map(({ pod }) => pod),
    ),
  );
  const left = matchPods(want.pods, all).filter(
    (pod) => podStateOf(lab, pod)?.phase !== 'Gone' || used.has(pod),
  );
  return {
    held: left.length === 0,
    seen: left.length === 0 ? 'no sandbox, no address used' : `still there: ${listed(left.map(showPod))}`,
    expected: 'no sandbox, no address used',
  };
}

const has = (text: string, wanted: readonly string[]): boolean => wanted.every((part) => text.includes(part));
const quoted = (texts: readonly string[]): string => texts.map((text) => `"${text}"`).join(', ');

export function sightCondition(lab: Lab, want: CheckOf<'condition'>): Sighting {
  const conditions = lab.cluster.admin.nodeNetwork(want.node)?.status.conditions ?? [];
  const condition = conditions.find(({ type }) => type === want.type);
  const says = want.says.length === 0 ? '' : ` that says ${quoted(want.says)}`;
  return {
    held: condition?.status === want.status && has(condition.message, want.says),
    seen: condition === undefined ? `no condition ${want.type}` : showCondition(condition),
    expected: `${want.type}=${want.status}${says}`,
  };
}

export const showCondition = (condition: {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}): string => `${condition.type}=${condition.status} ${condition.reason}: ${condition.message}`;

export const showClusterEvent = (event: ClusterEvent): string =>
  `${event.type} ${event.reason} on ${event.about.kind.toLowerCase()} ${event.about.name}: ${event.message}`;

const EVENT_KINDS: Readonly<Record<string, string>> = { node: 'Node', pod: 'Pod', eniConfig: 'EniConfig' };

export function sightEvent(lab: Lab, want: CheckOf<'event'>): Sighting {
  const [word = '', ...rest] = want.about.split('/');
  const namespace = word === 'pod' ? (rest.length === 2 ? rest[0] : 'default') : undefined;
  const about = lab.cluster.admin
    .events()
    .filter(
      (event) =>
        event.about.kind === EVENT_KINDS[word] &&
        event.about.name === rest.at(-1) &&
        (namespace === undefined || event.about.namespace === namespace),
    );
  const found = about.find(
    (event) => (want.reason === undefined || event.reason === want.reason) && has(event.message, want.says),
  );
  const last = found ?? about.at(-1);
  return {
    held: found !== undefined,
    seen:
      last === undefined ? `no Event about ${want.about}` : `${last.type} ${last.reason}: ${last.message}`,
    expected: `an Event${want.reason === undefined ? '' : ` ${want.reason}`} about ${want.about} that says ${quoted(want.says)}`,
  };
}

export function sightClassStatus(lab: Lab, want: CheckOf<'classStatus'>): Sighting {
  const status = lab.cluster.admin.get('NodeNetworkClass', want.name)?.status;
  const says = want.says.length === 0 ? '' : ` that says ${quoted(want.says)}`;
  const nodes = want.nodes === undefined ? '' : ` with ${want.nodes} nodes`;
  return {
    held:
      status?.ready === want.ready &&
      (want.nodes === undefined || want.nodes === status.nodeCount) &&
      has(status.message, want.says),
    seen:
      status === undefined
        ? 'no status yet'
        : `ready=${status.ready} with ${status.nodeCount} nodes: ${status.message}`,
    expected: `ready=${want.ready}${nodes}${says}`,
  };
}

export function sightEniConfigStatus(lab: Lab, want: CheckOf<'eniConfigStatus'>): Sighting {
  const status = lab.cluster.admin.get('EniConfig', want.name)?.status;
  const says = want.says.length === 0 ? '' : ` that says ${quoted(want.says)}`;
  return {
    held: status?.ready === want.ready && has(status.message, want.says),
    seen: status === undefined ? 'no status yet' : `ready=${status.ready}: ${status.message}`,
    expected: `ready=${want.ready}${says}`,
  };
}
