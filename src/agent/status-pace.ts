// How soon a change has to be in NodeNetwork.status: at once where somebody waits for it, else a few times a minute at most.

import type { AgentContext } from './agent-context.ts';
import { agentReady } from './agent-ready.ts';
import type { StatusChange } from './status-change.ts';

/** Changes within this time are one write: a rollout of thirty pods is one or two, milliseconds. */
const BATCH_MS = 300;
/** Between two writes that nobody waits for, milliseconds: a node whose pods start one by one tells of many at once. */
const GAP_MS = 3_000;
/** The controller seldom waits for a generation by itself: the next change, which is mostly near, tells of it as well. */
const GENERATION_MS = 15_000;

/** In how many milliseconds the change should be written. */
export function statusDelayMs(context: AgentContext, change: StatusChange): number {
  const { shared, clock } = context;
  if (isAwaited(context)) return BATCH_MS;
  if (isReadinessNews(context)) return isPassing(context) && podsMayWait(context) ? GAP_MS : BATCH_MS;
  if (change === 'Generation') return GENERATION_MS;
  const { statusWrittenAt } = shared;
  const restMs = statusWrittenAt === undefined ? 0 : statusWrittenAt + GAP_MS - clock.bootNow();
  return Math.max(BATCH_MS, restMs);
}

/** Whether the controller, or a person, is held up by what the object says. */
function isAwaited({ shared: { record } }: AgentContext): boolean {
  if (record === undefined) return false;
  const { spec, status } = record;
  const isGivingBack =
    status.withdrawn.length > 0 || spec.enis.some(({ withdrawing }) => withdrawing.length > 0);
  // Where addresses are short, each one that is told of counts.
  const isShort = status.conditions.some(
    ({ type, status: has }) => type === 'AddressesAvailable' && has === 'False',
  );
  return isGivingBack || isShort;
}

/** Whether the object does not say yet whether this agent serves. */
export function isReadinessNews(context: AgentContext): boolean {
  const told = context.shared.record?.status.conditions.find(({ type }) => type === 'AgentReady');
  return told?.status !== agentReady(context).status;
}

/** Whether the agent comes up in the ordinary way; what has gone wrong is told at once. */
function isPassing(context: AgentContext): boolean {
  const { reason } = agentReady(context);
  return reason === 'Starting' || reason === 'Serving';
}

/**
 * Whether pods of the node have no address yet, as far as it is known which there are: what they are about to get is told
 * in the same write.
 */
function podsMayWait({ shared, store }: AgentContext): boolean {
  if (!shared.podsHeard) return true;
  const served = new Set([...store.ledger().allocations.values()].map(({ pod }) => pod));
  return [...shared.pods.values()].some(
    ({ key, hostNetwork, finished, deleting }) => !hostNetwork && !finished && !deleting && !served.has(key),
  );
}
