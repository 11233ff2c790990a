// After a start: what the journal says of the pods, compared with what the kernel has.

import type { PodKey } from '../domain/ids.ts';
import type { Allocation, JournalRecord, Ledger } from '../domain/ipam/ledger.ts';
import { err, ok, type Result } from '../domain/result.ts';
import type { PodLinkView } from '../ports/network-stack.ts';
import type { AgentContext } from './agent-context.ts';
import { describeStackOutcome } from './describe-stack-outcome.ts';

/**
 * An allocation made from the kernel alone, for a pod that runs while the journal knows nothing: the journal is lost.
 * Its sandbox is not known: a DEL finds it by the pod's host link, and the reaper by its absence.
 */
const ADOPTED_PREFIX = 'adopted-';

export const isAdopted = ({ sandbox }: Allocation): boolean => sandbox.containerId.startsWith(ADOPTED_PREFIX);

/**
 * Pods in the journal whose link is gone keep their addresses for now (RST-1): that they have ended is the runtime's to
 * say, by DEL or GC, or else the reaper's. Links that the journal does not know are taken down, for only an unfinished ADD or DEL of ours leaves
 * such a link; but where the journal is empty, that proves nothing, and the pods behind the links are adopted (U28).
 */
export async function recoverPods(context: AgentContext): Promise<Result<void, string>> {
  const { shared, stack, log } = context;
  const vethPrefix = shared.accepted?.spec.settings.vethPrefix;
  if (vethPrefix === undefined) return ok(undefined);
  const views = await stack.listPodLinks(vethPrefix);
  if (views.kind !== 'ok') return err(`the pods' links cannot be listed: ${describeStackOutcome(views)}`);
  const unknown = views.value.filter((view) => isLeftover(context.store.ledger(), view));
  log.info('the journal is compared with the kernel', {
    allocationCount: context.store.ledger().allocations.size,
    linkCount: views.value.length,
    unknownCount: unknown.length,
  });
  const living = shared.startedEmpty ? unknown.filter(({ hostLink }) => hostLink !== '') : [];
  const adopted = await adoptAll(context, living);
  if (!adopted.ok) return adopted;
  for (const view of unknown) {
    const result = living.includes(view) ? adopted : await unwireLeftover(context, view);
    if (!result.ok) return result;
  }
  return ok(undefined);
}

/**
 * A link with our prefix that none of our routes leads to is another plugin's pod, such as the AWS CNI's, and not ours
 * to judge (CNI-3).
 */
const isLeftover = (ledger: Ledger, { hostLink, addresses }: PodLinkView): boolean =>
  addresses.length > 0 && !isHeldLink(ledger, hostLink);

async function unwireLeftover(context: AgentContext, view: PodLinkView): Promise<Result<void, string>> {
  const { store, stack, log } = context;
  const { hostLink } = view;
  const addresses = view.addresses.filter((ip) => !store.ledger().holders.has(ip));
  log.mark('leftover-unwired');
  log.warn('a link or route that no pod owns is taken down', { hostLink, addresses });
  const outcome = await stack.unwirePod({ hostLink, addresses });
  return outcome.kind === 'ok'
    ? ok(undefined)
    : err(`link ${hostLink} cannot be taken down: ${describeStackOutcome(outcome)}`);
}

/** All in one write: after a crash in between, those left out would pass for leftovers. */
async function adoptAll(context: AgentContext, views: readonly PodLinkView[]): Promise<Result<void, string>> {
  if (views.length === 0) return ok(undefined);
  const { store, log, clock } = context;
  log.mark('pod-adopted');
  log.warn('running pods are not in the journal; their addresses are kept', { links: views });
  const at = clock.now();
  return store.record(
    views.map((view): JournalRecord => ({ type: 'Allocated', at, allocation: adopt(view) })),
  );
}

const adopt = ({ hostLink, addresses }: PodLinkView): Allocation => ({
  sandbox: { containerId: `${ADOPTED_PREFIX}${hostLink}`, ifName: 'eth0' },
  pod: `unknown/${hostLink}` as PodKey,
  podUid: '',
  addresses,
  hostLink,
  netnsPath: '',
});

export const isHeldLink = (ledger: Ledger, hostLink: string): boolean =>
  [...ledger.allocations.values()].some((allocation) => allocation.hostLink === hostLink);
