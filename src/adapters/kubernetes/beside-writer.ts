// The writes beside NodeNetworks: statuses of classes, ENIConfigs of our own, taints and extended resources of nodes.

import type {
  ClusterOutcome,
  ClusterWriter,
  NodeNetworkClassStatus,
  NodeRecord,
} from '../../ports/cluster.ts';
import { done } from '../../ports/outcome.ts';
import type { ApiCall } from './api-client.ts';
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
  const call: ApiCall = {
    what: `remove taint ${key} from node "${name}"`,
    method: 'PATCH',
    path: `${resourceOf('Node').path}/${encodeURIComponent(name)}?${managed(options.fieldManager)}`,
    contentType: JSON_PATCH,
    body: [{ op: 'replace', path: '/metadata/resourceVersion', value: resourceVersion }, ...removals],
  };
  return options.api.call(call);
}
