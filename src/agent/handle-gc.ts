// CNI GC: takes down every pod that the runtime does not list (CNI-3).

import { type Allocation, allocationOf, type SandboxId, sandboxId } from '../domain/ipam/ledger.ts';
import { ok, type Result } from '../domain/result.ts';
import type { CniReply, GcRequest } from '../protocol/agent-socket/cni-message.ts';
import { CNI_ERROR } from '../protocol/cni/cni-error.ts';
import { type AgentContext, notServing } from './agent-context.ts';
import { done, errorReply, tryAgainLater } from './cni-replies.ts';
import type { KeyedLock } from './keyed-lock.ts';
import { isAdopted, recoverPods } from './recovery.ts';
import { releasePod } from './release-pod.ts';

export interface GcOptions {
  readonly lock: KeyedLock;
  /** Whether an ADD or DEL is under way. The runtime must not let that be (CNI specification, section 3). */
  readonly isBusy: () => boolean;
}

export async function handleGc(
  context: AgentContext,
  options: GcOptions,
  request: GcRequest,
): Promise<CniReply> {
  // Before journal and kernel have been read and compared, nothing is known to be superfluous (RST-1).
  const why = notServing(context);
  if (why !== undefined) return tryAgainLater('the agent is starting', why);
  const valid = new Set<SandboxId>(request.validAttachments.map(sandboxId));
  // Those that exist now: what an ADD makes from here on cannot be in the runtime's list.
  const stale = [...context.store.ledger().allocations.values()].filter(
    (allocation) => !valid.has(sandboxId(allocation.sandbox)) && !isAdopted(allocation),
  );
  const failures: string[] = [];
  for (const allocation of stale) {
    const result = await options.lock(allocation.pod, () => collect(context, allocation));
    if (!result.ok) failures.push(`${allocation.pod}: ${result.error}`);
  }
  if (!options.isBusy()) {
    const leftovers = await recoverPods(context);
    if (!leftovers.ok) failures.push(leftovers.error);
  }
  return failures.length === 0
    ? done
    : errorReply(CNI_ERROR.internal, 'not everything could be collected', failures.join('; '));
}

async function collect(context: AgentContext, allocation: Allocation): Promise<Result<void, string>> {
  // A DEL may have come first, while this waited for the pod's lock.
  if (allocationOf(context.store.ledger(), allocation.sandbox) === undefined) return ok(undefined);
  context.log.mark('pod-collected');
  return releasePod(context, allocation);
}
