// For tests: controllers that contend for a lease in a world where clocks jump, processes stop and answers are lost.

import type { Lease, LeaseTimes, SeenLease } from '../domain/leadership/lease.ts';
import type { Kernel } from '../lab/kernel/kernel.ts';
import type { Clock } from '../ports/clock.ts';
import type { ClusterOutcome } from '../ports/cluster.ts';
import type { LeaseStore, Term } from '../ports/leadership.ts';
import type { Log } from '../ports/log.ts';
import { done, failed, unknown } from '../ports/outcome.ts';
import { randomInt } from '../ports/random.ts';
import { type Election, startElection } from './leader-election.ts';

/** One per world. */
export interface LeaseWorld {
  stored: SeenLease | undefined;
  isDown: boolean;
  /** Of 100 requests, how many lose their answer, half of them before the effect. */
  lossPercent: number;
  writeCount: number;
}

export const createLeaseWorld = (): LeaseWorld => ({
  stored: undefined,
  isDown: false,
  lossPercent: 0,
  writeCount: 0,
});

export interface Elector {
  readonly name: string;
  /** The present term, as the process knows it. */
  readonly term: () => Term | undefined;
  readonly isPaused: () => boolean;
  /** Sets the wall clock. */
  jump(ms: number): void;
  /** The process does not run; what becomes due meanwhile runs at its end. */
  pause(): void;
  resume(): void;
  /** The virtual machine is halted: the process, and its clock since boot. `resume` ends it. */
  halt(): void;
  /** No call is under way: gives the lease up. */
  stop(): Promise<void>;
}

const quiet = (): void => undefined;
const silent: Log = { debug: quiet, info: quiet, warn: quiet, error: quiet, mark: quiet };
const ANSWER_MAX_MS = 3000;
const TIMEOUT_MS = 5000;

export function startElector(kernel: Kernel, world: LeaseWorld, name: string, times: LeaseTimes): Elector {
  const machine = createMachine(kernel, name);
  let term: Term | undefined;
  const election: Election = startElection({
    store: storeOf(kernel, world, machine),
    clock: machine.clock,
    log: silent,
    identity: name,
    times,
    onGained: (gained) => {
      term = gained;
    },
    onLost: () => {
      term = undefined;
    },
  });
  return {
    name,
    term: () => term,
    isPaused: machine.isPaused,
    jump: machine.jump,
    pause: machine.pause,
    resume: machine.resume,
    halt: machine.halt,
    stop: async () => {
      term = undefined;
      await election.stop();
    },
  };
}

interface Machine extends Pick<Elector, 'isPaused' | 'jump' | 'pause' | 'resume' | 'halt'> {
  readonly clock: Clock;
  /** Resolves when the process runs. */
  running(): Promise<void>;
}

function createMachine(kernel: Kernel, name: string): Machine {
  const world = kernel.clock(name);
  let offsetMs = 0;
  let haltedMs = 0;
  let haltedSince: number | undefined;
  let isPaused = false;
  const waiting: (() => void)[] = [];
  const whenRunning = (run: () => void): void => {
    if (isPaused) waiting.push(run);
    else run();
  };
  const resume = (): void => {
    haltedMs += kernel.now() - (haltedSince ?? kernel.now());
    haltedSince = undefined;
    isPaused = false;
    for (const run of waiting.splice(0)) run();
  };
  const timer: Clock['timer'] = (ms, label, run) => {
    let isCancelled = false;
    const inner = world.timer(ms, label, () => whenRunning(() => (isCancelled ? undefined : run())));
    return {
      cancel: () => {
        isCancelled = true;
        inner.cancel();
      },
    };
  };
  return {
    clock: {
      now: () => kernel.now() + offsetMs,
      bootNow: () => (haltedSince ?? kernel.now()) - haltedMs,
      timer,
      sleep: (ms, label) => new Promise((resolve) => void timer(ms, label, resolve)),
    },
    running: () => new Promise((resolve) => whenRunning(resolve)),
    isPaused: () => isPaused,
    jump: (ms) => {
      offsetMs += ms;
    },
    pause: () => {
      isPaused = true;
    },
    resume,
    halt: () => {
      isPaused = true;
      haltedSince ??= kernel.now();
    },
  };
}

/** Requests travel by the world's clock: they arrive even if their sender is stopped meanwhile. */
function storeOf(kernel: Kernel, world: LeaseWorld, machine: Machine): LeaseStore {
  const wire = kernel.clock('wire');
  const random = kernel.random.fork('wire');
  const request = async <T>(effect: () => ClusterOutcome<T>): Promise<ClusterOutcome<T>> => {
    const isLost = randomInt(random, 100) < world.lossPercent;
    const isLostBefore = randomInt(random, 2) === 0;
    await wire.sleep(1 + randomInt(random, ANSWER_MAX_MS), 'there');
    const unavailable = failed({ kind: 'unavailable' as const, message: 'down' });
    const outcome = world.isDown ? unavailable : isLost && isLostBefore ? undefined : effect();
    await wire.sleep(isLost ? TIMEOUT_MS : 1 + randomInt(random, ANSWER_MAX_MS), 'back');
    await machine.running();
    return isLost || outcome === undefined ? unknown('no answer') : outcome;
  };
  return {
    read: () => request(() => done(world.stored)),
    write: (lease: Lease, over) =>
      request(() => {
        if (world.stored?.version !== over) {
          return failed({ kind: over === undefined ? 'already-exists' : 'conflict', message: 'newer' });
        }
        world.writeCount += 1;
        world.stored = { lease, version: String(world.writeCount) };
        return done(world.stored);
      }),
  };
}
