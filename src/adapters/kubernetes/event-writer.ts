// Kubernetes Events (events.k8s.io/v1), aggregated: the same one again counts up in the one that is there, and a flood is cut.

import type { Clock, Timer } from '../../ports/clock.ts';
import type { ClusterEvent, EventWriter } from '../../ports/cluster.ts';
import type { Log } from '../../ports/log.ts';
import { type Random, randomHex } from '../../ports/random.ts';
import { formatMicroTime } from '../../protocol/crd/timestamp.ts';
import type { ApiClient } from './api-client.ts';
import { resourceOf } from './resources.ts';

export interface EventWriterOptions {
  readonly api: ApiClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Such as `eniwhere.io/controller`. */
  readonly reportingController: string;
  /** Such as the pod's or the node's name. */
  readonly reportingInstance: string;
  /** uid of what an Event is about, without which `kubectl describe` does not find it; undefined when it is not known. */
  readonly uidOf: (about: ClusterEvent['about']) => Promise<string | undefined>;
}

export interface ClosableEventWriter extends EventWriter {
  /** Drops what is not yet written. */
  close(): void;
}

/** An Event that has been silent for so long is over: the same again makes a new one, as in client-go. */
const SERIES_MS = 6 * 60_000;
/** A series is written no more often than this, however often it counts up. */
const SERIES_WRITE_MS = 60_000;
const SERIES_MAX = 2000;
/** Waiting to be written; what comes on top is dropped. */
const PENDING_MAX = 500;
/** New Events, and counts written: at once, and a second after that. */
const BURST = 50;
const PER_SECOND = 5;
/** Limits of events.k8s.io/v1. */
const NOTE_BYTES_MAX = 1024;
const NAME_LENGTH_MAX = 253;

interface Series {
  readonly event: ClusterEvent;
  /** Of the object; undefined while it is not created. */
  name?: string;
  count: number;
  writtenCount: number;
  lastAt: number;
  writtenAt: number;
  isPending: boolean;
}

interface State extends EventWriterOptions {
  readonly series: Map<string, Series>;
  readonly pending: Series[];
  tokens: number;
  refilledAt: number;
  isWriting: boolean;
  isClosed: boolean;
  timer: Timer | undefined;
  droppedCount: number;
}

export function createEventWriter(options: EventWriterOptions): ClosableEventWriter {
  const state: State = {
    ...options,
    series: new Map(),
    pending: [],
    tokens: BURST,
    refilledAt: options.clock.now(),
    isWriting: false,
    isClosed: false,
    timer: undefined,
    droppedCount: 0,
  };
  return {
    emit: (event) => {
      if (!state.isClosed) count(state, event);
    },
    close: () => {
      state.isClosed = true;
      state.timer?.cancel();
    },
  };
}

function count(state: State, event: ClusterEvent): void {
  const now = state.clock.now();
  const { kind, namespace, name } = event.about;
  const key = JSON.stringify([kind, namespace, name, event.type, event.reason, event.message]);
  const before = state.series.get(key);
  const isOver = before === undefined || now - before.lastAt > SERIES_MS;
  const series: Series = isOver
    ? { event, count: 0, writtenCount: 0, lastAt: now, writtenAt: -Infinity, isPending: false }
    : before;
  series.count += 1;
  series.lastAt = now;
  // Set anew, so that the map is in the order of the last time.
  state.series.delete(key);
  state.series.set(key, series);
  const [oldest] = state.series.keys();
  if (state.series.size > SERIES_MAX && oldest !== undefined) state.series.delete(oldest);
  if (!series.isPending) enqueue(state, series);
}

function enqueue(state: State, series: Series): void {
  if (state.pending.length >= PENDING_MAX) {
    state.droppedCount += 1;
    if (state.droppedCount === 1) {
      state.log.warn('Events are dropped: more of them than the API server is asked to take', {
        pendingMax: PENDING_MAX,
      });
    }
    return;
  }
  series.isPending = true;
  state.pending.push(series);
  void drain(state);
}

/** Writes what is due, one at a time, and comes back for what is not. */
async function drain(state: State): Promise<void> {
  if (state.isWriting) return;
  state.isWriting = true;
  try {
    for (let next = takeDue(state); next !== undefined && !state.isClosed; next = takeDue(state)) {
      await write(state, next);
    }
  } finally {
    state.isWriting = false;
  }
  if (state.pending.length === 0) state.droppedCount = 0;
  state.timer?.cancel();
  const waitMs = nextDueMs(state);
  if (waitMs === undefined || state.isClosed) return;
  state.timer = state.clock.timer(waitMs, 'kubernetes:events', () => void drain(state));
}

const dueAt = (series: Series): number => series.writtenAt + SERIES_WRITE_MS;

function takeDue(state: State): Series | undefined {
  const now = state.clock.now();
  refill(state, now);
  const index = state.pending.findIndex((series) => dueAt(series) <= now);
  if (index < 0 || state.tokens < 1) return undefined;
  state.tokens -= 1;
  const [series] = state.pending.splice(index, 1);
  if (series !== undefined) series.isPending = false;
  return series;
}

function refill(state: State, now: number): void {
  // A clock set back must not stop the flow.
  const seconds = Math.max(0, now - state.refilledAt) / 1000;
  state.tokens = Math.min(BURST, state.tokens + seconds * PER_SECOND);
  state.refilledAt = now;
}

function nextDueMs(state: State): number | undefined {
  if (state.pending.length === 0) return undefined;
  const now = state.clock.now();
  const soonest = Math.min(...state.pending.map(dueAt)) - now;
  return Math.max(1000 / PER_SECOND, soonest);
}

async function write(state: State, series: Series): Promise<void> {
  const { name } = series;
  series.writtenAt = state.clock.now();
  series.writtenCount = series.count;
  const outcome = name === undefined ? await create(state, series) : await update(state, series, name);
  if (outcome.kind === 'ok') return;
  const cause = outcome.kind === 'failed' ? outcome.failure.message : outcome.cause;
  if (outcome.kind === 'failed' && outcome.failure.kind === 'not-found' && name !== undefined) {
    // Events are kept for an hour: this one is gone, so it begins anew.
    delete series.name;
    await create(state, series);
    return;
  }
  state.log.warn('an Event was not written', {
    reason: series.event.reason,
    message: series.event.message,
    cause,
  });
}

async function create(state: State, series: Series): ReturnType<ApiClient['call']> {
  const { event } = series;
  const { about } = event;
  const namespace = namespaceOf(event);
  const { apiVersion, kindName } = resourceOf(about.kind);
  const uid = await state.uidOf(about);
  const name = `${about.name.slice(0, NAME_LENGTH_MAX - 17)}.${randomHex(state.random, 16)}`;
  const outcome = await state.api.call({
    what: `create an Event ${event.reason}`,
    method: 'POST',
    path: eventsPath(namespace),
    body: {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name, namespace },
      eventTime: formatMicroTime(series.lastAt),
      reportingController: state.reportingController,
      reportingInstance: state.reportingInstance.slice(0, 128),
      action: event.reason,
      reason: event.reason,
      type: event.type,
      note: cut(event.message),
      regarding: {
        apiVersion,
        kind: kindName,
        name: about.name,
        ...(about.namespace === undefined ? {} : { namespace: about.namespace }),
        ...(uid === undefined ? {} : { uid }),
      },
      // More than once before it could be written.
      ...(series.count > 1 ? { series: seriesOf(series) } : {}),
    },
  });
  if (outcome.kind === 'ok') series.name = name;
  return outcome;
}

const update = (state: State, series: Series, name: string): ReturnType<ApiClient['call']> =>
  state.api.call({
    what: `count up an Event ${series.event.reason}`,
    method: 'PATCH',
    path: `${eventsPath(namespaceOf(series.event))}/${encodeURIComponent(name)}`,
    contentType: 'application/merge-patch+json',
    body: { series: seriesOf(series) },
  });

const seriesOf = (series: Series): unknown => ({
  count: series.count,
  lastObservedTime: formatMicroTime(series.lastAt),
});

/** Events on objects of the whole cluster lie in `default`: the API server takes them nowhere else. */
const namespaceOf = ({ about }: ClusterEvent): string => about.namespace ?? 'default';

const eventsPath = (namespace: string): string =>
  `/apis/events.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/events`;

/** At most 1024 bytes, cut between characters. */
function cut(text: string): string {
  let kept = text;
  while (Buffer.byteLength(kept) > NOTE_BYTES_MAX) {
    kept = kept.slice(0, Math.min(kept.length - 1, NOTE_BYTES_MAX));
  }
  return kept;
}
