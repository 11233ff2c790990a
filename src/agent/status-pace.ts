// How soon a change has to be in NodeNetwork.status: at once where somebody waits for it, else a few times a minute at most.

import type { NodeNetworkStatus } from '../domain/ipam/node-network.ts';
import { isSameStatus } from '../domain/ipam/node-status.ts';
import type { AgentContext } from './agent-context.ts';
import { agentReady } from './agent-ready.ts';
import type { StatusChange } from './status-change.ts';

/** Changes within this time are one write: a rollout of thirty pods is one or two, milliseconds. */
const BATCH_MS = 300;
/** Between two writes that nobody waits for, milliseconds: a node whose pods start one by one tells of many at once. */
const GAP_MS = 3_000;
/** The controller seldom waits for a generation by itself: the next change, which is mostly near, tells of it as well. */
const GENERATION_MS = 15_000;
/**
 * A startup taint waits for the newest generation, so while ENIs come soon after each other each is told of. Once nothing has
 * been told for so long the taint has gone, or is not waiting for the agent; milliseconds.
 */
const COMING_UP_MS = 30_000;
/** A generation that nobody waits for is told with the pods that start under it, or after so long, milliseconds. */
const LATE_GENERATION_MS = 300_000;

/** The object is compared again at least this often, milliseconds. */
export const RESYNC_MS = 30_000;

/**
 * In how many milliseconds the status should be looked at for the sake of the change. A generation may be due later than
 * that: see `canWait`.
 */
export function planStatus(context: AgentContext, change: StatusChange): number {
  const { shared, clock } = context;
  const delayMs = statusDelayMs(context, change);
  if (change !== 'Usage') {
    const dueAt = clock.bootNow() + delayMs;
    const isTold = shared.accepted?.generation === shared.record?.status.observedGeneration;
    // One that is not told yet is due no later for another one that comes.
    shared.generationDueAt = isTold ? undefined : Math.min(shared.generationDueAt ?? dueAt, dueAt);
  }
  return Math.min(delayMs, RESYNC_MS);
}

/** In how many milliseconds the change should be written. */
function statusDelayMs(context: AgentContext, change: StatusChange): number {
  const { shared, clock } = context;
  if (isAwaited(context)) return BATCH_MS;
  if (isReadinessNews(context)) return isPassing(context) && podsMayWait(context) ? GAP_MS : BATCH_MS;
  const { statusWrittenAt } = shared;
  const isUp = statusWrittenAt !== undefined && clock.bootNow() - statusWrittenAt >= COMING_UP_MS;
  if (change !== 'Usage' && isUp) return LATE_GENERATION_MS;
  if (change === 'Generation') return GENERATION_MS;
  const restMs = statusWrittenAt === undefined ? 0 : statusWrittenAt + GAP_MS - clock.bootNow();
  return Math.max(BATCH_MS, restMs);
}

/** Whether the status differs from what is told in nothing but a generation that can wait. */
export function canWait({ shared, clock }: AgentContext, status: NodeNetworkStatus): boolean {
  const { record, generationDueAt } = shared;
  if (record === undefined || generationDueAt === undefined || clock.bootNow() >= generationDueAt)
    return false;
  const { observedGeneration } = record.status;
  return isSameStatus(record.status, { ...status, observedGeneration });
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
