// The condition AgentReady: whether this node's agent serves, and if not, why.

import type { Condition } from '../domain/ipam/node-network.ts';
import { type AgentContext, notServing } from './agent-context.ts';

/** The condition as it is now, without its time. */
export function agentReady(context: AgentContext): Pick<Condition, 'status' | 'reason' | 'message'> {
  const starting = notServing(context);
  if (starting !== undefined) return { status: 'False', reason: 'Starting', message: starting };
  const journal = context.store.failure();
  if (journal !== undefined) return { status: 'False', reason: 'JournalFailed', message: journal };
  const host = context.shared.hostFailure;
  if (host !== undefined) return { status: 'False', reason: 'HostNotApplied', message: host };
  return { status: 'True', reason: 'Serving', message: 'pods get addresses and are wired' };
}
