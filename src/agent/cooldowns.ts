// Ends the rest of released addresses in time (IP-5).
//
// A rest is measured by a timer that runs its whole length, not by comparing dates: a clock that is set forward must
// not shorten it. Only across a restart is there nothing but the date of release; then a clock that was set back makes
// the rest at most a full one again.

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

/** What is left of a rest, as far as dates tell: never more than the whole, never less than nothing. */
export const remainingMs = (releasedAt: number, now: number, cooldownMs: number): number =>
  Math.min(cooldownMs, Math.max(0, cooldownMs - (now - releasedAt)));

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

  function track(): void {
    const lengthMs = cooldownMs();
    if (lengthMs === undefined) return;
    const over: Ip[] = [];
    for (const [ip, releasedAt] of ledger().cooling) {
      const rest = rests.get(ip);
      if (rest?.releasedAt === releasedAt) continue;
      rest?.timer.cancel();
      rests.delete(ip);
      const ms = remainingMs(releasedAt, clock.now(), lengthMs);
      if (ms === 0) over.push(ip);
      else start(ip, releasedAt, ms);
    }
    if (over.length > 0) endCooldown(over);
  }

  return {
    track,
    stop: () => {
      for (const { timer } of rests.values()) timer.cancel();
      rests.clear();
    },
  };
}
