// One request's way to the simulated API server and back: delays, outages, the effect, and lost answers.

import { err, ok, type Result } from '../../domain/result.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ClusterFailure, ClusterOutcome, Subscription } from '../../ports/cluster.ts';
import { done, failed, unknown } from '../../ports/outcome.ts';
import type { Random } from '../../ports/random.ts';
import { chance, drawBetween } from '../kernel/draw.ts';
import type { ClusterProfile, FaultHearer } from './cluster-profile.ts';

export interface ApiServer {
  /** `clock` is the caller's: answers come by it, so one that has died hears none. `label` names the request in traces. */
  request<T>(
    clock: Clock,
    label: string,
    effect: () => Result<T, ClusterFailure>,
  ): Promise<ClusterOutcome<T>>;
  /** Requests that have arrived since the start. */
  requestCount(): number;
  isDown(): boolean;
  /** Refuses everything and breaks all watches, for `ms` milliseconds. */
  takeDown(ms: number): void;
  bringUp(): void;
  onDown(notify: () => void): Subscription;
}

export interface ApiServerOptions {
  /** The world's clock. */
  readonly clock: Clock;
  readonly random: Random;
  readonly profile: () => ClusterProfile;
  readonly onFault: FaultHearer;
}

export function createApiServer({ clock, random, profile, onFault }: ApiServerOptions): ApiServer {
  const listeners = new Set<() => void>();
  let downUntil = 0;
  let requestCount = 0;

  const isDown = (): boolean => clock.now() < downUntil;
  const takeDown = (ms: number): void => {
    downUntil = clock.now() + ms;
    for (const notify of listeners) notify();
  };
  const perform = <T>(effect: () => Result<T, ClusterFailure>): Result<T, ClusterFailure> => {
    const { outageOdds, outageMaxMs } = profile();
    if (!isDown() && chance(random, outageOdds)) {
      onFault('outageOdds');
      takeDown(drawBetween(random, { min: 1, max: outageMaxMs }));
    }
    return isDown() ? err(refused) : effect();
  };

  return {
    request: async (callerClock, label, effect) => {
      const { latencyMinMs, latencyMaxMs, lostRequestOdds, lostAnswerOdds, timeoutMs } = profile();
      const latencyMs = drawBetween(random, { min: latencyMinMs, max: latencyMaxMs });
      const wayThereMs = Math.floor(latencyMs / 2);
      const isRequestLost = chance(random, lostRequestOdds);
      const isAnswerLost = chance(random, lostAnswerOdds);
      // The request travels by the world's clock: it arrives even if its caller dies meanwhile.
      await clock.sleep(wayThereMs, label);
      if (isRequestLost) onFault('lostRequestOdds');
      else requestCount += 1;
      const result = isRequestLost ? undefined : perform(effect);
      if (result === undefined || isAnswerLost) {
        if (result !== undefined) onFault('lostAnswerOdds');
        await callerClock.sleep(Math.max(0, timeoutMs - wayThereMs), `${label}:timeout`);
        return unknown(`the API server did not answer ${label} within ${timeoutMs} ms`);
      }
      await callerClock.sleep(latencyMs - wayThereMs, `${label}:answer`);
      return result.ok ? done(result.value) : failed(result.error);
    },
    requestCount: () => requestCount,
    isDown,
    takeDown,
    bringUp: () => {
      downUntil = 0;
    },
    onDown: (notify) => {
      listeners.add(notify);
      return { close: () => listeners.delete(notify) };
    },
  };
}

const refused: ClusterFailure = {
  kind: 'unavailable',
  message: 'the API server refuses connections; it is tried again',
};

/** An effect that reads and cannot be refused. */
export const reading =
  <T>(read: () => T): (() => Result<T, ClusterFailure>) =>
  () =>
    ok(read());
