// The ControllerCluster port over the simulated cluster.

import type { EniConfigStatus } from '../../domain/eniconfig/eni-config.ts';
import type { NodeNetworkSpec } from '../../domain/ipam/node-network.ts';
import { emptyStatus } from '../../domain/ipam/node-network.ts';
import { err, ok, type Result } from '../../domain/result.ts';
import type { Clock } from '../../ports/clock.ts';
import type {
  ClusterFailure,
  ClusterReader,
  ClusterWriter,
  ControllerCluster,
  Kind,
  KindMap,
  NodeNetworkRecord,
  NodeRecord,
  StatusWriter,
} from '../../ports/cluster.ts';
import type { Random } from '../../ports/random.ts';
import { chance } from '../kernel/draw.ts';
import { type ApiServer, reading } from './api-server.ts';
import type { ClusterProfile, FaultHearer } from './cluster-profile.ts';
import type { EventRecorder } from './event-recorder.ts';
import type { GarbageCollector } from './garbage-collector.ts';
import type { ObjectStore } from './object-store.ts';
import type { StoreHistory } from './store-history.ts';
import type { WatchIndex } from './watch-index.ts';
import { createWatch } from './watch.ts';

export interface ClientContext {
  readonly server: ApiServer;
  readonly store: ObjectStore;
  readonly watches: WatchIndex;
  readonly collector: GarbageCollector;
  readonly events: EventRecorder;
  readonly profile: () => ClusterProfile;
  /** What stale lists are answered from; undefined: none are. */
  readonly history: StoreHistory | undefined;
  readonly onFault: FaultHearer;
  readonly random: Random;
  /** The caller's own. */
  readonly clock: Clock;
}

type ClusterResult<T> = Result<T, ClusterFailure>;

export const createSimClusterClient = (context: ClientContext): ControllerCluster => ({
  ...readerOf(context),
  ...writerOf(context),
  ...statusWriterOf(context),
  emit: (event) => {
    // The port promises no answer; an Event that an outage swallows is dropped, as in life.
    if (!context.server.isDown()) context.events.record(event);
  },
});

function readerOf({
  server,
  store,
  watches,
  history,
  profile,
  onFault,
  random,
  clock,
}: ClientContext): ClusterReader {
  return {
    watch: ({ kind, scope = {}, onEvent }) => {
      const watch = createWatch(
        { store, history, profile, onFault, random, clock, isDown: () => server.isDown() },
        { kind, scope, onEvent },
      );
      const ofStore = watches.add(kind, scope, (change) => watch.hear(change));
      const ofServer = server.onDown(() => watch.cut());
      return {
        close: () => {
          ofStore.close();
          ofServer.close();
          watch.close();
        },
      };
    },
    get: (kind, name) =>
      server.request(
        clock,
        `get:${kind}`,
        reading(() => store.get(kind, name)),
      ),
  };
}

function writerOf(context: ClientContext): ClusterWriter {
  const { server, store, collector, clock } = context;
  return {
    createNodeNetwork: (name, owner, spec) =>
      server.request(clock, 'create:NodeNetwork', () => {
        if (store.get('NodeNetwork', name) !== undefined) return err(alreadyExists('NodeNetwork', name));
        return ok(createOwned({ store, collector, name, owner, spec }));
      }),
    updateNodeNetworkSpec: (record) =>
      server.request(clock, 'update:NodeNetwork', () =>
        checked(context, 'NodeNetwork', record, () =>
          store.update('NodeNetwork', record.name, (before) => ({ ...before, spec: record.spec })),
        ),
      ),
    deleteNodeNetwork: (record) =>
      server.request(clock, 'delete:NodeNetwork', () =>
        checked(context, 'NodeNetwork', record, () => {
          store.delete('NodeNetwork', record.name);
        }),
      ),
    updateEniConfigStatus: (record, status: EniConfigStatus) =>
      server.request(clock, 'status:EniConfig', () =>
        checked(context, 'EniConfig', record, () => {
          store.update('EniConfig', record.name, (before) => ({ ...before, status }));
        }),
      ),
    updateNodeNetworkClassStatus: (record, status) =>
      server.request(clock, 'status:NodeNetworkClass', () =>
        checked(context, 'NodeNetworkClass', record, () => {
          store.update('NodeNetworkClass', record.name, (before) => ({ ...before, status }));
        }),
      ),
    ...eniConfigWriterOf(context),
    ...nodeWriterOf(context),
  };
}

type EniConfigWriter = Pick<ClusterWriter, 'createEniConfig' | 'updateEniConfigSpec' | 'deleteEniConfig'>;

function eniConfigWriterOf(context: ClientContext): EniConfigWriter {
  const { server, store, clock } = context;
  return {
    createEniConfig: (eniConfig) =>
      server.request(clock, 'create:EniConfig', () => {
        const { name, labels } = eniConfig;
        if (store.get('EniConfig', name) !== undefined) return err(alreadyExists('EniConfig', name));
        const spec = { kind: 'Parsed', eniConfig } as const;
        return ok(store.create('EniConfig', { name, labels, annotations: {}, spec }));
      }),
    updateEniConfigSpec: (record, { subnetId, securityGroupIds }) =>
      server.request(clock, 'update:EniConfig', () =>
        checked(context, 'EniConfig', record, () =>
          store.update('EniConfig', record.name, (before) => {
            const eniConfig = { name: before.name, labels: before.labels, subnetId, securityGroupIds };
            return { ...before, spec: { kind: 'Parsed', eniConfig } };
          }),
        ),
      ),
    deleteEniConfig: (record) =>
      server.request(clock, 'delete:EniConfig', () =>
        checked(context, 'EniConfig', record, () => {
          store.delete('EniConfig', record.name);
        }),
      ),
  };
}

function nodeWriterOf(
  context: ClientContext,
): Pick<ClusterWriter, 'addNodeTaint' | 'removeNodeTaint' | 'setExtendedResources'> {
  const { server, store, clock } = context;
  return {
    addNodeTaint: (record, taint) =>
      server.request(clock, 'update:Node', () =>
        checked(context, 'Node', record, () =>
          store.update('Node', record.name, (before) => ({ ...before, taints: [...before.taints, taint] })),
        ),
      ),
    removeNodeTaint: (record, key) =>
      server.request(clock, 'update:Node', () =>
        checked(context, 'Node', record, () =>
          store.update('Node', record.name, (before) => ({
            ...before,
            taints: before.taints.filter((taint) => taint.key !== key),
          })),
        ),
      ),
    setExtendedResources: (record, extendedResources) =>
      server.request(clock, 'status:Node', () =>
        checked(context, 'Node', record, () =>
          store.update('Node', record.name, (before) => ({ ...before, extendedResources })),
        ),
      ),
  };
}

function statusWriterOf(context: ClientContext): StatusWriter {
  return {
    updateNodeNetworkStatus: (record) =>
      context.server.request(context.clock, 'status:NodeNetwork', () =>
        checked(context, 'NodeNetwork', record, () =>
          context.store.update('NodeNetwork', record.name, (before) => ({
            ...before,
            status: record.status,
          })),
        ),
      ),
  };
}

function createOwned(request: {
  readonly store: ObjectStore;
  readonly collector: GarbageCollector;
  readonly name: NodeRecord['name'];
  readonly owner: NodeRecord;
  readonly spec: NodeNetworkSpec;
}): NodeNetworkRecord {
  const { store, collector, name, owner, spec } = request;
  const record = store.create('NodeNetwork', {
    name,
    labels: {},
    annotations: {},
    spec,
    status: emptyStatus,
  });
  collector.own(record, owner);
  return record;
}

/** Runs `write` if `record` is the newest version of its object. */
function checked<K extends Exclude<Kind, 'Pod' | 'Namespace'>, T>(
  { store, profile, onFault, random }: ClientContext,
  kind: K,
  record: KindMap[K],
  write: () => T,
): ClusterResult<T> {
  if (store.get(kind, record.name) !== undefined && chance(random, profile().conflictOdds)) {
    onFault('conflictOdds');
    store.touch(kind, record.name);
  }
  const current = store.get(kind, record.name);
  if (current === undefined) return err(notFound(kind, record.name));
  if (current.resourceVersion !== record.resourceVersion) return err(conflict(kind, record.name));
  return ok(write());
}

const alreadyExists = (kind: Kind, name: string): ClusterFailure => ({
  kind: 'already-exists',
  message: `${kind} "${name}" already exists`,
});

const notFound = (kind: Kind, name: string): ClusterFailure => ({
  kind: 'not-found',
  message: `${kind} "${name}" not found`,
});

const conflict = (kind: Kind, name: string): ClusterFailure => ({
  kind: 'conflict',
  message: `Operation cannot be fulfilled on ${kind} "${name}": the object has been modified; apply your changes to the latest version and try again`,
});
