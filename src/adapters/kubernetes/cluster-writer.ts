// The writes: each names the version that it was decided on, and fails with `conflict` when there is a newer one.

import type { Result } from '../../domain/result.ts';
import type {
  ClusterFailure,
  ClusterOutcome,
  ClusterWriter,
  KindMap,
  NodeNetworkRecord,
  StatusWriter,
} from '../../ports/cluster.ts';
import { done, failed } from '../../ports/outcome.ts';
import { eniConfigStatus } from '../../protocol/crd/eni-config-object.ts';
import { writeNodeNetworkSpec, writeNodeNetworkStatus } from '../../protocol/crd/node-network.ts';
import type { ApiClient } from './api-client.ts';
import { asRecord } from './as-record.ts';
import { createBesideWriter } from './beside-writer.ts';
import { getObject } from './get-object.ts';
import { resourceOf } from './resources.ts';

export interface WriterOptions {
  readonly api: ApiClient;
  /** Who the API server notes as the writer of a field (metadata.managedFields). */
  readonly fieldManager: string;
}

const JSON_PATCH = 'application/json-patch+json';

export function createClusterWriter(options: WriterOptions): ClusterWriter & StatusWriter {
  const { api, fieldManager } = options;
  const { path, apiVersion, kindName } = resourceOf('NodeNetwork');
  return {
    ...createBesideWriter(options),
    createNodeNetwork: (name, owner, spec) =>
      written(writeNodeNetworkSpec(spec), async (wire) => {
        const { apiVersion: ownerVersion, kindName: ownerKind } = resourceOf('Node');
        const outcome = await api.call({
          what: `create NodeNetwork "${name}"`,
          method: 'POST',
          path: `${path}?${managed(fieldManager)}`,
          body: {
            apiVersion,
            kind: kindName,
            metadata: {
              name,
              // The garbage collector takes it away with its Node.
              ownerReferences: [
                { apiVersion: ownerVersion, kind: ownerKind, name: owner.name, uid: owner.uid },
              ],
            },
            spec: wire,
          },
        });
        return asRecord('NodeNetwork', outcome);
      }),
    updateNodeNetworkSpec: (record) =>
      written(writeNodeNetworkSpec(record.spec), (wire) => patchNodeNetwork(options, record, { spec: wire })),
    updateNodeNetworkStatus: (record) =>
      written(writeNodeNetworkStatus(record), (wire) => patchNodeNetwork(options, record, { status: wire })),
    deleteNodeNetwork: async (record) => {
      const outcome = await api.call({
        what: `delete NodeNetwork "${record.name}"`,
        method: 'DELETE',
        path: `${path}/${encodeURIComponent(record.name)}`,
        body: {
          apiVersion: 'v1',
          kind: 'DeleteOptions',
          preconditions: { uid: record.uid, resourceVersion: record.resourceVersion },
        },
      });
      return outcome.kind === 'ok' ? done(undefined) : outcome;
    },
    updateEniConfigStatus: async (record, status) => {
      const outcome = await patch(options, 'EniConfig', record, { status: eniConfigStatus.parse(status) });
      if (outcome.kind === 'ok') return done(undefined);
      const isMissing = outcome.kind === 'failed' && outcome.failure.kind === 'not-found';
      return isMissing ? explainMissing(options, record.name, outcome.failure) : outcome;
    },
  };
}

const managed = (fieldManager: string): string => new URLSearchParams({ fieldManager }).toString();

/** Part of an object -> its new content. One part of `status` goes through the subresource. */
type Parts = { readonly spec: unknown } | { readonly status: unknown };

const patchNodeNetwork = async (
  options: WriterOptions,
  record: NodeNetworkRecord,
  parts: Parts,
): Promise<ClusterOutcome<NodeNetworkRecord>> =>
  asRecord('NodeNetwork', await patch(options, 'NodeNetwork', record, parts));

/**
 * A JSON patch that sets one part whole and the version that it was decided on: the server refuses it with 409 when the
 * object has a newer one. Unlike an update it leaves all else as it is, what we do not even read; unlike an apply it
 * cannot make the object anew.
 */
function patch<K extends 'NodeNetwork' | 'EniConfig'>(
  { api, fieldManager }: WriterOptions,
  kind: K,
  record: KindMap[K],
  parts: Parts,
): Promise<ClusterOutcome<unknown>> {
  const { path, kindName } = resourceOf(kind);
  const [part, content] = 'spec' in parts ? ['spec', parts.spec] : ['status', parts.status];
  const subresource = part === 'status' ? '/status' : '';
  return api.call({
    what: `update the ${part} of ${kindName} "${record.name}"`,
    method: 'PATCH',
    path: `${path}/${encodeURIComponent(record.name)}${subresource}?${managed(fieldManager)}`,
    contentType: JSON_PATCH,
    body: [
      { op: 'replace', path: '/metadata/resourceVersion', value: record.resourceVersion },
      // `add` sets it whether or not it is there.
      { op: 'add', path: `/${part}`, value: content },
    ],
  });
}

/** The AWS CNI's own CRD has no status subresource, and the server then says "not found" of an object that is there. */
async function explainMissing(
  { api }: WriterOptions,
  name: string,
  failure: ClusterFailure,
): Promise<ClusterOutcome<void>> {
  const read = await getObject(api, 'EniConfig', name);
  if (read.kind !== 'ok' || read.value === undefined) return failed(failure);
  return failed({
    kind: 'invalid',
    message: `ENIConfig "${name}" is there, but its status cannot be written: the CRD eniconfigs.crd.k8s.amazonaws.com has no status subresource, as in the AWS CNI's own; apply deploy/crds/eniconfigs.crd.k8s.amazonaws.com.yaml over it`,
  });
}

async function written<T>(
  wire: Result<unknown, string>,
  send: (wire: unknown) => Promise<ClusterOutcome<T>>,
): Promise<ClusterOutcome<T>> {
  return wire.ok ? send(wire.value) : failed({ kind: 'invalid', message: wire.error });
}
