// Lists, then watches, for ever: resumes where it was, lists anew after a gap, and never gives up.

import type { Clock, Timer } from '../../ports/clock.ts';
import type { Kind, KindMap, WatchEvent, WatchScope } from '../../ports/cluster.ts';
import type { Log } from '../../ports/log.ts';
import { type Random, randomInt } from '../../ports/random.ts';
import { backOffMs } from './back-off.ts';
import { classifyAnswer } from './classify-answer.ts';
import type { KubernetesConnection } from './connection.ts';
import { isUnknownKind, listPages } from './list-pages.ts';
import { createObjectCache, type ObjectCache } from './object-cache.ts';
import { fieldSelector, resourceOf } from './resources.ts';
import type { ApiAnswer, ApiStream, Transport } from './transport.ts';
import type { RawWatchEvent } from './watch-lines.ts';
import { type WatchEnd, watchOnce } from './watch-once.ts';

export interface ReflectorTimings {
  /** For one page of a list. */
  readonly listTimeoutMs: number;
  /** API servers send a bookmark about every minute; a longer silence is a dead connection. */
  readonly watchSilenceMs: number;
  /** The server ends a watch after so long, and half as long again at most, so that clients spread over servers. */
  readonly watchSeconds: number;
}

export interface ReflectorDeps {
  readonly transport: Transport;
  readonly connection: KubernetesConnection;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly timings: ReflectorTimings;
}

export interface ReflectorRequest<K extends Kind> {
  readonly kind: K;
  readonly scope: WatchScope;
  readonly onEvent: (event: WatchEvent<KindMap[K]>) => void;
}

export interface Reflector {
  close(): void;
  /** uid of an object that the watch has brought. */
  uidOf(key: string): string | undefined;
}

/** Failed resumes in a row after which a new list is the surer way: the server may have lost its past. */
const RESUMES_MAX = 5;

/** Per reflector: what its loop shares. */
interface State<K extends Kind> extends ReflectorDeps {
  readonly request: ReflectorRequest<K>;
  readonly cache: ObjectCache<K>;
  isClosed: boolean;
  /** Ends what the loop waits for just now. */
  interrupt: () => void;
}

export function startReflector<K extends Kind>(deps: ReflectorDeps, request: ReflectorRequest<K>): Reflector {
  const cache = createObjectCache(request.kind, deps.log);
  const state: State<K> = { ...deps, request, cache, isClosed: false, interrupt: () => undefined };
  void run(state);
  return {
    close: () => {
      state.isClosed = true;
      state.interrupt();
    },
    uidOf: (key) => cache.get(key)?.uid,
  };
}

async function run<K extends Kind>(state: State<K>): Promise<void> {
  let failureCount = 0;
  while (!state.isClosed) {
    const listed = await list(state);
    if (listed.kind === 'Listed') {
      failureCount = 0;
      const wasHeard = await follow(state, listed.resourceVersion);
      // A watch that ends at once, again and again, must not become a storm of lists.
      if (!wasHeard) await pause(state, backOffMs(state.random, 2));
    } else {
      await pause(state, backOffMs(state.random, failureCount, listed.retryAfterMs));
      failureCount += 1;
    }
  }
}

type Listed =
  | { readonly kind: 'Listed'; readonly resourceVersion: string }
  | { readonly kind: 'Failed'; readonly retryAfterMs?: number };

async function list<K extends Kind>(state: State<K>): Promise<Listed> {
  const { cache, request, transport, timings, log } = state;
  const next = cache.startSnapshot();
  const end = await listPages(transport, {
    path: resourceOf(request.kind).path,
    fieldSelector: fieldSelector(request.scope),
    timeoutMs: timings.listTimeoutMs,
    isClosed: () => state.isClosed,
    onObject: (object) => next.add(object),
  });
  if (state.isClosed) return { kind: 'Failed' };
  switch (end.kind) {
    case 'Listed':
      tell(state, { type: 'Snapshot', objects: next.finish() });
      return end;
    case 'Expired':
      log.info('a list took longer than the API server keeps its past; it begins again', {
        kind: request.kind,
      });
      return { kind: 'Failed' };
    case 'Failed':
      return { kind: 'Failed', ...troubled(state, end.answer, 'list') };
  }
}

/** Logs a refused or broken list or watch, and answers how long the server wants to be left alone. */
function troubled<K extends Kind>(
  { request, connection, log }: State<K>,
  answer: ApiAnswer,
  verb: 'list' | 'watch',
): { readonly retryAfterMs?: number } {
  const { plural } = resourceOf(request.kind);
  if (answer.kind === 'Answered' && answer.status === 401) connection.refused();
  const outcome = classifyAnswer(answer, `${verb} ${plural}`, 'read');
  const cause = outcome.kind === 'failed' ? outcome.failure.message : `${verb} ${plural}`;
  const fix = isUnknownKind(answer) ? `the API server does not know ${plural}: apply its CRD` : undefined;
  log.warn('the cluster cannot be followed just now; it is tried again', {
    cause,
    ...(fix === undefined ? {} : { fix }),
  });
  const retryAfterMs = answer.kind === 'Answered' ? answer.retryAfterMs : undefined;
  return retryAfterMs === undefined ? {} : { retryAfterMs };
}

/** Watches from `resourceVersion` on until there is a gap. Answers whether anything was heard at all. */
async function follow<K extends Kind>(state: State<K>, resourceVersion: string): Promise<boolean> {
  const position = { resourceVersion };
  let failureCount = 0;
  let wasEverHeard = false;
  while (!state.isClosed && failureCount <= RESUMES_MAX) {
    const startedAt = state.clock.now();
    const { end, wasHeard } = await watch(state, position);
    wasEverHeard ||= wasHeard;
    if (state.isClosed || end.kind === 'Expired') break;
    const lasted = state.clock.now() - startedAt > 1000;
    failureCount = wasHeard || (end.kind === 'Ended' && lasted) ? 0 : failureCount + 1;
    const retryAfterMs = logEnd(state, end);
    // Also after an end in good order: a thousand agents whose server restarts must not come back at once.
    await pause(state, backOffMs(state.random, failureCount, retryAfterMs));
  }
  return wasEverHeard;
}

function logEnd<K extends Kind>(state: State<K>, end: WatchEnd): number | undefined {
  switch (end.kind) {
    case 'Ended':
    case 'Expired':
      return undefined;
    case 'Broken':
      state.log.info('a watch broke off; it goes on from where it was', {
        kind: state.request.kind,
        cause: end.cause,
      });
      return end.retryAfterMs;
    case 'Refused':
      return troubled(state, end.answer, 'watch').retryAfterMs;
  }
}

interface Position {
  resourceVersion: string;
}

function watch<K extends Kind>(
  state: State<K>,
  position: Position,
): Promise<{ readonly end: WatchEnd; readonly wasHeard: boolean }> {
  const { request, timings, random, transport } = state;
  const seconds = timings.watchSeconds + randomInt(random, Math.max(1, Math.ceil(timings.watchSeconds / 2)));
  const query = new URLSearchParams({
    watch: '1',
    allowWatchBookmarks: 'true',
    timeoutSeconds: String(seconds),
    resourceVersion: position.resourceVersion,
  });
  const selector = fieldSelector(request.scope);
  if (selector !== undefined) query.set('fieldSelector', selector);
  return new Promise((resolve) => {
    let wasHeard = false;
    const finish = (end: WatchEnd): void => resolve({ end, wasHeard });
    const stream: ApiStream = watchOnce(transport, {
      path: `${resourceOf(request.kind).path}?${query.toString()}`,
      silenceMs: timings.watchSilenceMs,
      onEvent: (event) => {
        wasHeard = true;
        position.resourceVersion = event.resourceVersion;
        const isTaken = take(state, event);
        if (isTaken) return;
        stream.close();
        finish({ kind: 'Expired' });
      },
      onEnd: finish,
    });
    state.interrupt = () => {
      stream.close();
      finish({ kind: 'Ended' });
    };
  });
}

/** Answers false when the listener failed: only a new list puts it right again. */
function take<K extends Kind>(
  state: State<K>,
  event: Extract<RawWatchEvent, { readonly resourceVersion: string }>,
): boolean {
  if (event.type === 'Bookmark' || state.isClosed) return true;
  const change =
    event.type === 'Applied' ? state.cache.apply(event.object) : state.cache.remove(event.object);
  return change === undefined || tell(state, change);
}

function tell<K extends Kind>(state: State<K>, event: WatchEvent<KindMap[K]>): boolean {
  try {
    state.request.onEvent(event);
    return true;
  } catch (error) {
    // A mistake of ours. The watch outlives it, and the listener is given the whole state anew.
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    state.log.error('a listener of the cluster crashed', { kind: state.request.kind, error: text });
    return false;
  }
}

/** Sleeps, unless closed. */
function pause<K extends Kind>(state: State<K>, ms: number): Promise<void> {
  if (state.isClosed) return Promise.resolve();
  return new Promise((resolve) => {
    const timer: Timer = state.clock.timer(ms, 'kubernetes:pause', resolve);
    state.interrupt = () => {
      timer.cancel();
      resolve();
    };
  });
}
