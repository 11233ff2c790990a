// The cluster's one purse of EC2 API tokens: a bucket per action, halved on a throttle and recovering slowly.

import type { Clock } from '../ports/clock.ts';

export type BudgetAction =
  | 'CreateNetworkInterface'
  | 'DeleteNetworkInterface'
  | 'ModifyNetworkInterfaceAttribute'
  | 'AssignPrivateIpAddresses'
  | 'UnassignPrivateIpAddresses'
  | 'AttachNetworkInterface'
  | 'DetachNetworkInterface'
  | 'Describe';

/** Bucket size and refill per second of each action (ec2.md, Throttling). */
const LIMITS: Readonly<Record<BudgetAction, { readonly size: number; readonly perSecond: number }>> = {
  CreateNetworkInterface: { size: 100, perSecond: 5 },
  DeleteNetworkInterface: { size: 100, perSecond: 5 },
  ModifyNetworkInterfaceAttribute: { size: 100, perSecond: 5 },
  AssignPrivateIpAddresses: { size: 100, perSecond: 5 },
  UnassignPrivateIpAddresses: { size: 100, perSecond: 5 },
  AttachNetworkInterface: { size: 50, perSecond: 5 },
  DetachNetworkInterface: { size: 50, perSecond: 5 },
  Describe: { size: 100, perSecond: 20 },
};

/** A throttled action never falls below this share of its documented rate. */
const RATE_SHARE_MIN = 1 / 64;
/** Share of the documented rate that an action regains per second after a throttle. */
const RECOVERY_PER_SECOND = 1 / 60;

interface Bucket {
  tokens: number;
  rateShare: number;
  at: number;
}

export interface Budget {
  /** Takes a token, or answers in how many milliseconds one will be there. */
  take(
    action: BudgetAction,
  ): { readonly granted: true } | { readonly granted: false; readonly waitMs: number };
  /** EC2 said RequestLimitExceeded: others draw on the same bucket. */
  throttled(action: BudgetAction): void;
}

/** A budget with full buckets, as EC2's are after a quiet time. */
export function createBudget(clock: Clock): Budget {
  const buckets = new Map<BudgetAction, Bucket>(); // action -> its bucket
  const bucketOf = (action: BudgetAction): Bucket => {
    const now = clock.now();
    const { size, perSecond } = LIMITS[action];
    const bucket = buckets.get(action) ?? { tokens: size, rateShare: 1, at: now };
    buckets.set(action, bucket);
    // A clock that jumps back refills nothing.
    const seconds = Math.max(0, now - bucket.at) / 1000;
    bucket.rateShare = Math.min(1, bucket.rateShare + seconds * RECOVERY_PER_SECOND);
    bucket.tokens = Math.min(size, bucket.tokens + seconds * perSecond * bucket.rateShare);
    bucket.at = now;
    return bucket;
  };
  return {
    take: (action) => {
      const bucket = bucketOf(action);
      if (bucket.tokens >= 1) {
        bucket.tokens -= 1;
        return { granted: true };
      }
      const perSecond = LIMITS[action].perSecond * bucket.rateShare;
      return { granted: false, waitMs: Math.ceil(((1 - bucket.tokens) / perSecond) * 1000) };
    },
    throttled: (action) => {
      const bucket = bucketOf(action);
      bucket.tokens = 0;
      bucket.rateShare = Math.max(RATE_SHARE_MIN, bucket.rateShare / 2);
    },
  };
}
