// The writes beside NodeNetworks: statuses of classes, ENIConfigs of our own, taints and extended resources of nodes.

import type {
  ClusterOutcome,
  ClusterWriter,
  NodeNetworkClassStatus,
  NodeRecord,
  NodeTaint,
} from '../../ports/cluster.ts';
import { done } from '../../ports/outcome.ts';
import { applyPart, managed, type WriterOptions } from './apply.ts';
import { asRecord } from './as-record.ts';
import { resourceOf } from './resources.ts';

const JSON_PATCH = 'application/json-patch+json';
/** A null takes a field away, where it is there. The resourceVersion in it makes the server refuse a stale change with 409. */
const MERGE_PATCH = 'application/merge-patch+json';

export type BesideWriter = Pick<
  ClusterWriter,
  | 'updateNodeNetworkClassStatus'
  | 'createEniConfig'
  | 'updateEniConfigSpec'
  | 'deleteEniConfig'
  | 'addNodeTaint'
  | 'removeNodeTaint'
  | 'setExtendedResources'
>;

export function createBesideWriter(options: WriterOptions): BesideWriter {
  const { api } = options;
  return {
    updateNodeNetworkClassStatus: async (record, status: NodeNetworkClassStatus) => {
      const outcome = await applyPart(options, 'NodeNetworkClass', { record, part: { status } });
      return outcome.kind === 'ok' ? done(undefined) : outcome;
    },
    createEniConfig: async ({ name, labels, subnetId, securityGroupIds }) => {
      const { path, apiVersion, kindName } = resourceOf('EniConfig');
      const spec = { subnet: subnetId, securityGroups: securityGroupIds };
      const outcome = await api.call({
        what: `create ${kindName} "${name}"`,
        method: 'POST',
        path: `${path}?${managed(options.fieldManager)}`,
        body: { apiVersion, kind: kindName, metadata: { name, labels }, spec },
      });
      return asRecord('EniConfig', outcome);
    },
    updateEniConfigSpec: async (record, { subnetId, securityGroupIds }) => {
      const part = { spec: { subnet: subnetId, securityGroups: securityGroupIds } };
      return asRecord('EniConfig', await applyPart(options, 'EniConfig', { record, part }));
    },
    deleteEniConfig: async (record) => {
      const outcome = await api.call({
        what: `delete ENIConfig "${record.name}"`,
        method: 'DELETE',
        path: `${resourceOf('EniConfig').path}/${encodeURIComponent(record.name)}`,
        body: {
          apiVersion: 'v1',
          kind: 'DeleteOptions',
          preconditions: { uid: record.uid, resourceVersion: record.resourceVersion },
        },
      });
      return outcome.kind === 'ok' ? done(undefined) : outcome;
    },
    addNodeTaint: async (record, taint) => asRecord('Node', await addTaint(options, record, taint)),
    removeNodeTaint: async (record, key) => asRecord('Node', await removeTaint(options, record, key)),
    setExtendedResources: async (record, resources) => {
      const gone = Object.keys(record.extendedResources).filter((name) => !(name in resources));
      const quantities = Object.fromEntries([
        ...gone.map((name) => [name, null] as const),
        ...Object.entries(resources).map(([name, count]) => [name, String(count)] as const),
      ]);
      return asRecord('Node', await mergeQuantities(options, record, quantities));
    },
  };
}

/** Of an object that is kubelet's: keys that are named change, if it is still the version that this was decided on. */
function mergeQuantities(
  { api, fieldManager }: WriterOptions,
  { name, resourceVersion }: NodeRecord,
  quantities: Readonly<Record<string, string | null>>,
): Promise<ClusterOutcome<unknown>> {
  return api.call({
    what: `update the status of Node "${name}"`,
    method: 'PATCH',
    path: `${resourceOf('Node').path}/${encodeURIComponent(name)}/status?${managed(fieldManager)}`,
    contentType: MERGE_PATCH,
    // kubelet takes allocatable from capacity with its next report; the scheduler should not wait for that.
    body: { metadata: { resourceVersion }, status: { capacity: quantities, allocatable: quantities } },
  });
}

/**
 * By position, because a taint has fields that are not read (timeAdded): the resource version holds the positions, and
 * each is tested for its key before it goes. From the last to the first, so that positions stay true meanwhile.
 */
function removeTaint(
  options: WriterOptions,
  { name, resourceVersion, taints }: NodeRecord,
  key: string,
): Promise<ClusterOutcome<unknown>> {
  const removals = taints
    .flatMap((taint, position) => (taint.key === key ? [position] : []))
    .reverse()
    .flatMap((position) => [
      { op: 'test', path: `/spec/taints/${position}/key`, value: key },
      { op: 'remove', path: `/spec/taints/${position}` },
    ]);
  return patchNode(
    options,
    { name, resourceVersion },
    { what: `remove taint ${key} from`, changes: removals },
  );
}

/** At the end of the list, which is not there at all on a node without taints. */
const addTaint = (
  options: WriterOptions,
  record: NodeRecord,
  taint: NodeTaint,
): Promise<ClusterOutcome<unknown>> =>
  patchNode(options, record, {
    what: `add taint ${taint.key} to`,
    changes: [
      record.taints.length === 0
        ? { op: 'add', path: '/spec/taints', value: [taint] }
        : { op: 'add', path: '/spec/taints/-', value: taint },
    ],
  });

function patchNode(
  { api, fieldManager }: WriterOptions,
  { name, resourceVersion }: Pick<NodeRecord, 'name' | 'resourceVersion'>,
  { what, changes }: { readonly what: string; readonly changes: readonly object[] },
): Promise<ClusterOutcome<unknown>> {
  return api.call({
    what: `${what} node "${name}"`,
    method: 'PATCH',
    path: `${resourceOf('Node').path}/${encodeURIComponent(name)}?${managed(fieldManager)}`,
    contentType: JSON_PATCH,
    body: [{ op: 'replace', path: '/metadata/resourceVersion', value: resourceVersion }, ...changes],
  });
}
