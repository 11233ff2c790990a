// Contends for the lease, for ever: renews it while it is held, and takes it over when its holder is gone.

import {
  decideLease,
  EC2_CALL_MAX_MS,
  type Instant,
  longestSince,
  type LeaseTimes,
  mayAct,
  type Observation,
  type SeenLease,
} from '../domain/leadership/lease.ts';
import type { Clock, Timer } from '../ports/clock.ts';
import type { ClusterFailure } from '../ports/cluster.ts';
import type { LeaseStore, Term } from '../ports/leadership.ts';
import type { Log } from '../ports/log.ts';
import type { Outcome } from '../ports/outcome.ts';
import { createWakeup, type Wakeup } from './wakeup.ts';

export interface ElectionOptions {
  readonly store: LeaseStore;
  readonly clock: Clock;
  readonly log: Log;
  /** Of one life of one process, so that no life takes another's lease for its own. */
  readonly identity: string;
  readonly times: LeaseTimes;
  readonly onGained: (term: Term) => void;
  /** The term has ended; its calls are refused already. */
  readonly onLost: () => void;
}

export interface Election {
  /**
   * Gives the lease up, so that another can lead at once: call it when no call is under way any more. After a call whose
   * outcome is unknown the lease lapses by itself.
   */
  stop(): Promise<void>;
}

/** A term while it lasts. */
interface OwnTerm {
  /** Moment before the last renewal that succeeded was sent. */
  renewedSince: Instant;
  isOver: boolean;
  /** Tells its end when nobody asks. */
  deadline: Timer | undefined;
}

interface State extends ElectionOptions {
  readonly wakeup: Wakeup;
  /** What was last read or written; undefined when it has to be read. */
  seen: { readonly lease: SeenLease | undefined } | undefined;
  observation: Observation | undefined;
  term: OwnTerm | undefined;
  /** When a call's outcome was last told to be unknown, of this term or one before it, milliseconds since boot. */
  leftOpenAt: number | undefined;
  isStopped: boolean;
}

/** Starts contending. */
export function startElection(options: ElectionOptions): Election {
  const state: State = {
    ...options,
    wakeup: createWakeup(options.clock, 'leader election'),
    seen: undefined,
    observation: undefined,
    term: undefined,
    leftOpenAt: undefined,
    isStopped: false,
  };
  const running = run(state);
  return {
    stop: async () => {
      state.isStopped = true;
      state.wakeup.wake();
      await running;
      await giveUp(state);
    },
  };
}

const instant = ({ clock }: State): Instant => ({
  wallMs: clock.now(),
  bootMs: clock.bootNow(),
});

async function run(state: State): Promise<void> {
  while (!state.isStopped) {
    await contend(state);
    endLapsed(state);
    if (!state.isStopped) await state.wakeup.wait(state.times.retryMs);
  }
}

/** One try: reads the lease if it is not known, decides, writes. */
async function contend(state: State): Promise<void> {
  if (state.seen === undefined) {
    const read = await state.store.read();
    if (read.kind !== 'ok') {
      state.log.warn('the lease cannot be read', { cause: causeOf(read) });
      return;
    }
    observe(state, read.value);
  }
  const lease = state.seen?.lease;
  const { identity, times, observation } = state;
  const decision = decideLease({ identity, times, seen: lease, observation, now: instant(state) });
  if (decision.do === 'Wait') {
    loseTo(state, lease?.lease.holder ?? '');
    // Others change it: look again next time.
    state.seen = undefined;
    return;
  }
  const asked = instant(state);
  const written = await state.store.write(decision.lease, lease?.version);
  if (written.kind === 'ok') {
    observe(state, written.value);
    renewed(state, asked, decision.because);
    return;
  }
  // Also an unknown outcome: whose it is now has to be read.
  state.seen = undefined;
  state.log.info('the lease was not written', { try: decision.do, cause: causeOf(written) });
}

function observe(state: State, lease: SeenLease | undefined): void {
  state.seen = { lease };
  if (lease === undefined || state.observation?.version === lease.version) return;
  state.observation = { version: lease.version, since: instant(state) };
}

function renewed(state: State, asked: Instant, because: string): void {
  endLapsed(state);
  if (state.term !== undefined) {
    state.term.renewedSince = asked;
    return;
  }
  const term: OwnTerm = { renewedSince: asked, isOver: false, deadline: undefined };
  // The answer took so long that it is worth nothing: the next try renews.
  if (!mayAct(asked, instant(state), state.times)) return;
  state.term = term;
  state.log.info('this controller leads', { identity: state.identity, because });
  watchDeadline(state, term);
  state.onGained({
    isHeld: () => isHeld(state, term),
    leftOpen: () => {
      state.leftOpenAt = state.clock.bootNow();
    },
  });
}

function isHeld(state: State, term: OwnTerm): boolean {
  if (!term.isOver && !mayAct(term.renewedSince, instant(state), state.times))
    end(state, term, 'it could not be renewed in time');
  return !term.isOver;
}

/** Tells the end of a term whose renewals hang, too. */
function watchDeadline(state: State, term: OwnTerm): void {
  const leftMs = state.times.renewDeadlineMs - longestSince(term.renewedSince, instant(state));
  term.deadline = state.clock.timer(Math.max(1, leftMs), 'lease deadline', () => {
    if (isHeld(state, term)) watchDeadline(state, term);
  });
}

function endLapsed(state: State): void {
  if (state.term !== undefined) isHeld(state, state.term);
}

function loseTo(state: State, holder: string): void {
  if (state.term !== undefined) end(state, state.term, `${holder} holds it`);
}

function end(state: State, term: OwnTerm, because: string): void {
  if (term.isOver) return;
  close(state, term);
  state.log.warn('this controller does not lead any more', { identity: state.identity, because });
  state.log.mark('leadership-lost');
  state.onLost();
}

function close(state: State, term: OwnTerm): void {
  term.isOver = true;
  state.term = undefined;
  // It would keep the process alive.
  term.deadline?.cancel();
}

async function giveUp(state: State): Promise<void> {
  const { term, leftOpenAt } = state;
  const lease = state.seen?.lease;
  if (term === undefined || lease === undefined || !isHeld(state, term)) return;
  close(state, term);
  // A request that was given up may still arrive at EC2, and must find nobody else leading.
  if (leftOpenAt !== undefined && state.clock.bootNow() - leftOpenAt < EC2_CALL_MAX_MS) {
    state.log.info('the lease is not given up, for an EC2 call may still be on its way; it lapses by itself');
    return;
  }
  const written = await state.store.write({ ...lease.lease, holder: '' }, lease.version);
  if (written.kind !== 'ok') {
    state.log.info('the lease could not be given up; it lapses by itself', { cause: causeOf(written) });
  }
}

const causeOf = (outcome: Exclude<Outcome<unknown, ClusterFailure>, { readonly kind: 'ok' }>): string =>
  outcome.kind === 'failed' ? outcome.failure.message : outcome.cause;
