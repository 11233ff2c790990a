// The cluster's one purse of EC2 API tokens: a bucket per action, halved on a throttle and recovering slowly. Who finds
// a bucket empty gets in line, by urgency and then by arrival, and is called when a token is there for it.

import type { Clock, Timer } from '../ports/clock.ts';
import { createLine, type Line, type Priority } from './budget-line.ts';

export type BudgetAction =
  | 'CreateNetworkInterface'
  | 'DeleteNetworkInterface'
  | 'ModifyNetworkInterfaceAttribute'
  | 'AssignPrivateIpAddresses'
  | 'UnassignPrivateIpAddresses'
  | 'AssignIpv6Addresses'
  | 'UnassignIpv6Addresses'
  | 'AttachNetworkInterface'
  | 'DetachNetworkInterface'
  | 'Describe';

/**
 * Documented bucket size and refill per second of each action.
 * https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-throttling.html
 */
const LIMITS: Readonly<Record<BudgetAction, { readonly size: number; readonly perSecond: number }>> = {
  CreateNetworkInterface: { size: 100, perSecond: 5 },
  DeleteNetworkInterface: { size: 100, perSecond: 5 },
  ModifyNetworkInterfaceAttribute: { size: 100, perSecond: 5 },
  AssignPrivateIpAddresses: { size: 100, perSecond: 5 },
  UnassignPrivateIpAddresses: { size: 100, perSecond: 5 },
  AssignIpv6Addresses: { size: 100, perSecond: 5 },
  UnassignIpv6Addresses: { size: 100, perSecond: 5 },
  AttachNetworkInterface: { size: 50, perSecond: 5 },
  DetachNetworkInterface: { size: 50, perSecond: 5 },
  Describe: { size: 100, perSecond: 20 },
};
export const BUDGET_ACTIONS = Object.keys(LIMITS) as readonly BudgetAction[];

/**
 * Tokens of each bucket that are never spent. A call arrives at EC2 later than its token was taken, the first one too,
 * so EC2's bucket begins to refill that much later than ours: without a reserve the burst would end in a throttle.
 */
const HEADROOM_TOKENS = 2;
/** A throttled action never falls below this share of its documented rate. */
const RATE_SHARE_MIN = 1 / 64;
/** Share of the documented rate that an action regains per second after a throttle. */
const RECOVERY_PER_SECOND = 1 / 60;
/** Whoever is called and does not come for its token within this time wants it no more. */
const CALL_LIFE_MS = 5_000;

/** Who wants a token, and how urgently. One key waits for one action at a time. */
export interface Wish {
  readonly key: string;
  readonly priority: Priority;
}

/** What there is to know of one bucket. */
export interface BucketFacts {
  readonly action: BudgetAction;
  readonly tokens: number;
  /** Of the documented rate; below 1 after a throttle. */
  readonly rateShare: number;
  readonly grantedCount: number;
  readonly throttledCount: number;
  /** Time that those who got a token had waited for it, summed up. */
  readonly waitedMs: number;
  readonly waiting: ReadonlyMap<Priority, number>;
}

export interface Budget {
  /** Takes a token, or gets the key in line: it is called by `onTurn` when its token is there, and then takes again. */
  take(action: BudgetAction, wish: Wish): boolean;
  /** Takes a token that nobody waits for; else nobody gets in line. */
  takeFree(action: BudgetAction): boolean;
  /** The key wants nothing any more. */
  forget(key: string): void;
  /** For the one reader: takes a token, or answers in how many milliseconds one will be there. */
  takeRead(): { readonly granted: true } | { readonly granted: false; readonly waitMs: number };
  /** Further requests of a call that was granted, such as pages: they are paid after the fact. */
  charge(action: BudgetAction, count: number): void;
  /** EC2 said RequestLimitExceeded to a call begun at `sentAt`: others draw on the same bucket. */
  throttled(action: BudgetAction, sentAt: number): void;
  facts(): readonly BucketFacts[];
}

interface Bucket {
  readonly action: BudgetAction;
  readonly line: Line;
  tokens: number;
  rateShare: number;
  refilledAt: number;
  throttledAt: number;
  timer: Timer | undefined;
  grantedCount: number;
  throttledCount: number;
  waitedMs: number;
}

export interface BudgetOptions {
  readonly clock: Clock;
  /** The key's token is there, for CALL_LIFE_MS. */
  readonly onTurn: (key: string) => void;
}

/** A budget with full buckets, as EC2's are after a quiet time. */
export function createBudget({ clock, onTurn }: BudgetOptions): Budget {
  const buckets = new Map(BUDGET_ACTIONS.map((action) => [action, createBucket(action, clock.now())]));
  const bucketOf = (action: BudgetAction): Bucket => {
    const bucket = buckets.get(action) ?? createBucket(action, clock.now());
    buckets.set(action, bucket);
    refill(bucket, clock.now());
    return bucket;
  };
  /** Calls as many of the line as there are tokens for, and looks again when there will be another. */
  const serve = (bucket: Bucket): void => {
    bucket.timer?.cancel();
    bucket.timer = undefined;
    const { line } = bucket;
    line.dropStale(clock.now() - CALL_LIFE_MS);
    for (const key of line.callUpTo(Math.floor(bucket.tokens), clock.now())) onTurn(key);
    if (line.isEmpty()) return;
    bucket.timer = clock.timer(nextLookMs(bucket), `budget of ${bucket.action}`, () => {
      refill(bucket, clock.now());
      serve(bucket);
    });
  };
  return {
    take: (action, { key, priority }) => {
      for (const other of buckets.values()) if (other.action !== action) other.line.leave(key);
      const bucket = bucketOf(action);
      const { line } = bucket;
      const since = line.comeFor(key);
      if (since !== undefined && bucket.tokens >= 1) return pay(bucket, clock.now() - since);
      const isFree = bucket.tokens - line.calledCount() >= 1 && !line.hasAhead(priority);
      if (isFree) return pay(bucket, clock.now() - (line.leave(key) ?? clock.now()));
      line.wait(key, priority, clock.now());
      // Even if somebody is waited for: the next token may be there long before a claim lapses.
      serve(bucket);
      return false;
    },
    takeFree: (action) => {
      const bucket = bucketOf(action);
      return bucket.tokens >= 1 && bucket.line.isEmpty() && pay(bucket, 0);
    },
    forget: (key) => {
      for (const bucket of buckets.values()) bucket.line.leave(key);
    },
    takeRead: () => {
      const bucket = bucketOf('Describe');
      if (bucket.tokens < 1) return { granted: false, waitMs: msUntil(bucket, 1) };
      return { granted: pay(bucket, 0) };
    },
    charge: (action, count) => {
      const bucket = bucketOf(action);
      bucket.tokens -= count;
      bucket.grantedCount += count;
    },
    throttled: (action, sentAt) => {
      const bucket = bucketOf(action);
      bucket.throttledCount += 1;
      // Calls that were under way when the rate was halved already say nothing new.
      if (sentAt < bucket.throttledAt) return;
      bucket.throttledAt = clock.now();
      bucket.tokens = Math.min(0, bucket.tokens);
      bucket.rateShare = Math.max(RATE_SHARE_MIN, bucket.rateShare / 2);
    },
    facts: () =>
      BUDGET_ACTIONS.map((action) => {
        const { tokens, rateShare, grantedCount, throttledCount, waitedMs, line } = bucketOf(action);
        return { action, tokens, rateShare, grantedCount, throttledCount, waitedMs, waiting: line.counts() };
      }),
  };
}

function pay(bucket: Bucket, waitedMs: number): true {
  bucket.tokens -= 1;
  bucket.grantedCount += 1;
  bucket.waitedMs += waitedMs;
  return true;
}

const createBucket = (action: BudgetAction, now: number): Bucket => ({
  action,
  line: createLine(),
  tokens: LIMITS[action].size - HEADROOM_TOKENS,
  rateShare: 1,
  refilledAt: now,
  throttledAt: -Infinity,
  timer: undefined,
  grantedCount: 0,
  throttledCount: 0,
  waitedMs: 0,
});

function refill(bucket: Bucket, now: number): void {
  const { size, perSecond } = LIMITS[bucket.action];
  // A clock that jumps back refills nothing.
  const seconds = Math.max(0, now - bucket.refilledAt) / 1000;
  bucket.rateShare = Math.min(1, bucket.rateShare + seconds * RECOVERY_PER_SECOND);
  bucket.tokens = Math.min(size - HEADROOM_TOKENS, bucket.tokens + seconds * perSecond * bucket.rateShare);
  bucket.refilledAt = now;
}

/** Milliseconds until the bucket holds `count` tokens at its present rate, rounded up. */
function msUntil(bucket: Bucket, count: number): number {
  const perSecond = LIMITS[bucket.action].perSecond * bucket.rateShare;
  return Math.ceil((Math.max(0, count - bucket.tokens) / perSecond) * 1000);
}

/** When to look at the line again, ms. With tokens to spare all are called: nothing is left but claims that may lapse. */
function nextLookMs(bucket: Bucket): number {
  const waitMs = msUntil(bucket, bucket.line.calledCount() + 1);
  return waitMs > 0 ? Math.min(waitMs, CALL_LIFE_MS) : CALL_LIFE_MS + 1;
}
