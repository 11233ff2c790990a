// The namespaces of pods: made and removed as a container runtime does it, and gone with their machine.

import type { InstanceId } from '../../domain/ids.ts';
import { err, ok } from '../../domain/result.ts';
import type { FabricResult } from './fabric-failure.ts';
import { type NamespaceNames, netnsPath } from './namespace-names.ts';
import { addNamespaces, removeNamespaces } from './namespaces.ts';

export interface PodNamespaces {
  create(instanceId: InstanceId, podName: string): Promise<FabricResult<string>>;
  delete(instanceId: InstanceId, podName: string): Promise<FabricResult<void>>;
  /** The machine is gone. */
  deleteAllOf(instanceId: InstanceId): Promise<FabricResult<void>>;
}

export function createPodNamespaces(
  names: NamespaceNames,
  hasNode: (instanceId: InstanceId) => boolean,
): PodNamespaces {
  // instance -> its pods' namespaces
  const pods = new Map<InstanceId, Set<string>>();
  return {
    create: async (instanceId, podName) => {
      if (!hasNode(instanceId)) {
        const message = `there is no running instance ${instanceId} for pod ${podName}: launch it, and wait for sync()`;
        return err({ kind: 'unknown-instance', message });
      }
      const name = names.pod(instanceId, podName);
      pods.set(instanceId, (pods.get(instanceId) ?? new Set()).add(name));
      const added = await addNamespaces([name]);
      return added.ok ? ok(netnsPath(name)) : added;
    },
    delete: (instanceId, podName) => {
      const name = names.pod(instanceId, podName);
      pods.get(instanceId)?.delete(name);
      return removeNamespaces([name]);
    },
    deleteAllOf: (instanceId) => {
      const left = [...(pods.get(instanceId) ?? [])];
      pods.delete(instanceId);
      return removeNamespaces(left);
    },
  };
}
