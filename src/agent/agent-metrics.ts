// What is measured of the agent. Names of the AWS VPC CNI where the meaning is the same; docs/metrics.md has them all.

import { knownLimits } from '../domain/instance/instance-types.ts';
import { podEniMax, slotsPerEni } from '../domain/instance/slots.ts';
import type { SpecEni } from '../domain/ipam/node-network.ts';
import type { AwsCniReport } from '../ports/aws-cni.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { Metrics, Sample } from '../ports/metrics.ts';
import type { CniReply, CniRequest } from '../protocol/agent-socket/cni-message.ts';
import { CNI_ERROR } from '../protocol/cni/cni-error.ts';
import type { AgentSnapshot } from './agent-snapshot.ts';

type Handle = (request: CniRequest) => Promise<CniReply>;

/** ADD takes milliseconds, or up to ten seconds when it waits for an address. */
const REQUEST_BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 2.5, 5, 10, 30];

/** The handler, with its requests counted and timed. */
export function measureRequests(metrics: Metrics, clock: Clock, handle: Handle): Handle {
  const requests = metrics.counter({
    name: 'eniwhere_cni_requests_total',
    help: 'Requests of the container runtime, by CNI command and CNI error code (0: success).',
    labels: ['command', 'code'],
  });
  const duration = metrics.histogram({
    name: 'eniwhere_cni_request_duration_seconds',
    help: 'Time from a request to its answer, the wait for an address included.',
    labels: ['command'],
    buckets: REQUEST_BUCKETS_SECONDS,
  });
  const adds = metrics.counter({
    name: 'awscni_add_ip_req_count',
    help: 'ADD requests.',
  });
  const dels = metrics.counter({
    name: 'awscni_del_ip_req_count',
    help: 'DEL requests.',
    labels: ['reason'],
  });
  return async (request) => {
    const { command } = request;
    const startedAt = clock.now();
    if (command === 'ADD') adds.add({});
    if (command === 'DEL') dels.add({ reason: 'PodDeleted' });
    const count = (code: number): void => {
      requests.add({ command, code: `${code}` });
      // A clock that is set back must not make a negative duration.
      duration.observe({ command }, Math.max(0, clock.now() - startedAt) / 1000);
    };
    try {
      const reply = await handle(request);
      count(reply.kind === 'Error' ? reply.error.code : 0);
      return reply;
    } catch (error) {
      count(CNI_ERROR.internal);
      throw error;
    }
  };
}

/** The log, with its marks of rare branches counted. */
export function countMarks(metrics: Metrics, log: Log): Log {
  const events = metrics.counter({
    name: 'eniwhere_rare_events_total',
    help: 'Rare things that the agent met and dealt with, by name, such as pod-repaired or journal-torn.',
    labels: ['event'],
  });
  return {
    ...log,
    mark: (name) => {
      log.mark(name);
      events.add({ event: name });
    },
  };
}

export interface ObservedAgent {
  readonly describe: () => AgentSnapshot;
  /** Undefined before the first look. */
  readonly awsCni: () => AwsCniReport | undefined;
  readonly version: string;
}

/** Defines what is read at each scrape. */
export function observeAgent(metrics: Metrics, { describe, awsCni, version }: ObservedAgent): void {
  const one = (name: string, help: string, read: (snapshot: AgentSnapshot) => number | undefined): void =>
    metrics.observe({
      name,
      help,
      read: () => {
        const value = read(describe());
        return value === undefined ? [] : [{ labels: {}, value }];
      },
    });
  observeAddresses(metrics, describe);
  one('awscni_eni_allocated', 'ENIs attached to the node.', ({ nodeNetwork }) => nodeNetwork?.enis.length);
  one('awscni_eni_max', 'ENIs that the instance type can hold.', (snapshot) => limitsOf(snapshot)?.eniMax);
  one('awscni_ip_max', 'Addresses for pods that the instance type can hold.', (snapshot) => {
    const limits = limitsOf(snapshot);
    return limits && podEniMax(limits) * slotsPerEni(limits);
  });
  one('eniwhere_pods', 'Pods that hold an address.', ({ allocations }) => allocations.length);
  one('eniwhere_agent_serving', 'Whether ADD can be served (1) or not (0).', ({ notServing }) =>
    notServing === undefined ? 1 : 0,
  );
  one('eniwhere_host_healthy', "Whether the host's rules and routes are in place (1).", ({ hostFailure }) =>
    hostFailure === undefined ? 1 : 0,
  );
  one('eniwhere_journal_healthy', 'Whether the journal can be written (1).', ({ journalFailure }) =>
    journalFailure === undefined ? 1 : 0,
  );
  one('eniwhere_adds_waiting', 'ADDs that wait for an address now.', (snapshot) => snapshot.waitingAddCount);
  one(
    'eniwhere_eni_links_pending',
    'ENIs whose link has not appeared.',
    ({ pendingEnis }) => pendingEnis.length,
  );
  one(
    'eniwhere_node_network_generation',
    'The NodeNetwork generation acted on.',
    ({ spec }) => spec?.generation,
  );
  one(
    'eniwhere_imds_allowed_addresses',
    'Addresses that may reach instance metadata.',
    ({ imdsAllowed }) => imdsAllowed.length,
  );
  metrics.observe({
    name: 'awscni_no_available_ip_addresses',
    help: 'ADDs that ended without an address.',
    kind: 'counter',
    read: () => [{ labels: {}, value: describe().noAddressCount }],
  });
  for (const [name, help, read] of [
    ['eniwhere_aws_cni_leftovers', 'Rules, routes and firewall rules that the AWS CNI left.', leftoverCount],
    ['eniwhere_aws_cni_live_pods', 'Pods of the AWS CNI that still run here.', livePodCount],
  ] as const) {
    one(name, help, () => {
      const report = awsCni();
      return report && read(report);
    });
  }
  metrics.observe({
    name: 'eniwhere_build_info',
    help: 'Always 1; the label has the version.',
    labels: ['version'],
    read: () => [{ labels: { version }, value: 1 }],
  });
}

const leftoverCount = ({ leftovers }: AwsCniReport): number => leftovers.length;
const livePodCount = ({ livePods }: AwsCniReport): number => livePods.length;

const limitsOf = ({ nodeNetwork }: AgentSnapshot): ReturnType<typeof knownLimits> =>
  nodeNetwork && knownLimits(nodeNetwork.instance.instanceType);

type EniLabel = 'eni' | 'eni_config' | 'state';

function observeAddresses(metrics: Metrics, describe: () => AgentSnapshot): void {
  const total = (read: (enis: readonly SpecEni[], held: ReadonlySet<string>) => number) => () => {
    const snapshot = describe();
    const enis = snapshot.nodeNetwork?.enis;
    return enis === undefined ? [] : [{ labels: {}, value: read(enis, heldOf(snapshot)) }];
  };
  metrics.observe({
    name: 'awscni_total_ip_addresses',
    help: 'Addresses that are granted to the node for its pods.',
    read: total((enis) => sum(enis.map((eni) => eni.addresses.length))),
  });
  metrics.observe({
    name: 'awscni_assigned_ip_addresses',
    help: 'Addresses that pods hold.',
    read: total((enis, held) => sum(enis.map((eni) => heldCount(eni, held)))),
  });
  metrics.observe({
    name: 'awscni_total_ipv4_prefixes',
    help: 'IPv4 prefixes that are granted to the node.',
    read: total((enis) => sum(enis.map((eni) => eni.prefixes.filter((one) => !one.includes(':')).length))),
  });
  metrics.observe({
    name: 'awscni_assigned_ip_per_eni',
    help: 'Addresses that pods hold, by ENI.',
    labels: ['eni'],
    read: () =>
      perEni(describe(), (eni, held) => [{ labels: { eni: eni.eniId }, value: heldCount(eni, held) }]),
  });
  metrics.observe({
    name: 'eniwhere_addresses',
    help: 'Granted addresses, by ENI, ENIConfig and state: used, cooling, withdrawing, withdrawn or free.',
    labels: ['eni', 'eni_config', 'state'],
    read: () => samplesByState(describe()),
  });
}

const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);

const heldOf = ({ allocations }: AgentSnapshot): ReadonlySet<string> =>
  new Set(allocations.flatMap(({ addresses }) => addresses));

const heldCount = (eni: SpecEni, held: ReadonlySet<string>): number =>
  eni.addresses.filter((ip) => held.has(ip)).length;

const perEni = <Label extends string>(
  snapshot: AgentSnapshot,
  samples: (eni: SpecEni, held: ReadonlySet<string>) => readonly Sample<Label>[],
): readonly Sample<Label>[] => {
  const held = heldOf(snapshot);
  return (snapshot.nodeNetwork?.enis ?? []).flatMap((eni) => samples(eni, held));
};

/** Each address counts once, under the first state that fits. */
function samplesByState(snapshot: AgentSnapshot): readonly Sample<EniLabel>[] {
  const [cooling, withdrawn] = [new Set(snapshot.cooling), new Set(snapshot.withdrawn)];
  return perEni(snapshot, (eni, held) => {
    const counts = { used: 0, cooling: 0, withdrawn: 0, withdrawing: 0, free: 0 };
    for (const ip of eni.addresses) {
      if (held.has(ip)) counts.used += 1;
      else if (cooling.has(ip)) counts.cooling += 1;
      else if (withdrawn.has(ip)) counts.withdrawn += 1;
      else if (eni.withdrawing.includes(ip)) counts.withdrawing += 1;
      else counts.free += 1;
    }
    return Object.entries(counts).map(([state, value]) => ({
      labels: { eni: eni.eniId, eni_config: eni.eniConfig, state },
      value,
    }));
  });
}
