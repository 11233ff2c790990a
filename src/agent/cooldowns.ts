// Ends the rest of released addresses in time (IP-5).
//
// A rest is measured by the time since boot, which nobody sets, so it goes on while no agent runs. A journal of an earlier
// boot, or of a version that did not note it, does not tell: then the whole rest begins anew.

import type { Ip } from '../domain/address/ip.ts';
import type { Ledger } from '../domain/ipam/ledger.ts';
import type { Clock, Timer } from '../ports/clock.ts';

export interface Cooldowns {
  /** Starts a timer for every resting address that has none. To be called after each change of ledger or spec. */
  track(): void;
  stop(): void;
}

export interface CooldownOptions {
  readonly clock: Clock;
  readonly ledger: () => Ledger;
  /** NodeNetwork.spec.cooldownMs; undefined while no spec is known: then every rest goes on. */
  readonly cooldownMs: () => number | undefined;
  readonly endCooldown: (addresses: readonly Ip[]) => void;
}

interface Rest {
  readonly releasedAt: number;
  /** The cooldown that the timer was started with. */
  readonly cooldownMs: number;
  readonly timer: Timer;
}

export function createCooldowns({ clock, ledger, cooldownMs, endCooldown }: CooldownOptions): Cooldowns {
  const rests = new Map<Ip, Rest>();

  function start(ip: Ip, releasedAt: number, ms: number): void {
    const timer = clock.timer(ms, `cooldown of ${ip}`, () => finish(ip));
    rests.set(ip, { releasedAt, cooldownMs: cooldownMs() ?? ms, timer });
  }

  function finish(ip: Ip): void {
    const rest = rests.get(ip);
    rests.delete(ip);
    if (rest === undefined || ledger().cooling.get(ip) !== rest.releasedAt) return track();
    const longerByMs = (cooldownMs() ?? rest.cooldownMs) - rest.cooldownMs;
    if (longerByMs > 0) start(ip, rest.releasedAt, longerByMs);
    else endCooldown([ip]);
  }

  /** How long an address has rested for certain, ms. */
  function restedMs(ip: Ip): number {
    const since = ledger().coolingSinceBoot.get(ip);
    return since === undefined ? 0 : Math.max(0, clock.bootNow() - since);
  }

  function track(): void {
    const lengthMs = cooldownMs();
    if (lengthMs === undefined) return;
    for (const [ip, releasedAt] of ledger().cooling) {
      const rest = rests.get(ip);
      if (rest?.releasedAt === releasedAt) continue;
      rest?.timer.cancel();
      start(ip, releasedAt, Math.max(0, lengthMs - restedMs(ip)));
    }
  }

  return {
    track,
    stop: () => {
      for (const { timer } of rests.values()) timer.cancel();
      rests.clear();
    },
  };
}
