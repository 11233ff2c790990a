// The writes: each names the version that it was decided on, and fails with `conflict` when there is a newer one.

import type { Result } from '../../domain/result.ts';
import type {
  ClusterFailure,
  ClusterOutcome,
  ClusterWriter,
  NodeNetworkRecord,
  StatusWriter,
} from '../../ports/cluster.ts';
import { done, failed } from '../../ports/outcome.ts';
import { eniConfigStatus } from '../../protocol/crd/eni-config-object.ts';
import { writeNodeNetworkSpec, writeNodeNetworkStatus } from '../../protocol/crd/node-network.ts';
import { applyPart, managed, type Part, type WriterOptions } from './apply.ts';
import { asRecord } from './as-record.ts';
import { createBesideWriter } from './beside-writer.ts';
import { getObject } from './get-object.ts';
import { resourceOf } from './resources.ts';
import { takenOver } from './take-over-fields.ts';

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
      written(writeNodeNetworkSpec(record.spec), (wire) => applyNodeNetwork(options, record, { spec: wire })),
    updateNodeNetworkStatus: (record) =>
      written(
        writeNodeNetworkStatus(record, fieldManager === 'eniwhere-agent' ? 'agent' : 'controller'),
        (wire) => applyNodeNetwork(options, record, { status: wire }),
      ),
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
      const part = { status: eniConfigStatus.parse(status) };
      const outcome = await applyPart(options, 'EniConfig', { record, part });
      if (outcome.kind === 'ok') return done(undefined);
      const isMissing = outcome.kind === 'failed' && outcome.failure.kind === 'not-found';
      return isMissing ? explainMissing(options, record.name, outcome.failure) : outcome;
    },
  };
}

async function applyNodeNetwork(
  options: WriterOptions,
  record: NodeNetworkRecord,
  part: Part,
): Promise<ClusterOutcome<NodeNetworkRecord>> {
  const outcome = await applyPart(options, 'NodeNetwork', { record, part });
  return asRecord('NodeNetwork', outcome.kind === 'ok' ? await takeOver(options, outcome) : outcome);
}

/**
 * The controller does it for the agents, too, who may write through the status subresource alone, where ownership cannot
 * be changed. A write that finds the object changed meanwhile leaves it to the next one.
 */
async function takeOver(
  { api, fieldManager }: WriterOptions,
  applied: ClusterOutcome<unknown> & { readonly kind: 'ok' },
): Promise<ClusterOutcome<unknown>> {
  if (fieldManager !== 'eniwhere-controller') return applied;
  const managedFields = takenOver(applied.value, ['eniwhere-controller', 'eniwhere-agent']);
  const record = asRecord('NodeNetwork', applied);
  if (managedFields === undefined || record.kind !== 'ok') return applied;
  const { name, resourceVersion } = record.value;
  const outcome = await api.call({
    what: `take over fields of NodeNetwork "${name}"`,
    method: 'PATCH',
    path: `${resourceOf('NodeNetwork').path}/${encodeURIComponent(name)}?${managed(fieldManager)}`,
    contentType: JSON_PATCH,
    body: [
      { op: 'replace', path: '/metadata/resourceVersion', value: resourceVersion },
      { op: 'replace', path: '/metadata/managedFields', value: managedFields },
    ],
  });
  return outcome.kind === 'ok' ? outcome : applied;
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
