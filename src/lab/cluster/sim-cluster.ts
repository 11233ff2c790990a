// Kubernetes in memory, as far as Eniwhere uses it.

import type { Clock } from '../../ports/clock.ts';
import type { ControllerCluster } from '../../ports/cluster.ts';
import type { Random } from '../../ports/random.ts';
import { seededRandom } from '../kernel/seeded-random.ts';
import { createApiServer } from './api-server.ts';
import { type ClusterAdmin, createClusterAdmin } from './cluster-admin.ts';
import { type ClusterProfile, calmCluster, type FaultHearer } from './cluster-profile.ts';
import { createEventRecorder } from './event-recorder.ts';
import { createGarbageCollector } from './garbage-collector.ts';
import { createObjectStore } from './object-store.ts';
import { createStoreHistory } from './store-history.ts';
import { createSimLease, type SimLease } from './sim-lease-store.ts';
import { createWatchIndex } from './watch-index.ts';
import { createSimClusterClient } from './sim-cluster-client.ts';

export interface SimClusterOptions {
  /** The world's clock, virtual or real. */
  readonly clock: Clock;
  readonly random: Random;
  /** The profile in force now; it may change while the world runs. Calm when absent. */
  readonly profile?: () => ClusterProfile;
  /** Whether lists can be stale, which means to remember for `staleListMs` what the store held; false when absent. */
  readonly remembers?: boolean;
  /** Told of each fault, by the profile's field, when it strikes. */
  readonly onFault?: FaultHearer;
}

export interface SimClusterClientOptions {
  /** The caller's own clock, by which it hears answers and events: one that has died hears none. The world's when absent. */
  readonly clock?: Clock;
  /** Whether its lists may come from a stale cache, where the profile has such; true when absent. */
  readonly staleLists?: boolean;
}

export interface SimCluster {
  client(options?: SimClusterClientOptions): ControllerCluster;
  readonly admin: ClusterAdmin;
  /** For which controllers contend. */
  readonly lease: SimLease;
}

export function createSimCluster({
  clock,
  random,
  profile = () => calmCluster,
  remembers = false,
  onFault = () => {},
}: SimClusterOptions): SimCluster {
  const root = seededRandom(random.uint32());
  const store = createObjectStore(root.fork('uids'));
  const server = createApiServer({ clock, random: root.fork('requests'), profile, onFault });
  const history = remembers
    ? createStoreHistory(store, { now: () => clock.now(), reachMs: () => profile().staleListMs })
    : undefined;
  const collector = createGarbageCollector({
    clock,
    store,
    delayMs: () => profile().garbageCollectionMs,
  });
  const watches = createWatchIndex(store);
  const events = createEventRecorder(() => clock.now());
  let clientCount = 0;
  return {
    client: (options = {}) => {
      clientCount += 1;
      return createSimClusterClient({
        server,
        store,
        watches,
        collector,
        events,
        profile,
        history: options.staleLists === false ? undefined : history,
        onFault,
        random: root.fork(`client-${clientCount}`),
        clock: options.clock ?? clock,
      });
    },
    admin: createClusterAdmin({ store, events, server }),
    lease: createSimLease({ server, clock, random: root.fork('lease'), profile, onFault }),
  };
}
