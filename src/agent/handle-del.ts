// CNI DEL: succeeds on anything that is missing, any number of times (CNI-2).

import { parseIp } from '../domain/address/parse-ip.ts';
import { hostLinkName } from '../domain/datapath/desired-pod.ts';
import { type Allocation, allocationOf, sandboxId } from '../domain/ipam/ledger.ts';
import { isOfEni } from '../domain/ipam/pod-addresses.ts';
import type { CniReply, DelRequest } from '../protocol/agent-socket/cni-message.ts';
import { CNI_ERROR } from '../protocol/cni/cni-error.ts';
import { resultAddresses } from '../protocol/cni/cni-result.ts';
import type { AgentContext } from './agent-context.ts';
import { done, errorReply, tryAgainLater } from './cni-replies.ts';
import { describeStackOutcome } from './describe-stack-outcome.ts';
import { isAdopted, isHeldLink } from './recovery.ts';
import { releasePod } from './release-pod.ts';

/** To be called under the pod's lock. */
export async function handleDel(context: AgentContext, request: DelRequest): Promise<CniReply> {
  const { store, shared, log } = context;
  if (!shared.loaded) {
    return tryAgainLater('the agent is starting', store.failure() ?? 'the journal is being read');
  }
  const allocation = allocationOf(store.ledger(), request.sandbox) ?? adoptedAllocation(context, request);
  if (allocation === undefined) return removeUnknown(context, request);
  const result = await releasePod(context, allocation);
  if (!result.ok)
    return errorReply(CNI_ERROR.internal, `pod ${allocation.pod} is not taken down yet`, result.error);
  log.info('address released', { pod: allocation.pod, addresses: allocation.addresses });
  return done;
}

/** A pod that was adopted after its journal was lost is known by its host link alone. */
function adoptedAllocation(context: AgentContext, request: DelRequest): Allocation | undefined {
  const hostLink = hostLinkOf(context, request);
  return [...context.store.ledger().allocations.values()].find(
    (allocation) => isAdopted(allocation) && allocation.hostLink === hostLink,
  );
}

function hostLinkOf({ shared }: AgentContext, { pod }: DelRequest): string | undefined {
  const settings = shared.accepted?.spec.settings;
  return pod === undefined || settings === undefined ? undefined : hostLinkName(settings.vethPrefix, pod);
}

/**
 * A sandbox without an allocation: DEL again, or of an ADD that failed. The result of its ADD says what there may be;
 * the link's name is worked out, not taken from there, and nothing is touched that another allocation owns by now.
 */
async function removeUnknown(context: AgentContext, request: DelRequest): Promise<CniReply> {
  const { store, stack, shared, clock, log } = context;
  const hostLink = hostLinkOf(context, request);
  const ledger = store.ledger();
  if (hostLink === undefined || request.prevResult === undefined || isHeldLink(ledger, hostLink)) return done;
  const enis = shared.accepted?.spec.enis ?? [];
  const addresses = resultAddresses(request.prevResult)
    .map((text) => parseIp(text))
    .flatMap((parsed) => (parsed.ok ? [parsed.value] : []))
    .filter((ip) => enis.some((eni) => isOfEni(eni, ip)) && !ledger.holders.has(ip));
  if (addresses.length === 0) return done;
  log.mark('late-del');
  const outcome = await stack.unwirePod({ hostLink, addresses });
  if (outcome.kind !== 'ok') {
    const what = `sandbox ${sandboxId(request.sandbox)} is not taken down yet`;
    return errorReply(CNI_ERROR.internal, what, describeStackOutcome(outcome));
  }
  // Whether the pod lived until now is not known, so its address rests from now on.
  const at = clock.now();
  const free = addresses.filter((ip) => !store.ledger().holders.has(ip));
  const recorded = await store.record([{ type: 'Released', at, sandbox: request.sandbox, addresses: free }]);
  return recorded.ok ? done : tryAgainLater('the release could not be recorded', recorded.error);
}
