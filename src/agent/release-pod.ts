// Taking a pod down: its link and routes, then its allocation.

import type { Allocation } from '../domain/ipam/ledger.ts';
import { err, type Result } from '../domain/result.ts';
import type { AgentContext } from './agent-context.ts';
import { describeStackOutcome } from './describe-stack-outcome.ts';
import { released } from './ledger-store.ts';

/**
 * Unwires the pod, then journals the release; the address rests from then on. If the kernel refuses, the address stays
 * held: it may be in use still. `err` says which step failed.
 */
export async function releasePod(
  context: AgentContext,
  allocation: Allocation,
): Promise<Result<void, string>> {
  const { hostLink, addresses } = allocation;
  const unwired = await context.stack.unwirePod({ hostLink, addresses });
  if (unwired.kind !== 'ok') {
    context.log.mark('unwiring-failed');
    return err(describeStackOutcome(unwired));
  }
  return context.store.record([released(allocation, context.clock.now())]);
}
