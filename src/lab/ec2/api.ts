// One call's way to the simulated EC2 and back: delays, refusals before any effect, the effect, and lost answers.

import { ok, type Result } from '../../domain/result.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ec2Failure, Ec2Outcome } from '../../ports/ec2.ts';
import { done, failed, unknown } from '../../ports/outcome.ts';
import { type Random, randomHex } from '../../ports/random.ts';
import { chance, drawBetween } from '../kernel/draw.ts';
import type { CallLog } from './call-log.ts';
import { askedFor, serverError, throttled, unauthorized } from './ec2-errors.ts';
import type { Ec2Faults } from './ec2-fault.ts';
import type { Region } from './region.ts';
import type { BucketName, Ec2Action, TokenBuckets } from './token-bucket.ts';

export interface Caller {
  readonly name: string;
  /** Answers come by this clock: a caller that has died, and its clock with it, hears none. */
  readonly clock: Clock;
}

export interface ApiRequest<T> {
  readonly action: Ec2Action;
  /** The bucket that pays, when it is not the action's own. */
  readonly bucket?: BucketName;
  /** What the log says the call is about. */
  readonly subject: string;
  /** `staleMs`: how old a describe's answer is to be, beyond what the profile draws. */
  readonly effect: (staleMs: number) => Result<T, Ec2Failure>;
}

export interface Api {
  call<T>(caller: Caller, request: ApiRequest<T>): Promise<Ec2Outcome<T>>;
  /** Requests that are late, and still on their way, arrive now. */
  landLate(): void;
}

export interface ApiContext {
  readonly region: Region;
  readonly buckets: TokenBuckets;
  readonly log: CallLog;
  /** Actions whose permission is taken away. */
  readonly denied: ReadonlySet<Ec2Action>;
  readonly faults: Ec2Faults;
  readonly random: Random;
}

/** What happens to one call, drawn when it is made, so that it depends on no other call's fate. */
interface Fate {
  readonly wayThereMs: number;
  readonly wayBackMs: number;
  readonly requestLost: boolean;
  readonly answerLost: boolean;
  readonly throttled: boolean;
  readonly serverError: boolean;
  /** EC2's code of a refusal that somebody asked for. */
  readonly errorCode?: string;
  readonly staleMs: number;
}

function drawFate({ region, random, faults }: ApiContext, action: Ec2Action): Fate {
  const profile = region.profile();
  const latencyMs = drawBetween(random, { min: profile.latencyMinMs, max: profile.latencyMaxMs });
  const wayThereMs = Math.floor(latencyMs / 2);
  const met = faults.meet(action);
  return {
    wayThereMs,
    wayBackMs: latencyMs - wayThereMs + met.delayMs,
    requestLost: chance(random, profile.lostRequestOdds) || met.requestLost,
    // An answer that comes after the client gave up is as good as lost.
    answerLost:
      chance(random, profile.lostAnswerOdds) ||
      met.answerLost ||
      (met.delayMs > 0 && latencyMs + met.delayMs > profile.timeoutMs),
    throttled: chance(random, profile.throttleOdds) || met.throttled,
    serverError: chance(random, profile.serverErrorOdds),
    ...(met.errorCode === undefined ? {} : { errorCode: met.errorCode }),
    staleMs: met.staleMs,
  };
}

/** What EC2 makes of a request that has arrived. */
function perform<T>(
  context: ApiContext,
  fate: Fate,
  of: { readonly caller: Caller; readonly request: ApiRequest<T>; readonly sentAt: number },
): Result<T, Ec2Failure> {
  const { caller, request, sentAt } = of;
  const { region, buckets, denied, random } = context;
  const profile = region.profile();
  const { action } = request;
  if (profile.tokenBuckets && !buckets.take(request.bucket ?? action, profile.otherSpendersPerSecond)) {
    return throttled(action);
  }
  if (fate.throttled) {
    region.struck('throttleOdds');
    return throttled(action);
  }
  if (denied.has(action)) return unauthorized(action, randomHex(random, 40));
  if (fate.serverError) {
    region.struck('serverErrorOdds');
    return serverError(action);
  }
  if (fate.errorCode !== undefined) return askedFor(fate.errorCode, action);
  return region.as(caller.name, () => request.effect(fate.staleMs), sentAt);
}

/** When a request arrives whose caller has given up: a call ends within 15 s, whatever becomes of it (domain/leadership). */
const LATE_MS = { min: 10_000, max: 14_500 };

export function createApi(context: ApiContext): Api {
  const { region, log } = context;
  const late = new Set<() => void>();
  return {
    landLate: () => {
      for (const land of late) land();
    },
    call: async (caller, request) => {
      const { action, subject } = request;
      const fate = drawFate(context, action);
      const { timeoutMs } = region.profile();
      const startedAt = region.clock.now();
      const logged = (result: string, answered: boolean): void =>
        log.add({ at: region.clock.now(), client: caller.name, action, subject, result, answered });
      const giveUp = async (): Promise<Ec2Outcome<never>> => {
        const restMs = Math.max(0, startedAt + timeoutMs - region.clock.now());
        await caller.clock.sleep(restMs, `${action}:timeout`);
        return unknown(`${action} was not answered within ${timeoutMs} ms`);
      };

      if (chance(context.random, region.profile().lateRequestOdds)) {
        const lateMs = drawBetween(context.random, LATE_MS);
        const land = (): void => {
          if (!late.delete(land)) return;
          region.struck('lateRequestOdds');
          const { ok } = perform(context, fate, { caller, request, sentAt: startedAt });
          logged(ok ? 'ok' : 'refused', false);
        };
        late.add(land);
        void region.clock.sleep(lateMs, `${action}:late`).then(land);
        return giveUp();
      }
      // The request travels by the world's clock: it arrives even if its caller dies meanwhile.
      await region.clock.sleep(fate.wayThereMs, action);
      if (fate.requestLost) {
        region.struck('lostRequestOdds');
        logged('lost', false);
        return giveUp();
      }
      const result = perform(context, fate, { caller, request, sentAt: startedAt });
      logged(result.ok ? 'ok' : result.error.code, !fate.answerLost);
      if (fate.answerLost) {
        region.struck('lostAnswerOdds');
        return giveUp();
      }
      await caller.clock.sleep(fate.wayBackMs, `${action}:answer`);
      return result.ok ? done(result.value) : failed(result.error);
    },
  };
}

/** An effect that reads and cannot be refused. */
export const reading =
  <T>(read: (staleMs: number) => T): ApiRequest<T>['effect'] =>
  (staleMs) =>
    ok(read(staleMs));
