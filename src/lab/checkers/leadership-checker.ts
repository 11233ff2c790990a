// LEAD-1: an EC2 write takes effect only while its controller holds the lease; and once nothing fails, one leads.

import type { LeaseTruth } from '../cluster/sim-lease-store.ts';
import { EC2_CALL_MAX_MS, LEASE_TIMES } from '../../domain/leadership/lease.ts';
import type { Checker, WorldTruth } from './checker.ts';

export interface LeadershipSources {
  readonly world: WorldTruth;
  readonly lease: () => LeaseTruth;
  /** Names of the controllers that believe to lead. */
  readonly leaders: () => readonly string[];
}

export interface LeadershipChecker extends Checker {
  /** So long after the faults that there must be a leader. */
  checkLed(): void;
}

/** From the deadline of a holder that cannot renew to the end of the last call that it sent. */
const LAST_EFFECT_MS = LEASE_TIMES.renewDeadlineMs + EC2_CALL_MAX_MS;

/** The longest pause of a process, then what a lapsed lease is followed by: its end, some tries, a restart, and answers. */
export const LED_WITHIN_MS = 90_000 + LEASE_TIMES.durationMs + 3 * LEASE_TIMES.retryMs + 15_000;

/** Judges by the lease as it lies in the API server, not by what anybody believes of it. */
export function createLeadershipChecker({ world, lease, leaders }: LeadershipSources): LeadershipChecker {
  return {
    onEc2Change: ({ actor, kind }) => {
      if (!world.isController(actor)) return;
      const { holder, writtenAt } = lease();
      const sinceMs = world.now() - writtenAt;
      if (holder !== actor)
        world.broken('LEAD-1', `${actor} changed EC2 (${kind}), and the lease is ${holder ?? 'not there'}'s`);
      else if (sinceMs > LAST_EFFECT_MS)
        world.broken(
          'LEAD-1',
          `${actor} changed EC2 (${kind}) ${sinceMs} ms after it last renewed its lease`,
        );
    },
    checkLed: () => {
      const names = leaders();
      const { holder } = lease();
      if (names.length !== 1 || names[0] !== holder)
        world.broken('LEAD-1', `nothing fails any more: "${names.join(' ')}" lead, the lease is ${holder}'s`);
    },
  };
}
