// The simulation kernel: virtual time, one event at a time, the same run for the same seed.

import type { Clock } from '../../ports/clock.ts';
import { createEventHeap, type EventHeap, type SimEvent } from './event-heap.ts';
import { createIncarnation, type Incarnation, type IncarnationContext } from './incarnation.ts';
import { type SeededRandom, seededRandom } from './seeded-random.ts';
import { createTrace, nameOf, type Trace, type TracedEvent } from './trace.ts';

export interface KernelOptions {
  /** 32 bits. */
  readonly seed: number;
  /** Milliseconds since the epoch; 2026-01-01 UTC when absent. */
  readonly startAt?: number;
  /** Events of the same time run in an order drawn by seed, not in the order in which they were set: finds order bugs. */
  readonly randomTies?: boolean;
  /** Events of each owner that are kept for reports: with thousands of owners, few. */
  readonly recentPerOwner?: number;
}

export interface RunRequest {
  /** Virtual time at which to stop, milliseconds since the epoch. Events at that very time still run. */
  readonly untilMs: number;
  /** Lets every promise that can go on go on: one macrotask turn. Handed in, since the kernel itself knows no real time. */
  readonly drain: () => Promise<void>;
  /** Called before every event. */
  readonly onEvent?: (event: TracedEvent) => void;
  /** Called after every event: what rule is broken, or undefined. */
  readonly check?: () => string | undefined;
  /** Called after every event: true ends the run early. */
  readonly stopWhen?: () => boolean;
}

export type RunEnd =
  /** The time is up; the clock stands at `untilMs`. */
  | { readonly kind: 'TimeUp' }
  | { readonly kind: 'Stopped' }
  /** `check` found a broken rule. */
  | { readonly kind: 'Broken'; readonly rule: string }
  /** No event is left, so nothing can ever happen again; `waiting` names the guarded promises that hang. */
  | { readonly kind: 'Deadlock'; readonly waiting: readonly string[] }
  /** Time stands still: more than EVENTS_PER_INSTANT_MAX events at one time; the last of them are named. */
  | { readonly kind: 'Livelock'; readonly labels: readonly string[] };

/** What the clocks of one that is stopped do. */
export type Clocks = 'go on' | 'stand still';

export interface Kernel {
  now(): number;
  readonly random: SeededRandom;
  /** The clock of the current incarnation of `owner`, which starts with the first mention. */
  clock(owner: string): Clock;
  /** Makes a call's answer reach only the incarnation of `owner` that is alive now. */
  guard<T>(owner: string, promise: Promise<T>, label?: string): Promise<T>;
  /** The current incarnation itself. */
  incarnation(owner: string): Incarnation;
  /** Somebody sets the wall clock of `owner`: from now on it is off by `ms`, in this life and in later ones. */
  skew(owner: string, ms: number): void;
  /**
   * The process of `owner` is stopped: what becomes due runs when it goes on, in the same order. Until then its time goes on,
   * or, as with a virtual machine that is halted, stands still: then what was set before comes that much later.
   */
  pause(owner: string, clocks?: Clocks): void;
  /** It goes on. Nothing happens to one that runs. */
  resume(owner: string): void;
  /** The machine of `owner` boots: its time since then begins anew. */
  boot(owner: string): void;
  /** Crash: pending timers and sleeps are dropped and guarded promises never settle. `clock(owner)` then starts a new life. */
  kill(owner: string): void;
  run(request: RunRequest): Promise<RunEnd>;
  eventCount(): number;
  traceHash(): string;
  /** The last events of the owners whose name starts with `ownerPrefix` (of all, when absent), as lines. */
  recentEvents(ownerPrefix?: string, count?: number): readonly string[];
}

const DEFAULT_START_AT = 1_767_225_600_000;
const EVENTS_PER_INSTANT_MAX = 100_000;
const RECENT_EVENT_COUNT = 30;

/** The state that `run` moves on. */
interface Timeline {
  now: number;
  eventCount: number;
  readonly heap: EventHeap;
  readonly trace: Trace;
  /** owner that is stopped -> since when, and what became due meanwhile */
  readonly paused: Map<string, Stop>;
  /** owner -> the stops that were none by its own clocks, oldest first */
  readonly stops: Map<string, LostTime[]>;
}

interface Stop {
  readonly clocks: Clocks;
  readonly since: number;
  /** Of the next event that was to be set then. */
  readonly sequence: number;
  readonly kept: SimEvent[];
}

interface LostTime {
  readonly ms: number;
  /** What was set before comes that much later. */
  readonly sequence: number;
}

/** What the event is late by, because its owner's clocks stood still after it was set; each stop is counted once. */
function latenessOf({ stops }: Timeline, event: SimEvent): number {
  const ofOwner = stops.size === 0 ? undefined : stops.get(event.owner);
  if (ofOwner === undefined) return 0;
  const late = ofOwner.slice(event.stopCount ?? 0).filter(({ sequence }) => event.sequence < sequence);
  event.stopCount = ofOwner.length;
  return late.reduce((sum, { ms }) => sum + ms, 0);
}

/** Runs the next event that is due by `untilMs`, or keeps it for one who is stopped; false when there is none. */
function step(timeline: Timeline, { untilMs, onEvent }: RunRequest): boolean {
  const next = timeline.heap.peek();
  if (next === undefined || next.at > untilMs) return false;
  timeline.heap.pop();
  const lateMs = latenessOf(timeline, next);
  if (lateMs > 0) {
    timeline.heap.push(Object.assign(next, { at: next.at + lateMs }));
    return true;
  }
  timeline.now = next.at;
  const stop = timeline.paused.get(next.owner);
  if (stop !== undefined) {
    stop.kept.push(next);
    return true;
  }
  timeline.eventCount += 1;
  timeline.trace.add(next);
  onEvent?.(next);
  next.run();
  return true;
}

/** Runs events until something ends the run; undefined when there is no event left by `untilMs`. */
async function runEvents(timeline: Timeline, request: RunRequest): Promise<RunEnd | undefined> {
  let instant = timeline.now;
  let eventsOfInstant = 0;
  await request.drain();
  while (step(timeline, request)) {
    await request.drain();
    const rule = request.check?.();
    if (rule !== undefined) return { kind: 'Broken', rule };
    if (request.stopWhen?.() === true) return { kind: 'Stopped' };
    eventsOfInstant = timeline.now === instant ? eventsOfInstant + 1 : 1;
    instant = timeline.now;
    if (eventsOfInstant > EVENTS_PER_INSTANT_MAX) {
      return { kind: 'Livelock', labels: timeline.trace.recent('', 5).map(nameOf) };
    }
  }
  return undefined;
}

const createTimeline = (startAt: number, recentPerOwner?: number): Timeline => ({
  now: startAt,
  eventCount: 0,
  heap: createEventHeap(),
  trace: createTrace(recentPerOwner),
  paused: new Map(),
  stops: new Map(),
});

interface StopDeps {
  readonly timeline: Timeline;
  readonly machines: Machines;
  /** Of the next event that is set. */
  readonly nextSequence: () => number;
}

const stopsOf = ({ timeline, machines, nextSequence }: StopDeps): Pick<Kernel, 'pause' | 'resume'> => ({
  pause: (owner, clocks = 'go on') => {
    if (timeline.paused.has(owner)) return;
    timeline.paused.set(owner, { clocks, since: timeline.now, sequence: nextSequence(), kept: [] });
  },
  resume: (owner) => {
    const stop = timeline.paused.get(owner);
    if (stop === undefined) return;
    timeline.paused.delete(owner);
    const { clocks, since, sequence, kept } = stop;
    const stoodStill = clocks === 'stand still';
    if (stoodStill) {
      const ms = timeline.now - since;
      machines.lose(owner, ms);
      timeline.stops.set(owner, [...(timeline.stops.get(owner) ?? []), { ms, sequence }]);
    }
    for (const event of kept) {
      // What was set before is late, as it turns out when it is looked at; what others sent meanwhile has been waiting.
      const isLate = stoodStill && event.sequence < sequence;
      timeline.heap.push(isLate ? event : Object.assign(event, { at: timeline.now }));
    }
  },
});

interface Machines extends Pick<Kernel, 'skew' | 'boot'> {
  /** Its clocks stood still for so long. */
  lose(owner: string, ms: number): void;
  now(owner: string): number;
  bootNow(owner: string): number;
}

/** What each owner's machine takes the time for. */
function createMachines(timeline: Timeline): Machines {
  const skews = new Map<string, number>(); // owner -> ms
  const bootedAt = new Map<string, number>(); // owner -> world's time
  const worldNow = (owner: string): number => {
    const stop = timeline.paused.size === 0 ? undefined : timeline.paused.get(owner);
    return stop?.clocks === 'stand still' ? stop.since : timeline.now;
  };
  return {
    now: (owner) => worldNow(owner) + (skews.get(owner) ?? 0),
    bootNow: (owner) => worldNow(owner) - (bootedAt.get(owner) ?? 0),
    skew: (owner, ms) => {
      skews.set(owner, ms);
    },
    lose: (owner, ms) => {
      skews.set(owner, (skews.get(owner) ?? 0) - ms);
      bootedAt.set(owner, (bootedAt.get(owner) ?? 0) + ms);
    },
    boot: (owner) => {
      bootedAt.set(owner, timeline.now);
    },
  };
}

export function createKernel(options: KernelOptions): Kernel {
  const startAt = options.startAt ?? DEFAULT_START_AT;
  const random = seededRandom(options.seed);
  const ties = options.randomTies === true ? random.fork('kernel/ties') : undefined;
  const timeline = createTimeline(startAt, options.recentPerOwner);
  // owner -> its current life
  const incarnations = new Map<string, Incarnation>();
  const machines = createMachines(timeline);
  let sequence = 0;

  const schedule: IncarnationContext['schedule'] = ({ owner, life, ms, label, run }) => {
    const event: SimEvent = {
      at: timeline.now + ms,
      tie: ties?.uint32() ?? 0,
      sequence: sequence++,
      owner,
      label,
      run,
      life,
      cancelled: false,
    };
    timeline.heap.push(event);
    return event;
  };

  const incarnation = (owner: string): Incarnation => {
    let current = incarnations.get(owner);
    if (current === undefined) {
      current = createIncarnation({
        owner,
        now: () => machines.now(owner),
        bootNow: () => machines.bootNow(owner),
        schedule,
      });
      incarnations.set(owner, current);
    }
    return current;
  };

  return {
    now: () => timeline.now,
    random,
    clock: (owner) => incarnation(owner).clock,
    guard: (owner, promise, label = 'call') => incarnation(owner).guard(promise, `${owner}/${label}`),
    incarnation,
    skew: machines.skew,
    boot: machines.boot,
    ...stopsOf({ timeline, machines, nextSequence: () => sequence }),
    kill: (owner) => {
      timeline.paused.delete(owner);
      incarnations.get(owner)?.kill();
      incarnations.delete(owner);
    },
    run: async (request) => {
      const end = await runEvents(timeline, request);
      if (end !== undefined) return end;
      if (timeline.heap.peek() === undefined) {
        return { kind: 'Deadlock', waiting: [...incarnations.values()].flatMap((life) => life.waiting()) };
      }
      timeline.now = Math.max(timeline.now, request.untilMs);
      return { kind: 'TimeUp' };
    },
    eventCount: () => timeline.eventCount,
    traceHash: () => timeline.trace.hash(),
    recentEvents: (ownerPrefix = '', count = RECENT_EVENT_COUNT) =>
      timeline.trace
        .recent(ownerPrefix, count)
        .map((event) => `+${((event.at - startAt) / 1000).toFixed(3)}s ${nameOf(event)}`),
  };
}
