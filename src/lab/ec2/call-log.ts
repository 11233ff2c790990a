// What was asked of the simulated EC2, and what came of it: for figures, checkers and failure reports.

import type { Ec2Action } from './token-bucket.ts';

export interface LoggedCall {
  /** Arrival at EC2, milliseconds since the epoch. */
  readonly at: number;
  readonly client: string;
  readonly action: Ec2Action;
  /** The id that the call is about: an ENI's, an instance's, of a create the subnet's; empty when it lists. */
  readonly subject: string;
  /** What EC2 did: `ok`, or its error code, or `lost` for a request that never arrived. */
  readonly result: string;
  /** False: the answer was lost on its way back. */
  readonly answered: boolean;
}

export interface CallLog {
  add(call: LoggedCall): void;
  /** The last calls, oldest first, at most CALL_LOG_MAX of them. */
  recent(): readonly LoggedCall[];
  /** Number of calls by action and result, since the start. */
  counts(): readonly { readonly action: Ec2Action; readonly result: string; readonly count: number }[];
  /** Calls since the start. */
  total(): number;
  /** Calls that change something and took effect, since the start. */
  writeCount(): number;
}

const CALL_LOG_MAX = 20_000;

export const isWrite = (action: Ec2Action): boolean => !action.startsWith('Describe');

export function createCallLog(): CallLog {
  const ring: LoggedCall[] = [];
  // action -> result -> count
  const counts = new Map<Ec2Action, Map<string, number>>();
  let total = 0;
  let writeCount = 0;

  return {
    add: (call) => {
      ring[total % CALL_LOG_MAX] = call;
      total += 1;
      if (call.result === 'ok' && isWrite(call.action)) writeCount += 1;
      const byResult = counts.get(call.action) ?? new Map<string, number>();
      counts.set(call.action, byResult);
      byResult.set(call.result, (byResult.get(call.result) ?? 0) + 1);
    },
    recent: () => {
      const oldest = total % CALL_LOG_MAX;
      return total <= CALL_LOG_MAX ? [...ring] : [...ring.slice(oldest), ...ring.slice(0, oldest)];
    },
    counts: () =>
      [...counts].flatMap(([action, byResult]) =>
        [...byResult].map(([result, count]) => ({ action, result, count })),
      ),
    total: () => total,
    writeCount: () => writeCount,
  };
}
