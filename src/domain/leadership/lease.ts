// Which controller leads: what to do about the lease now, and whether a call may still be sent under it.

/** A point in time on this machine, by two clocks that fail in different ways: a virtual machine that is halted stops the second. */
export interface Instant {
  /** Since the epoch; somebody may set it. */
  readonly wallMs: number;
  /** Since boot: never set, and goes on while the machine sleeps. */
  readonly bootMs: number;
}

export interface Lease {
  /** Identity of one life of one controller; empty when it was given up. */
  readonly holder: string;
  /** How long others wait after the last change that they saw, ms. */
  readonly durationMs: number;
  /** By the holder's clock, for people: nobody decides by them. Milliseconds since the epoch. */
  readonly acquiredAt: number;
  readonly renewedAt: number;
  /** How often the holder has changed. */
  readonly transitions: number;
}

/** The lease as read, and its version: a write succeeds over this version alone. */
export interface SeenLease {
  readonly lease: Lease;
  readonly version: string;
}

/** When this process first saw the lease's present version. */
export interface Observation {
  readonly version: string;
  readonly since: Instant;
}

export interface LeaseTimes {
  readonly durationMs: number;
  /** No call is sent so long after the last renewal was asked for. */
  readonly renewDeadlineMs: number;
  /** Between two tries. */
  readonly retryMs: number;
}

/**
 * Longest time from the decision to send an EC2 call to its end, ms: credentials, connection, and the call itself
 * (adapters/aws). What takes effect later than this was broken off, and its outcome is unknown to its sender, too.
 */
export const EC2_CALL_MAX_MS = 15_000;

/**
 * A leader that cannot renew sends no call after 25 s, and the last one has ended by 40 s; another begins after 45 s at the
 * earliest. So a new leader meets no call of the old one under way, and what such a call did is younger than the time for
 * which it distrusts describes (controller/eni-belief.ts).
 */
export const LEASE_TIMES: LeaseTimes = { durationMs: 45_000, renewDeadlineMs: 25_000, retryMs: 5_000 };

export type LeaseDecision =
  | { readonly do: 'Create' | 'TakeOver' | 'Renew'; readonly lease: Lease; readonly because: string }
  | { readonly do: 'Wait'; readonly because: string };

export interface LeaseQuestion {
  readonly identity: string;
  readonly times: LeaseTimes;
  /** `undefined`: there is no lease. */
  readonly seen: SeenLease | undefined;
  /** Of `seen`. */
  readonly observation: Observation | undefined;
  readonly now: Instant;
}

/** Pure: what `identity` does about the lease. Whose clock says what plays no part, only what was seen here, and when. */
export function decideLease({ identity, times, seen, observation, now }: LeaseQuestion): LeaseDecision {
  const { durationMs } = times;
  const mine = { holder: identity, durationMs, renewedAt: now.wallMs };
  if (seen === undefined) {
    const lease = { ...mine, acquiredAt: now.wallMs, transitions: 0 };
    return { do: 'Create', lease, because: 'there is no lease' };
  }
  const { lease } = seen;
  if (lease.holder === identity) {
    return { do: 'Renew', lease: { ...lease, ...mine }, because: 'it is ours' };
  }
  const taken = { ...mine, acquiredAt: now.wallMs, transitions: lease.transitions + 1 };
  if (lease.holder === '') return { do: 'TakeOver', lease: taken, because: 'it was given up' };
  // A holder of another release may have another duration: the longer one holds.
  const waitMs = Math.max(lease.durationMs, durationMs);
  const unchangedMs = observation?.version === seen.version ? certainlySince(observation.since, now) : 0;
  return unchangedMs >= waitMs
    ? { do: 'TakeOver', lease: taken, because: `${lease.holder} has not renewed it for ${unchangedMs} ms` }
    : { do: 'Wait', because: `${lease.holder} holds it` };
}

/**
 * Pure: whether a call sent now ends before anybody else can lead. `renewedSince` is the moment before the last renewal
 * that succeeded was sent: others saw it later.
 */
export const mayAct = (renewedSince: Instant, now: Instant, times: LeaseTimes): boolean =>
  longestSince(renewedSince, now) < times.renewDeadlineMs;

/** For giving up: the clock that says more. One set back, or halted, must not stretch a lease. */
export const longestSince = (since: Instant, now: Instant): number =>
  Math.max(now.wallMs - since.wallMs, now.bootMs - since.bootMs);

/**
 * For taking over: the clock that nobody sets, and that never says more than has passed. One set forward must not shorten
 * another's lease, and one set back must not keep a lease whose holder is gone from everybody for as long.
 */
const certainlySince = (since: Instant, now: Instant): number => now.bootMs - since.bootMs;
