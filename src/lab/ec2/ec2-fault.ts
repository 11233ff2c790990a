// Troubles that somebody asks for: which calls of the simulated EC2 meet them, and how. The profile's odds come on top.

import { err, ok, type Result } from '../../domain/result.ts';
import type { Random } from '../../ports/random.ts';
import { chance } from '../kernel/draw.ts';
import { STALENESS_MAX_MS } from './ec2-profile.ts';
import type { Ec2Action } from './token-bucket.ts';

export type Ec2FaultEffect =
  /** RequestLimitExceeded, before any effect. */
  | { readonly kind: 'Throttle' }
  /** EC2 refuses with this code, before any effect. */
  | { readonly kind: 'Error'; readonly code: string }
  /** The call takes so much longer. */
  | { readonly kind: 'Delay'; readonly ms: number }
  /** The request never arrives: outcome unknown, no effect. */
  | { readonly kind: 'DropRequest' }
  /** The request takes effect and its answer never arrives. */
  | { readonly kind: 'DropAnswer' }
  /** A describe answers what was so long ago. */
  | { readonly kind: 'Stale'; readonly ms: number };

export interface Ec2Fault {
  /** An action's name; with a star at its end, every action that begins so; `*` is all. */
  readonly action: string;
  readonly effect: Ec2FaultEffect;
  /** From 0 to 1, per call. */
  readonly odds: number;
  /** After so many calls that met it, it is over; absent: never. */
  readonly times?: number;
}

/** What one call meets. */
export interface FaultsMet {
  readonly throttled: boolean;
  readonly errorCode?: string;
  readonly delayMs: number;
  readonly requestLost: boolean;
  readonly answerLost: boolean;
  /** Age of a describe's answer beyond what the profile draws. */
  readonly staleMs: number;
}

export interface Ec2Faults {
  /** Replaces all; those with `times` begin to count anew. */
  set(faults: readonly Ec2Fault[]): void;
  /** Draws, and counts, what one call of `action` meets. */
  meet(action: Ec2Action): FaultsMet;
}

const NONE: FaultsMet = { throttled: false, delayMs: 0, requestLost: false, answerLost: false, staleMs: 0 };

export function createEc2Faults(random: Random): Ec2Faults {
  let active: { readonly fault: Ec2Fault; metCount: number }[] = [];
  return {
    set: (faults) => {
      active = faults.map((fault) => ({ fault, metCount: 0 }));
    },
    meet: (action) => {
      let met = NONE;
      for (const one of active) {
        const { fault, metCount } = one;
        const isOver = fault.times !== undefined && metCount >= fault.times;
        if (isOver || !concerns(fault, action) || !chance(random, fault.odds)) continue;
        one.metCount += 1;
        met = withEffect(met, fault.effect);
      }
      return met;
    },
  };
}

const concerns = ({ action: pattern }: Ec2Fault, action: Ec2Action): boolean =>
  pattern.endsWith('*') ? action.startsWith(pattern.slice(0, -1)) : action === pattern;

function withEffect(met: FaultsMet, effect: Ec2FaultEffect): FaultsMet {
  switch (effect.kind) {
    case 'Throttle':
      return { ...met, throttled: true };
    case 'Error':
      return { ...met, errorCode: effect.code };
    case 'Delay':
      return { ...met, delayMs: met.delayMs + effect.ms };
    case 'DropRequest':
      return { ...met, requestLost: true };
    case 'DropAnswer':
      return { ...met, answerLost: true };
    case 'Stale':
      return { ...met, staleMs: Math.max(met.staleMs, effect.ms) };
  }
}

const FORM =
  'write ACTION:EFFECT, where EFFECT is throttle, error=CODE, delay=MS, drop-request, drop-answer or stale=MS, and ' +
  'append :odds=0.5 or :times=3 if it is not to hit every call, as in AttachNetworkInterface:throttle:times=3';

/** `ACTION:EFFECT[:odds=N][:times=N]`, as options and scenario files have it. */
export function parseEc2Fault(text: string): Result<Ec2Fault, string> {
  const [action = '', effectText = '', ...limits] = text.split(':');
  const wrong = (what: string): Result<never, string> => err(`"${text}" is no fault: ${what}; ${FORM}`);
  if (!/^(?:[A-Z][A-Za-z]*\*?|\*)$/.test(action)) return wrong(`"${action}" is no action of EC2`);
  const effect = parseEffect(effectText);
  if (effect === undefined) return wrong(`"${effectText}" is no effect`);
  let odds = 1;
  let times: number | undefined;
  for (const limit of limits) {
    const [, name, value] = /^(odds|times)=(\d+(?:\.\d+)?)$/.exec(limit) ?? [];
    const number = Number(value);
    if (name === 'odds' && number <= 1) odds = number;
    else if (name === 'times' && Number.isInteger(number)) times = number;
    else return wrong(`"${limit}" is neither odds= from 0 to 1 nor times= a whole number`);
  }
  return ok({ action, effect, odds, ...(times === undefined ? {} : { times }) });
}

function parseEffect(text: string): Ec2FaultEffect | undefined {
  const [kind = '', value = ''] = text.split('=');
  const ms = /^\d{1,7}$/.test(value) ? Number(value) : undefined;
  switch (kind) {
    case 'throttle':
      return { kind: 'Throttle' };
    case 'drop-request':
      return { kind: 'DropRequest' };
    case 'drop-answer':
      return { kind: 'DropAnswer' };
    case 'error':
      return /^[A-Za-z][A-Za-z.]*$/.test(value) ? { kind: 'Error', code: value } : undefined;
    case 'delay':
      return ms === undefined ? undefined : { kind: 'Delay', ms };
    case 'stale':
      return ms === undefined || ms > STALENESS_MAX_MS ? undefined : { kind: 'Stale', ms };
    default:
      return undefined;
  }
}
