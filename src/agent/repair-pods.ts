// Gives pods back what other programs took from them on the host: their links' names, the links up, and their routes.

import type { Ip } from '../domain/address/ip.ts';
import { desiredHost } from '../domain/datapath/desired-host.ts';
import { hostLinkMac } from '../domain/datapath/desired-pod.ts';
import { type Allocation, allocationOf } from '../domain/ipam/ledger.ts';
import type { LinkView } from '../ports/network-stack.ts';
import { type AgentContext, notServing } from './agent-context.ts';
import { describeStackOutcome } from './describe-stack-outcome.ts';
import type { KeyedLock } from './keyed-lock.ts';
import { createWorker, type Worker } from './worker.ts';

/** Compared again at least this often, in case a notification was lost, milliseconds. */
const RESYNC_MS = 30_000;
const RETRY_MS = 1000;

/**
 * A loop beside the host's, so that a pod at which somebody works holds up nobody else. Each pod is repaired under its
 * lock: a DEL between the look and the repair would otherwise leave a route behind, and send what is meant for the
 * address' next holder to the wrong pod. To be woken when the host's datapath has been looked at.
 */
export function createPodRepairer(context: AgentContext, lock: KeyedLock): Worker {
  const { clock, log, stack } = context;
  const hostMacOf = createHostMacs();
  const run = async (): Promise<number | undefined> => {
    const vethPrefix = context.shared.accepted?.spec.settings.vethPrefix;
    if (vethPrefix === undefined || notServing(context) !== undefined) return undefined;
    const links = await stack.listLinks();
    const views = await stack.listPodLinks(vethPrefix);
    if (links.kind !== 'ok' || views.kind !== 'ok') return RETRY_MS;
    const seen = {
      links: new Map(links.value.map((link) => [link.name, link])),
      routed: new Map(views.value.map(({ hostLink, addresses }) => [hostLink, new Set(addresses)])),
      hostMacOf,
    };
    const harmed = [...context.store.ledger().allocations.values()].filter((pod) => isHarmed(pod, seen));
    let wholly = true;
    for (const pod of harmed)
      wholly = (await lock(pod.pod, () => repair(context, pod, hostMacOf(pod)))) && wholly;
    return wholly ? RESYNC_MS : RETRY_MS;
  };
  return createWorker({ clock, log, label: 'pod repair', run });
}

type HostMacOf = (allocation: Allocation) => string;

/** Remembers: it is a hash, and asked for at every look while a pod has no link. */
function createHostMacs(): HostMacOf {
  const macs = new WeakMap<Allocation, string>();
  return (allocation) => {
    const known = macs.get(allocation);
    if (known !== undefined) return known;
    const [namespace = '', name = ''] = allocation.pod.split('/');
    const mac = hostLinkMac({ namespace, name });
    macs.set(allocation, mac);
    return mac;
  };
}

/** By the links' names. */
interface Seen {
  readonly links: ReadonlyMap<string, LinkView>;
  readonly routed: ReadonlyMap<string, ReadonlySet<Ip>>;
  readonly hostMacOf: HostMacOf;
}

/** A pod without a link is no matter of repair: it is not wired yet, or gone; unless the link was renamed. */
function isHarmed(pod: Allocation, { links, routed, hostMacOf }: Seen): boolean {
  const link = links.get(pod.hostLink);
  if (link === undefined) return [...links.values()].some(({ mac }) => mac === hostMacOf(pod));
  return !link.up || pod.addresses.some((ip) => routed.get(pod.hostLink)?.has(ip) !== true);
}

/** False: it could not be done, and was logged. */
async function repair(context: AgentContext, pod: Allocation, hostMac: string): Promise<boolean> {
  const { store, stack, shared, log } = context;
  const { hostLink, addresses } = pod;
  if (shared.accepted === undefined || allocationOf(store.ledger(), pod.sandbox) !== pod) return true;
  const links = await stack.listLinks();
  if (links.kind !== 'ok') return false;
  const pods = [{ hostLink, hostMac, addresses }];
  const imdsAllowed = [...shared.imdsOpen];
  const { host } = desiredHost({ spec: shared.accepted.spec, links: links.value, pods, imdsAllowed });
  const applied = await stack.applyHost(host);
  if (applied.kind !== 'ok') {
    log.warn('a pod is not repaired yet', { pod: pod.pod, failure: describeStackOutcome(applied) });
    return false;
  }
  if (applied.value.length > 0) {
    log.mark('pod-repaired');
    log.warn('another program took from a pod what it needs; it is put back', {
      pod: pod.pod,
      changes: applied.value,
    });
  }
  return true;
}
