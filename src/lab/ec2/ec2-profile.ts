// How the simulated EC2 behaves: speeds, and the odds of its troubles.

/** Times in milliseconds, ranges with both ends included; odds from 0 (never) to 1 (always), per call unless said otherwise. */
export interface Ec2Profile {
  /** One call's way to EC2 and back. */
  readonly latencyMinMs: number;
  readonly latencyMaxMs: number;
  readonly attachMinMs: number;
  readonly attachMaxMs: number;
  /** Odds, per attach, that it takes `attachSlowMs` instead. */
  readonly attachSlowOdds: number;
  readonly attachSlowMs: number;
  readonly detachMinMs: number;
  readonly detachMaxMs: number;
  /** Odds, per detach, that it hangs for `detachStuckMs`. */
  readonly detachStuckOdds: number;
  readonly detachStuckMs: number;
  /** From TerminateInstances to `terminated`. */
  readonly terminateMs: number;
  /** Whether the token buckets are enforced. */
  readonly tokenBuckets: boolean;
  /** Tokens per second that other tools in the account take from every bucket. */
  readonly otherSpendersPerSecond: number;
  /** RequestLimitExceeded beyond what the buckets say. */
  readonly throttleOdds: number;
  /** HTTP 500 before any effect. */
  readonly serverErrorOdds: number;
  /** The request never arrives: outcome unknown, no effect. */
  readonly lostRequestOdds: number;
  /** The request takes effect seconds after its caller has given up. */
  readonly lateRequestOdds: number;
  /** The request takes effect and its answer never arrives: outcome unknown. */
  readonly lostAnswerOdds: number;
  /** After which a client gives up waiting for an answer. */
  readonly timeoutMs: number;
  /** Odds, per describe, that it answers from the past, up to `staleMs` ago (at most STALENESS_MAX_MS). */
  readonly staleOdds: number;
  readonly staleMs: number;
  /** Of a stale describe: whether each object is as old as it likes, rather than all of one moment. */
  readonly stalePerObject: boolean;
  /** Odds, per call on an ENI younger than `notFoundMs`, that EC2 does not know it yet. */
  readonly notFoundOdds: number;
  readonly notFoundMs: number;
  /** Addresses in an order drawn by seed; the lowest free one first otherwise. */
  readonly randomAddresses: boolean;
}

/** No describe is older than this, whatever the profile says: what an overlay of own writes may rely on. */
export const STALENESS_MAX_MS = 60_000;

/** EC2 on a good day, as ec2.md has it. */
export const calmEc2: Ec2Profile = {
  latencyMinMs: 20,
  latencyMaxMs: 400,
  attachMinMs: 1000,
  attachMaxMs: 2000,
  attachSlowOdds: 0,
  attachSlowMs: 10_000,
  detachMinMs: 1000,
  detachMaxMs: 5000,
  detachStuckOdds: 0,
  detachStuckMs: 300_000,
  terminateMs: 20_000,
  tokenBuckets: true,
  otherSpendersPerSecond: 0,
  throttleOdds: 0,
  serverErrorOdds: 0,
  lostRequestOdds: 0,
  lateRequestOdds: 0,
  lostAnswerOdds: 0,
  timeoutMs: 10_000,
  staleOdds: 0,
  staleMs: 15_000,
  stalePerObject: false,
  notFoundOdds: 0,
  notFoundMs: 5000,
  randomAddresses: true,
};

/** For people who watch: quick, and with addresses that are easy to follow. */
export const demoEc2: Ec2Profile = {
  ...calmEc2,
  latencyMaxMs: 60,
  detachMaxMs: 2000,
  terminateMs: 2000,
  randomAddresses: false,
};
