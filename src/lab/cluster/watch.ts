// One watch: a list, then the changes in order, late, doubled or cut off, as a client meets them.

import { assert } from '../../domain/result.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Kind, KindMap, Subscription, WatchEvent, WatchScope } from '../../ports/cluster.ts';
import type { Random } from '../../ports/random.ts';
import { chance, drawBetween } from '../kernel/draw.ts';
import type { ClusterProfile, FaultHearer } from './cluster-profile.ts';
import { createDeliveryQueue } from './delivery-queue.ts';
import { type ObjectStore, objectName, type StoreChange } from './object-store.ts';
import type { StoreHistory } from './store-history.ts';

export interface WatchRequest<K extends Kind> {
  readonly kind: K;
  readonly scope: WatchScope;
  readonly onEvent: (event: WatchEvent<KindMap[K]>) => void;
}

export interface WatchContext {
  readonly store: ObjectStore;
  /** What stale lists are answered from; undefined: none are. */
  readonly history: StoreHistory | undefined;
  readonly profile: () => ClusterProfile;
  readonly onFault: FaultHearer;
  readonly random: Random;
  /** The watcher's own clock: one that has died hears no events. */
  readonly clock: Clock;
  readonly isDown: () => boolean;
}

export interface Watch extends Subscription {
  /** A change in the store that may concern this watch. */
  hear(change: StoreChange<Kind>): void;
  /** The connection breaks: what is undelivered is lost, and the watch lists anew. */
  cut(): void;
}

/** Undelivered events after which the API server cuts the watch off, as it does with slow clients. */
const UNDELIVERED_MAX = 1000;

export function createWatch<K extends Kind>(
  { store, history, profile, onFault, random, clock, isDown }: WatchContext,
  { kind, scope, onEvent }: WatchRequest<K>,
): Watch {
  const queue = createDeliveryQueue<KindMap[K]>({ clock, label: `watch:${kind}`, deliver: onEvent });
  let state: 'Listing' | 'Watching' | 'Closed' = 'Listing';

  const list = (): void => {
    if (state === 'Closed') return;
    if (isDown()) return relistLater();
    state = 'Watching';
    const { staleListOdds, staleListMs } = profile();
    const snapshot = (objects: readonly KindMap[K][], delayMs: number): void => {
      const ofScope = objects.filter((object) => isInScope(kind, scope, object));
      queue.push({ type: 'Snapshot', objects: ofScope }, undefined, delayMs);
    };
    let delayMs = latencyMs(profile(), random);
    if (history !== undefined && chance(random, staleListOdds)) {
      onFault('staleListOdds');
      snapshot(history.listAsOf(kind, drawBetween(random, { min: 0, max: staleListMs })), delayMs);
      // What has happened since is watched from there on; one more list stands for it.
      delayMs = catchUpMs(profile(), random);
    }
    snapshot(presentIn(store, kind, scope), delayMs);
  };
  const relistLater = (): void => {
    clock.timer(profile().relistMs, `relist:${kind}`, list);
  };
  const cut = (): void => {
    if (state !== 'Watching') return;
    state = 'Listing';
    queue.clear();
    relistLater();
  };
  const send = (event: WatchEvent<KindMap[K]>, name: string): void => {
    const { gapOdds, coalesceOdds, duplicateOdds } = profile();
    if (queue.length() >= UNDELIVERED_MAX || chance(random, gapOdds)) {
      onFault('gapOdds');
      cut();
      return;
    }
    if (event.type === 'Applied' && chance(random, coalesceOdds)) {
      onFault('coalesceOdds');
      queue.coalesce(name);
    }
    const isSlow = chance(random, profile().watchSlowOdds);
    if (isSlow) onFault('watchSlowOdds');
    queue.push(event, name, isSlow ? profile().watchSlowMs : eventDelayMs(profile(), random));
    if (chance(random, duplicateOdds)) {
      onFault('duplicateOdds');
      queue.push(event, name, 0);
    }
  };

  clock.timer(latencyMs(profile(), random), `list:${kind}`, list);
  return {
    hear: (change) => {
      if (state !== 'Watching' || change.kind !== kind) return;
      const ofKind = change as unknown as StoreChange<K>;
      const event = eventOf(kind, scope, ofKind);
      if (event !== undefined) send(event, objectName(kind, ofKind.object));
    },
    cut,
    close: () => {
      state = 'Closed';
      queue.clear();
    },
  };
}

/** Objects that may be in the scope, without going through those of all nodes for one. */
function presentIn<K extends Kind>(
  store: ObjectStore,
  kind: K,
  { name, nodeName }: WatchScope,
): readonly KindMap[K][] {
  if (name !== undefined) return listOf(store.get(kind, name));
  if (nodeName !== undefined && kind === 'Pod')
    return store.podsOf(nodeName) as readonly unknown[] as readonly KindMap[K][];
  return store.list(kind);
}

const listOf = <T>(object: T | undefined): readonly T[] => (object === undefined ? [] : [object]);

const eventDelayMs = (profile: ClusterProfile, random: Random): number =>
  drawBetween(random, { min: profile.watchDelayMinMs, max: profile.watchDelayMaxMs });

/** How long a cache that is behind takes to catch up. */
const catchUpMs = (profile: ClusterProfile, random: Random): number =>
  chance(random, profile.watchSlowOdds) ? profile.watchSlowMs : eventDelayMs(profile, random);

const latencyMs = (profile: ClusterProfile, random: Random): number =>
  drawBetween(random, { min: profile.latencyMinMs, max: profile.latencyMaxMs });

/** What a change is to a watch of the scope: an object that leaves the scope is deleted, as far as the watch goes. */
function eventOf<K extends Kind>(
  kind: K,
  scope: WatchScope,
  { type, object, before }: StoreChange<K>,
): WatchEvent<KindMap[K]> | undefined {
  const wasIn = before !== undefined && isInScope(kind, scope, before);
  if (type === 'Applied' && isInScope(kind, scope, object)) return { type: 'Applied', object };
  return wasIn ? { type: 'Deleted', object } : undefined;
}

function isInScope<K extends Kind>(kind: K, { name, nodeName }: WatchScope, object: KindMap[K]): boolean {
  if (name !== undefined && objectName(kind, object) !== name) return false;
  if (nodeName === undefined) return true;
  assert(kind === 'Pod', 'only pods are watched by their node');
  return (object as KindMap['Pod']).nodeName === nodeName;
}
