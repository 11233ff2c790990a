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
  if (change === 'Generation') return GENERATION_MS;
  const { statusWrittenAt } = shared;
  const restMs = statusWrittenAt === undefined ? 0 : statusWrittenAt + GAP_MS - clock.bootNow();
  return Math.max(BATCH_MS, restMs);
}

/** Whether the controller, or a person, is held up by what the object says. */
function isAwaited(context: AgentContext): boolean {
  const { record } = context.shared;
  if (record === undefined) return false;
  const { spec, status } = record;
  const isGivingBack =
    status.withdrawn.length > 0 || spec.enis.some(({ withdrawing }) => withdrawing.length > 0);
  const has = (type: string): string | undefined =>
    status.conditions.find((one) => one.type === type)?.status;
  // Where addresses are short, each one that is told of counts.
  const isShort = has('AddressesAvailable') === 'False';
  return isGivingBack || isShort || has('AgentReady') !== agentReady(context).status;
}
