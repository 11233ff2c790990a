// How long news waits for the controller, whose one thread works on one thing after the other.
//
// In the simulation a turn of the controller takes no virtual time, so two things that come at the same virtual time would
// both be served at once. Here each turn takes the CPU time that the machine needed for it: one that comes while an earlier one
// is still at work waits until that is done.

import type { RoundObserver } from '../../src/controller/start-controller.ts';
import type { Clock } from '../../src/ports/clock.ts';

/** Sorted milliseconds from the delivery of a pod's event to the decision for its node. */
export interface Waits {
  /** In the queue, for a worker and for the thread, and the work itself. */
  readonly own: Float64Array;
  /**
   * And until EC2 had told of a new node, and until a call to EC2 or to the API server was answered that had been made for
   * the same node before the event came.
   */
  readonly withCalls: Float64Array;
}

export interface BacklogMeter {
  readonly rounds: RoundObserver;
  clock(clock: Clock): Clock;
  /** News of a node is about to be handled. */
  arrived(node: string): void;
  turnEnded(): void;
  /** Runs what is no work of the controller's. */
  leaveOut(measure: () => void): void;
  decisionCount(): number;
  busyMs(): number;
  waits(): Waits;
  reset(): void;
}

/** A turn of the controller that is under way. */
interface Turn {
  /** Virtual time at which the thread comes to it, milliseconds with fractions. */
  readonly startsAt: number;
  /** Of the thread's CPU time. */
  readonly since: number;
  leftOutMs: number;
}

interface NodeState {
  /** Virtual times of news that no decision has seen. */
  arrivals: number[];
  isRunning: boolean;
  /** Whether a round was under way when the first of `arrivals` came. */
  wasRunning: boolean;
  endedAt: number;
  /** Whether EC2 had not told enough of the node for the last round. */
  wasUndecidable: boolean;
  hasDecided: boolean;
  /** When there was news of it last. */
  queuedAt: number;
}

const newState = (): NodeState => ({
  arrivals: [],
  isRunning: false,
  wasRunning: false,
  endedAt: 0,
  wasUndecidable: false,
  hasDecided: false,
  queuedAt: 0,
});

/** CPU time of this thread: others use the machine, too. */
function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** The controller's one thread, in virtual time. */
interface Thread {
  clock(clock: Clock): Clock;
  /** Virtual time as far as the present turn has come. */
  present(): number;
  turnEnded(): void;
  leaveOut(measure: () => void): void;
  busyMs(): number;
}

function createThread(now: () => number): Thread {
  let turn: Turn | undefined;
  let freeAt = 0;
  let busyMs = 0;
  const begin = (): void => {
    turn ??= { startsAt: Math.max(freeAt, now()), since: threadMs(), leftOutMs: 0 };
  };
  const spentMs = ({ since, leftOutMs }: Turn): number => threadMs() - since - leftOutMs;
  return {
    clock: (clock) => {
      const timer: Clock['timer'] = (ms, label, run) =>
        clock.timer(ms, label, () => {
          begin();
          run();
        });
      return {
        ...clock,
        timer,
        sleep: (ms, label) =>
          new Promise((resolve) => {
            timer(ms, label, resolve);
          }),
      };
    },
    present: () => (turn === undefined ? now() : turn.startsAt + spentMs(turn)),
    turnEnded: () => {
      if (turn === undefined) return;
      const tookMs = spentMs(turn);
      freeAt = turn.startsAt + tookMs;
      busyMs += tookMs;
      turn = undefined;
    },
    leaveOut: (measure) => {
      const since = threadMs();
      measure();
      if (turn !== undefined) turn.leftOutMs += threadMs() - since;
    },
    busyMs: () => busyMs,
  };
}

export function createBacklogMeter(now: () => number): BacklogMeter {
  const thread = createThread(now);
  const nodes = new Map<string, NodeState>();
  let decisionCount = 0;
  let own: number[] = [];
  let withCalls: number[] = [];
  const stateOf = (node: string): NodeState => {
    const state = nodes.get(node) ?? newState();
    nodes.set(node, state);
    return state;
  };
  const decided = (state: NodeState): void => {
    const at = thread.present();
    const awaited = Math.max(state.wasRunning ? state.endedAt : 0, state.wasUndecidable ? state.queuedAt : 0);
    for (const arrival of state.arrivals) {
      withCalls.push(at - arrival);
      own.push(at - Math.max(arrival, awaited));
    }
    state.arrivals = [];
    state.hasDecided = true;
    decisionCount += 1;
  };
  return {
    clock: thread.clock,
    rounds: {
      queued: (key) => {
        stateOf(key).queuedAt = thread.present();
      },
      began: (key) => Object.assign(stateOf(key), { isRunning: true, hasDecided: false }),
      decided: (key) => decided(stateOf(key)),
      ended: (key) => {
        const state = stateOf(key);
        state.isRunning = false;
        state.wasUndecidable = !state.hasDecided;
        state.endedAt = thread.present();
      },
    },
    arrived: (node) => {
      const state = stateOf(node);
      if (state.arrivals.length === 0) state.wasRunning = state.isRunning;
      state.arrivals.push(now());
    },
    turnEnded: thread.turnEnded,
    leaveOut: thread.leaveOut,
    decisionCount: () => decisionCount,
    busyMs: thread.busyMs,
    waits: () => ({ own: Float64Array.from(own).sort(), withCalls: Float64Array.from(withCalls).sort() }),
    reset: () => {
      own = [];
      withCalls = [];
    },
  };
}
