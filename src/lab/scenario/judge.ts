// Holds one expectation against the world until it is true, or its time is up.

import {
  sightAddresses,
  sightCondition,
  sightClassStatus,
  sightEniConfigStatus,
  sightEnis,
  sightEvent,
  sightGone,
  sightRunning,
  sightSelection,
  sightWaiting,
  showClusterEvent,
  showCondition,
} from './check-objects.ts';
import {
  type Ground,
  sightAlive,
  sightBlocked,
  sightReach,
  sightReachAmong,
  sightSpoofing,
} from './check-packets.ts';
import { type Check, PACKET_CHECKS } from './check-schema.ts';
import type { Interrupt } from './interrupt.ts';
import { type Lab, livingPods, podStateOf } from './lab.ts';
import type { ReportLine } from './report.ts';
import { type Endpoint, matchPods, showPod } from './schema-words.ts';
import type { Sighting } from './sighting.ts';
import type { Expectation } from './step-schema.ts';

const POLL_MS = 100;
/** Events that a cross repeats for each object that it is about. */
const EVENTS_SHOWN_MAX = 3;

/** Looks again and again; the verdict is of the last look. */
export async function judge(lab: Lab, expectation: Expectation, interrupt: Interrupt): Promise<ReportLine> {
  const { title, check, withinMs, holdsForMs } = expectation;
  if (PACKET_CHECKS.has(check.kind) && lab.packets === undefined)
    return { title, verdict: 'NotRun', seen: 'no network namespaces', facts: [] };
  const startedAt = lab.clock.now();
  let sighting = await look(lab, check);
  while (!sighting.held && !interrupt.requested() && lab.clock.now() - startedAt < withinMs) {
    await lab.clock.sleep(POLL_MS, 'expectation');
    sighting = await look(lab, check);
  }
  const heldAt = lab.clock.now();
  while (sighting.held && !interrupt.requested() && lab.clock.now() - heldAt < holdsForMs) {
    await lab.clock.sleep(POLL_MS, 'expectation holds');
    sighting = await look(lab, check);
  }
  if (sighting.held) return { title, verdict: 'Held', seen: sighting.seen, facts: [] };
  const waited = `after ${((lab.clock.now() - startedAt) / 1000).toFixed(1)} s`;
  return {
    title,
    verdict: 'Broken',
    expected: sighting.expected,
    seen: `${sighting.seen} (${waited})`,
    facts: factsAbout(lab, check),
  };
}

function look(lab: Lab, check: Check): Sighting | Promise<Sighting> {
  switch (check.kind) {
    case 'selection':
      return sightSelection(lab, check.want);
    case 'enis':
      return sightEnis(lab, check.want);
    case 'addresses':
      return sightAddresses(lab, check.want);
    case 'running':
      return sightRunning(lab, check.want);
    case 'waiting':
      return sightWaiting(lab, check.want);
    case 'gone':
      return sightGone(lab, check.want);
    case 'condition':
      return sightCondition(lab, check.want);
    case 'event':
      return sightEvent(lab, check.want);
    case 'eniConfigStatus':
      return sightEniConfigStatus(lab, check.want);
    case 'classStatus':
      return sightClassStatus(lab, check.want);
    case 'reach':
    case 'reachAmong':
    case 'blocked':
    case 'spoofing':
    case 'alive':
      return lookAtPackets(lab, check);
  }
}

type PacketCheck = Extract<Check, { kind: 'reach' | 'reachAmong' | 'blocked' | 'spoofing' | 'alive' }>;

function lookAtPackets(lab: Lab, check: PacketCheck): Sighting | Promise<Sighting> {
  if (lab.packets === undefined) return { held: false, seen: 'no network namespaces', expected: check.kind };
  const ground: Ground = { lab, packets: lab.packets };
  switch (check.kind) {
    case 'reach':
      return sightReach(ground, check.want);
    case 'reachAmong':
      return sightReachAmong(ground, check.want);
    case 'blocked':
      return sightBlocked(ground, check.want);
    case 'spoofing':
      return sightSpoofing(ground, check.want);
    case 'alive':
      return sightAlive(ground, check.want);
  }
}

/** What the nodes and pods of a check say of themselves: conditions that are not True, the last Events, refusals. */
function factsAbout(lab: Lab, check: Check): readonly string[] {
  const { nodes, pods } = subjectsOf(lab, check);
  const conditions = nodes.flatMap((node) =>
    (lab.cluster.admin.nodeNetwork(node)?.status.conditions ?? [])
      .filter(({ status }) => status !== 'True')
      .map((condition) => `condition of ${node}: ${showCondition(condition)}`),
  );
  const names = new Set([...nodes, ...pods.map((pod) => pod.slice(pod.indexOf('/') + 1))]);
  const events = lab.cluster.admin
    .events()
    .filter(({ about }) => names.has(about.name))
    .slice(-EVENTS_SHOWN_MAX)
    .map((event) => `Event: ${showClusterEvent(event)}`);
  const refusals = pods.flatMap((pod) => {
    const state = podStateOf(lab, pod);
    return state?.phase === 'Waiting' && state.refusal !== undefined
      ? [`${showPod(pod)}: ADD refused ${state.addCount} times, last: ${state.refusal}`]
      : [];
  });
  return [...conditions, ...events, ...refusals.slice(0, EVENTS_SHOWN_MAX)];
}

interface Subjects {
  readonly nodes: readonly string[];
  readonly pods: readonly PodKeyText[];
}
type PodKeyText = ReturnType<typeof livingPods>[number];

function subjectsOf(lab: Lab, check: Check): Subjects {
  const ofPods = (pods: readonly PodKeyText[]): Subjects => ({
    pods,
    nodes: [...new Set(pods.flatMap((pod) => podStateOf(lab, pod)?.node ?? []))],
  });
  const ofEndpoints = (endpoints: readonly Endpoint[]): Subjects => {
    const found = ofPods(endpoints.flatMap((endpoint) => (endpoint.kind === 'Pod' ? [endpoint.pod] : [])));
    const nodes = endpoints.flatMap((endpoint) => (endpoint.kind === 'Node' ? [endpoint.node] : []));
    return { ...found, nodes: [...found.nodes, ...nodes] };
  };
  switch (check.kind) {
    case 'selection':
    case 'enis':
    case 'addresses':
    case 'condition':
      return { nodes: [check.want.node], pods: [] };
    case 'running':
    case 'waiting':
    case 'gone':
    case 'reachAmong':
      return ofPods(matchPods(check.want.pods, livingPods(lab)));
    case 'reach':
    case 'blocked':
      return ofEndpoints([check.want.from, check.want.to.endpoint]);
    case 'spoofing':
      return ofPods([check.want.from, check.want.as, check.want.to]);
    case 'alive':
    case 'eniConfigStatus':
    case 'classStatus':
      return { nodes: [], pods: [] };
    case 'event':
      return { nodes: [check.want.about.slice(check.want.about.indexOf('/') + 1)], pods: [] };
  }
}
