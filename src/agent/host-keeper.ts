// Keeps the host's links, routes, rules and nftables table as the spec wants them, whoever else changes them.

import type { Ip } from '../domain/address/ip.ts';
import { desiredHost, type DesiredHost, type DesiredHostInput } from '../domain/datapath/desired-host.ts';
import { eniOrdinal } from '../domain/datapath/eni-ordinal.ts';
import { imdsAllowed } from '../domain/datapath/imds-permission.ts';
import type { EniId } from '../domain/ids.ts';
import type { NodeNetworkSpec } from '../domain/ipam/node-network.ts';
import { holdableAddresses } from '../domain/ipam/pod-addresses.ts';
import { sameData } from '../domain/same-data.ts';
import type { StackOutcome } from '../ports/network-stack.ts';
import type { AgentContext } from './agent-context.ts';
import { describeStackOutcome } from './describe-stack-outcome.ts';
import { createWorker, type Worker } from './worker.ts';

/** Compared again at least this often, in case a notification was lost, milliseconds. */
const RESYNC_MS = 30_000;
const RETRY_MS = 1000;
/** A new link is renamed and changed several times in a row; one look after that is enough, milliseconds. */
const SETTLE_MS = 50;
/** While pods come and go, each of which changes links and routes: one look in this time, milliseconds. Well within a second. */
const BUSY_SETTLE_MS = 300;
/** Lines of what was repaired that go into one log message. */
const LOGGED_CHANGE_COUNT_MAX = 20;

export interface HostKeeper extends Worker {
  /** Pods or allocations changed: to be called after each change, and heeded when it changes what pods may reach. */
  onPods(): void;
}

export interface HostEvents {
  /** More, or other, addresses are routed than before. */
  readonly onRouted: () => void;
  /** The host is not as it should be: `hostFailure` says why. */
  readonly onFailed: () => void;
}

export function createHostKeeper(context: AgentContext, { onRouted, onFailed }: HostEvents): HostKeeper {
  const { clock, log, stack } = context;
  let lookedAt = Number.NEGATIVE_INFINITY;
  const desired = createDesiredHost();
  const worker = createWorker({
    clock,
    log,
    label: 'host datapath',
    run: async () => {
      lookedAt = clock.now();
      const nextMs = await keepHost(context, desired, onRouted);
      if (context.shared.hostFailure !== undefined) onFailed();
      return nextMs;
    },
  });
  const subscription = stack.onChange(() => {
    worker.wakeWithin(clock.now() - lookedAt < BUSY_SETTLE_MS ? BUSY_SETTLE_MS : SETTLE_MS);
  });
  return {
    ...worker,
    onPods: () => {
      const wanted = imdsWanted(context);
      const { imdsOpen } = context.shared;
      if (wanted.length !== imdsOpen.size || wanted.some((ip) => !imdsOpen.has(ip))) worker.wake();
    },
    stop: async () => {
      subscription.close();
      await worker.stop();
    },
  };
}

/** The desired host as a function that remembers its last answer: most looks find as it was all that it follows from. */
function createDesiredHost(): (input: DesiredHostInput) => DesiredHost {
  let last: { readonly input: DesiredHostInput; readonly answer: DesiredHost } | undefined;
  return ({ spec, links, imdsAllowed }) => {
    const { instance, enis, settings } = spec;
    const macs = new Set(enis.map(({ mac }) => mac.toLowerCase()));
    const ofEnis = links.flatMap(({ name, mac }) => (macs.has(mac.toLowerCase()) ? [{ name, mac }] : []));
    const input: DesiredHostInput = {
      spec: { instance, enis, settings },
      links: ofEnis,
      ...(imdsAllowed === undefined ? {} : { imdsAllowed }),
    };
    if (last === undefined || !sameData(last.input, input)) last = { input, answer: desiredHost(input) };
    return last.answer;
  };
}

async function keepHost(
  context: AgentContext,
  desired: (input: DesiredHostInput) => DesiredHost,
  onRouted: () => void,
): Promise<number | undefined> {
  const { shared, stack, log } = context;
  if (shared.accepted === undefined) return undefined;
  const { spec, generation } = shared.accepted;
  const links = await stack.listLinks();
  if (links.kind !== 'ok') return fail(context, 'the links cannot be listed', links);
  const allowed = imdsWanted(context);
  const { host, pending } = desired({ spec, links: links.value, imdsAllowed: allowed });
  shared.imdsOpen = new Set([...shared.imdsOpen, ...allowed]);
  const applied = await stack.applyHost(host);
  if (applied.kind !== 'ok') return fail(context, "the node's routes and rules cannot be written", applied);

  const pendingEnis = pending.map(({ eniId }) => eniId);
  if (pendingEnis.length > 0) log.mark('eni-link-pending');
  if (applied.value.length > 0) {
    const changes = applied.value.slice(0, LOGGED_CHANGE_COUNT_MAX);
    log.info('host datapath changed', { generation, changeCount: applied.value.length, changes });
  }
  shared.imdsOpen = new Set(allowed);
  shared.pendingEnis = pendingEnis;
  shared.routed = routedAddresses(spec, new Set(pendingEnis));
  shared.hostApplied = true;
  shared.hostFailure = undefined;
  onRouted();
  return RESYNC_MS;
}

const imdsWanted = ({ store, shared }: AgentContext): readonly Ip[] =>
  imdsAllowed({ allocations: store.ledger().allocations.values(), pods: shared.pods });

/** Of an address that the spec has on two ENIs, since it moved from one to the other, nftables knows the first alone. */
function routedAddresses(spec: NodeNetworkSpec, pending: ReadonlySet<EniId>): ReadonlyMap<Ip, EniId> {
  const first = new Map<Ip, EniId>();
  for (const eni of [...spec.enis].sort((a, b) => eniOrdinal(a) - eniOrdinal(b)))
    for (const ip of holdableAddresses(eni)) if (!first.has(ip)) first.set(ip, eni.eniId);
  return new Map([...first].filter(([, eniId]) => !pending.has(eniId)));
}

/** What was routed before the failure is still offered: the kernel keeps it. */
function fail(
  context: AgentContext,
  what: string,
  outcome: Exclude<StackOutcome<unknown>, { kind: 'ok' }>,
): number {
  const isFirst = context.shared.hostFailure === undefined;
  context.shared.hostFailure = `${what}: ${describeStackOutcome(outcome)}`;
  // A link that is renamed while it is set up fails once and heals a second later: no error yet.
  const level = isFirst ? 'warn' : 'error';
  context.log[level]('host datapath is not in place', { failure: context.shared.hostFailure });
  return RETRY_MS;
}
