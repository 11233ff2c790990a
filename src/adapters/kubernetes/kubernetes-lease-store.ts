// The lease that controllers contend for, as a Lease object.

import type { Result } from '../../domain/result.ts';
import type { SeenLease } from '../../domain/leadership/lease.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ClusterOutcome } from '../../ports/cluster.ts';
import type { LeaseStore } from '../../ports/leadership.ts';
import { done, failed, unknown } from '../../ports/outcome.ts';
import type { Random } from '../../ports/random.ts';
import { readLease, writeLeaseSpec } from '../../protocol/crd/lease.ts';
import type { Unreadable } from '../../protocol/crd/object.ts';
import { type ApiClient, createApiClient } from './api-client.ts';
import type { KubernetesConnection } from './connection.ts';
import { createTransport } from './transport.ts';

export interface LeaseStoreOptions {
  readonly connection: KubernetesConnection;
  readonly clock: Clock;
  readonly random: Random;
  readonly namespace: string;
  readonly name: string;
  readonly fieldManager: string;
  /** Of Eniwhere, for the user agent. */
  readonly version: string;
}

export interface ClosableLeaseStore extends LeaseStore {
  close(): void;
}

/** A renewal that hangs must leave time for others before the deadline. */
const REQUEST_TIMEOUT_MS = 5_000;

/** With connections of its own: a renewal waits behind no list. */
export function createKubernetesLeaseStore(options: LeaseStoreOptions): ClosableLeaseStore {
  const { connection, clock, random, namespace, name, fieldManager } = options;
  const transport = createTransport({ connection, clock, userAgent: `${fieldManager}/${options.version}` });
  const api = createApiClient({
    connection,
    transport,
    clock,
    random,
    requestTimeoutMs: REQUEST_TIMEOUT_MS,
    // A renewal that waits for minutes is worth nothing: the election has a rhythm of its own.
    waitsForBusy: false,
  });
  const list = `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/leases`;
  const path = `${list}/${encodeURIComponent(name)}`;
  const what = `Lease "${namespace}/${name}"`;
  return {
    read: async () => {
      const outcome = await api.find({ what: `read ${what}`, path });
      if (outcome.kind !== 'ok' || outcome.value === undefined) return outcome as ClusterOutcome<undefined>;
      const lease = readLease(outcome.value);
      return lease.ok
        ? done(lease.value)
        : failed({ kind: 'invalid', message: unreadable(what, lease.error) });
    },
    write: async (lease, over) => {
      const metadata = { name, namespace, ...(over === undefined ? {} : { resourceVersion: over }) };
      const body = {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata,
        spec: writeLeaseSpec(lease),
      };
      const query = new URLSearchParams({ fieldManager }).toString();
      return asLease(
        what,
        await writeTo(api, { what, body, query, ...(over === undefined ? { list } : { path }) }),
      );
    },
    close: () => transport.close(),
  };
}

interface Write {
  readonly what: string;
  readonly body: unknown;
  readonly query: string;
  /** Makes it. */
  readonly list?: string;
  /** Replaces it. */
  readonly path?: string;
}

const writeTo = (
  api: ApiClient,
  { what, body, query, list, path = '' }: Write,
): ReturnType<ApiClient['call']> =>
  list === undefined
    ? api.call({ what: `renew ${what}`, method: 'PUT', path: `${path}?${query}`, body })
    : api.call({ what: `create ${what}`, method: 'POST', path: `${list}?${query}`, body });

function asLease(what: string, outcome: ClusterOutcome<unknown>): ClusterOutcome<SeenLease> {
  if (outcome.kind !== 'ok') return outcome;
  const lease: Result<SeenLease, Unreadable> = readLease(outcome.value);
  return lease.ok ? done(lease.value) : unknown(unreadable(what, lease.error));
}

const unreadable = (what: string, { field, message }: Unreadable): string =>
  `${what} cannot be read: ${field}: ${message}`;
