// Leadership: the lease that controllers contend for, and what the one that holds it may do.

import type { Lease, SeenLease } from '../domain/leadership/lease.ts';
import type { ClusterOutcome } from './cluster.ts';

/** Where the lease lies. */
export interface LeaseStore {
  /** From the store itself, not from a cache. `ok` with `undefined`: there is none. */
  read(): Promise<ClusterOutcome<SeenLease | undefined>>;
  /** `over` is the version that it replaces, `undefined` when there is none: fails with `conflict` or `already-exists` else. */
  write(lease: Lease, over: string | undefined): Promise<ClusterOutcome<SeenLease>>;
}

/** One uninterrupted time as leader. */
export interface Term {
  /**
   * Whether a call sent now ends before anybody else can lead. Asked right before each call: a process that was stopped
   * for a minute finds out by asking. Once false, false for ever.
   */
  isHeld(): boolean;
  /** The outcome of a call is unknown: it may still be on its way, so whoever stops now does not give the lease up. */
  leftOpen(): void;
}
