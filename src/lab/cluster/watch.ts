// One watch: a list, then the changes in order, late, doubled or cut off, as a client meets them.

import { assert } from '../../domain/result.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Kind, KindMap, Subscription, WatchEvent, WatchScope } from '../../ports/cluster.ts';
import type { Random } from '../../ports/random.ts';
import { chance, drawBetween } from '../kernel/draw.ts';
import type { ClusterProfile } from './cluster-profile.ts';
import { type ObjectStore, objectName, type StoreChange } from './object-store.ts';

export interface WatchRequest<K extends Kind> {
  readonly kind: K;
  readonly scope: WatchScope;
  readonly onEvent: (event: WatchEvent<KindMap[K]>) => void;
}

export interface WatchContext {
  readonly store: ObjectStore;
  readonly profile: () => ClusterProfile;
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

interface Delivery<T> {
  readonly dueAt: number;
  readonly event: WatchEvent<T>;
  /** The object that the event is about; undefined for a snapshot. */
  readonly name: string | undefined;
}

export function createWatch<K extends Kind>(
  { store, profile, random, clock, isDown }: WatchContext,
  { kind, scope, onEvent }: WatchRequest<K>,
): Watch {
  type Item = KindMap[K];
  let queue: Delivery<Item>[] = [];
  let state: 'Listing' | 'Watching' | 'Closed' = 'Listing';
  let lastDueAt = clock.now();
  let isArmed = false;

  const arm = (): void => {
    const next = queue[0];
    if (next === undefined || isArmed) return;
    isArmed = true;
    clock.timer(Math.max(0, next.dueAt - clock.now()), `watch:${kind}`, () => {
      isArmed = false;
      deliver();
    });
  };
  const deliver = (): void => {
    // Closing, or a cut, from within `onEvent` empties the queue.
    while (queue[0] !== undefined && queue[0].dueAt <= clock.now())
      onEvent((queue.shift() as Delivery<Item>).event);
    arm();
  };
  const push = (event: WatchEvent<Item>, name: string | undefined, delayMs: number): void => {
    lastDueAt = Math.max(lastDueAt, clock.now() + delayMs);
    queue.push({ dueAt: lastDueAt, event, name });
    arm();
  };
  const list = (): void => {
    if (state === 'Closed') return;
    if (isDown()) {
      relistLater();
      return;
    }
    state = 'Watching';
    const objects = store.list(kind).filter((object) => isInScope(kind, scope, object));
    push({ type: 'Snapshot', objects }, undefined, latencyMs(profile(), random));
  };
  const relistLater = (): void => {
    clock.timer(profile().relistMs, `relist:${kind}`, list);
  };
  const cut = (): void => {
    if (state !== 'Watching') return;
    state = 'Listing';
    queue = [];
    relistLater();
  };

  clock.timer(latencyMs(profile(), random), `list:${kind}`, list);
  return {
    hear: (change) => {
      if (state !== 'Watching' || change.kind !== kind) return;
      const event = eventOf(kind, scope, change as unknown as StoreChange<K>);
      if (event === undefined) return;
      const now = profile();
      if (queue.length >= UNDELIVERED_MAX || chance(random, now.gapOdds)) {
        cut();
        return;
      }
      const name = objectName(kind, change.object as Item);
      if (event.type === 'Applied' && chance(random, now.coalesceOdds)) queue = coalesced(queue, name);
      const delayMs = chance(random, now.watchSlowOdds)
        ? now.watchSlowMs
        : drawBetween(random, { min: now.watchDelayMinMs, max: now.watchDelayMaxMs });
      push(event, name, delayMs);
      if (chance(random, now.duplicateOdds)) push(event, name, delayMs);
    },
    cut,
    close: () => {
      state = 'Closed';
      queue = [];
    },
  };
}

/** Drops what the newer event of the same object makes superfluous. A deletion never is: the new one may be another object. */
function coalesced<T>(queue: readonly Delivery<T>[], name: string): Delivery<T>[] {
  const last = queue.findLastIndex((delivery) => delivery.name === name || delivery.name === undefined);
  return queue.filter((delivery, index) => index !== last || delivery.event.type !== 'Applied');
}

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
