// The Cluster port over a real API server.

import type { Clock } from '../../ports/clock.ts';
import type { ClusterEvent, ClusterReader, ControllerCluster } from '../../ports/cluster.ts';
import type { Log } from '../../ports/log.ts';
import type { Random } from '../../ports/random.ts';
import { podKey } from '../../domain/ids.ts';
import { type ApiClient, createApiClient } from './api-client.ts';
import type { FieldManager } from './apply.ts';
import { createClusterWriter } from './cluster-writer.ts';
import type { KubernetesConnection } from './connection.ts';
import { createEventWriter } from './event-writer.ts';
import { getObject } from './get-object.ts';
import { type Reflector, type ReflectorTimings, startReflector } from './reflector.ts';
import { createTransport, type Transport } from './transport.ts';

export interface KubernetesClusterOptions {
  readonly connection: KubernetesConnection;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** The owner of what is written (metadata.managedFields), and the writer of Events. */
  readonly fieldManager: FieldManager;
  /** Name of the pod or the node, for Events. */
  readonly reportingInstance: string;
  /** Of Eniwhere, for the user agent. */
  readonly version: string;
  readonly timings?: Partial<KubernetesTimings>;
}

export interface KubernetesTimings extends ReflectorTimings {
  /** From the first byte sent to the whole answer. Past it the outcome of a write is unknown. */
  readonly requestTimeoutMs: number;
}

export interface KubernetesCluster {
  /** All rights of the port; RBAC decides which of them the API server grants. */
  readonly cluster: ControllerCluster;
  /** Ends all watches and breaks off what is under way. */
  close(): void;
}

const TIMINGS: KubernetesTimings = {
  requestTimeoutMs: 15_000,
  listTimeoutMs: 60_000,
  watchSilenceMs: 150_000,
  watchSeconds: 300,
};

export function createKubernetesCluster(options: KubernetesClusterOptions): KubernetesCluster {
  const { connection, clock, random, log, fieldManager } = options;
  const timings = { ...TIMINGS, ...options.timings };
  const transport = createTransport({ connection, clock, userAgent: `${fieldManager}/${options.version}` });
  const { requestTimeoutMs } = timings;
  const api = createApiClient({ connection, transport, clock, random, requestTimeoutMs });
  const { reader, reflectors } = createReader({ ...options, timings, transport, api });
  const events = createEventWriter({
    api,
    clock,
    random,
    log,
    reportingController: `eniwhere.io/${fieldManager}`,
    reportingInstance: options.reportingInstance,
    uidOf: (about) => findUid(api, reflectors, about),
  });
  return {
    cluster: { ...reader, ...createClusterWriter({ api, fieldManager }), emit: events.emit },
    close: () => {
      events.close();
      for (const { reflector } of reflectors) reflector.close();
      transport.close();
    },
  };
}

interface Watching {
  readonly kind: ClusterEvent['about']['kind'];
  readonly reflector: Reflector;
}

interface ReaderContext extends KubernetesClusterOptions {
  readonly timings: KubernetesTimings;
  readonly transport: Transport;
  readonly api: ApiClient;
}

function createReader(context: ReaderContext): {
  readonly reader: ClusterReader;
  readonly reflectors: ReadonlySet<Watching>;
} {
  const reflectors = new Set<Watching>();
  const reader: ClusterReader = {
    watch: ({ kind, scope = {}, onEvent }) => {
      const reflector = startReflector(context, { kind, scope, onEvent });
      const watching = { kind, reflector };
      reflectors.add(watching);
      return {
        close: () => {
          reflectors.delete(watching);
          reflector.close();
        },
      };
    },
    get: (kind, name) => getObject(context.api, kind, name),
  };
  return { reader, reflectors };
}

/**
 * From the watches when one has it, else from the server. Events of nodes are also found by the node's name in place of
 * its uid, as kubelet writes them, and agents may not read nodes.
 */
async function findUid(
  api: ApiClient,
  reflectors: ReadonlySet<Watching>,
  { kind, name, namespace }: ClusterEvent['about'],
): Promise<string | undefined> {
  const key = kind === 'Pod' ? podKey(namespace ?? '', name) : name;
  for (const watching of reflectors) {
    const uid = watching.kind === kind ? watching.reflector.uidOf(key) : undefined;
    if (uid !== undefined) return uid;
  }
  if (kind === 'Node') return name;
  const read = await getObject(api, kind, key);
  return read.kind === 'ok' ? read.value?.uid : undefined;
}
