// NodeNetwork.status as the agent writes it: what the ledger says, beside the conditions of others.

import type { Ip } from '../address/ip.ts';
import type { Ledger } from './ledger.ts';
import type { Condition, NodeNetworkStatus, UsedAddress } from './node-network.ts';

export interface StatusInput {
  readonly ledger: Ledger;
  /** Withdrawn addresses whose record is not durable yet: not to be listed, a crash would forget them. */
  readonly undurable: ReadonlySet<Ip>;
  readonly generation: number;
  /** The agent's own condition, without its time. */
  readonly ready: Pick<Condition, 'status' | 'reason' | 'message'>;
  /** The status that is being replaced. */
  readonly previous: NodeNetworkStatus;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** The whole status. Lists are sorted by text, so that the same ledger always gives the same status. */
export function statusOf(input: StatusInput): NodeNetworkStatus {
  const { ledger, undurable, generation, previous } = input;
  const used = [...ledger.allocations.values()].flatMap((allocation) =>
    allocation.addresses.map((ip): UsedAddress => ({ ip, pod: allocation.pod })),
  );
  return {
    observedGeneration: generation,
    used: used.sort((a, b) => compareText(a.ip, b.ip)),
    cooling: [...ledger.cooling.keys()].sort(compareText),
    withdrawn: [...ledger.withdrawn.keys()].filter((ip) => !undurable.has(ip)).sort(compareText),
    conditions: [
      ...previous.conditions.filter((condition) => condition.type !== 'AgentReady'),
      agentReady(input),
    ],
  };
}

/** Pods that hold an address: one of both families uses one grant, as its IPv6 address follows from the other. */
export const servedPodCount = ({ used }: Pick<NodeNetworkStatus, 'used'>): number =>
  new Set(used.map(({ pod }) => pod)).size;

function agentReady({ ready, previous, now }: StatusInput): Condition {
  const before = previous.conditions.find((condition) => condition.type === 'AgentReady');
  const lastTransitionAt = before?.status === ready.status ? before.lastTransitionAt : now;
  return { type: 'AgentReady', ...ready, lastTransitionAt };
}

/** Whether writing `next` over `previous` would change anything. */
export function isSameStatus(previous: NodeNetworkStatus, next: NodeNetworkStatus): boolean {
  return (
    previous.observedGeneration === next.observedGeneration &&
    previous.used.length === next.used.length &&
    previous.used.every(({ ip, pod }, n) => ip === next.used[n]?.ip && pod === next.used[n]?.pod) &&
    isSameList(previous.cooling, next.cooling) &&
    isSameList(previous.withdrawn, next.withdrawn) &&
    previous.conditions.length === next.conditions.length &&
    // Order says nothing among conditions: their writers append.
    previous.conditions.every((one) => next.conditions.some((other) => isSameCondition(one, other)))
  );
}

const isSameList = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((text, n) => text === b[n]);

const isSameCondition = (a: Condition, b: Condition): boolean =>
  a.type === b.type &&
  a.status === b.status &&
  a.reason === b.reason &&
  a.message === b.message &&
  a.lastTransitionAt === b.lastTransitionAt;
