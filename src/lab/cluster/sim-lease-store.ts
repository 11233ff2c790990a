// The lease of the simulated cluster: one object, kept by the API server with all its troubles.

import type { Lease, SeenLease } from '../../domain/leadership/lease.ts';
import { err, ok } from '../../domain/result.ts';
import type { Clock } from '../../ports/clock.ts';
import type { LeaseStore } from '../../ports/leadership.ts';
import type { Random } from '../../ports/random.ts';
import { chance } from '../kernel/draw.ts';
import { type ApiServer, reading } from './api-server.ts';
import type { ClusterProfile, FaultHearer } from './cluster-profile.ts';

/** The lease as it really is. */
export interface LeaseTruth {
  /** Of the last write; empty when it was given up, undefined when there is no lease. */
  readonly holder: string | undefined;
  /** When its holder last wrote it, by the world's clock; milliseconds since the epoch. */
  readonly writtenAt: number;
}

export interface SimLease {
  /** `clock` is the caller's own, by which it hears answers. */
  store(clock: Clock): LeaseStore;
  truth(): LeaseTruth;
}

export interface SimLeaseOptions {
  readonly server: ApiServer;
  /** The world's clock. */
  readonly clock: Clock;
  readonly random: Random;
  readonly profile: () => ClusterProfile;
  readonly onFault: FaultHearer;
}

export function createSimLease({ server, clock, random, profile, onFault }: SimLeaseOptions): SimLease {
  let stored: SeenLease | undefined;
  let versionCount = 0;
  let writtenAt = 0;
  const put = (lease: Lease): SeenLease => {
    versionCount += 1;
    stored = { lease, version: String(versionCount) };
    return stored;
  };
  return {
    store: (callerClock) => ({
      read: () =>
        server.request(
          callerClock,
          'lease:read',
          reading(() => stored),
        ),
      write: (lease, over) =>
        server.request(callerClock, 'lease:write', () => {
          if (stored !== undefined && chance(random, profile().conflictOdds)) {
            onFault('conflictOdds');
            put(stored.lease);
          }
          if (stored?.version !== over) {
            const kind = over === undefined ? 'already-exists' : 'conflict';
            return err({ kind, message: 'the lease is not the one that was read' });
          }
          writtenAt = clock.now();
          return ok(put(lease));
        }),
    }),
    truth: () => ({ holder: stored?.lease.holder, writtenAt }),
  };
}
