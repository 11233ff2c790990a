// A Kubernetes API of one NodeNetwork, kept in two files: its spec, which the test writes, and its status.

import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { NodeName } from '../../../src/domain/ids.ts';
import {
  emptyStatus,
  type NodeNetworkSpec,
  type NodeNetworkStatus,
} from '../../../src/domain/ipam/node-network.ts';
import type { AgentCluster, NodeNetworkRecord } from '../../../src/ports/cluster.ts';
import { done, failed } from '../../../src/ports/outcome.ts';

/** What the test publishes. While there is no such file, the API cannot be reached. */
export interface PublishedSpec {
  readonly uid: string;
  readonly generation: number;
  readonly spec: NodeNetworkSpec;
}

const LOOK_MS = 50;

export const statusPath = (specPath: string): string => `${specPath}.status`;

/** The file is there in whole or not at all. */
export function writeJson(path: string, value: unknown): void {
  writeFileSync(`${path}.next`, JSON.stringify(value));
  renameSync(`${path}.next`, path);
}

export const readJson = (path: string): unknown =>
  existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined;

/** The API as an agent sees it. The file of the spec is looked at every 50 ms. */
export function createFileCluster(specPath: string, nodeName: NodeName): AgentCluster {
  const read = (): NodeNetworkRecord | undefined => {
    const published = readJson(specPath) as PublishedSpec | undefined;
    if (published === undefined) return undefined;
    const status = (readJson(statusPath(specPath)) as NodeNetworkStatus | undefined) ?? emptyStatus;
    return {
      name: nodeName,
      ...published,
      status,
      resourceVersion: `${published.generation}-${JSON.stringify(status).length}-${status.observedGeneration}`,
      labels: {},
      annotations: {},
      deleting: false,
    };
  };
  const unavailable = failed({
    kind: 'unavailable' as const,
    message: `the API cannot be reached: there is no ${specPath}`,
  });
  return {
    watch: ({ kind, onEvent }) => {
      let told = '';
      // The agent watches its NodeNetwork and nothing else.
      const emit = onEvent as (event: { type: 'Snapshot'; objects: readonly NodeNetworkRecord[] }) => void;
      const look = (): void => {
        const record = kind === 'NodeNetwork' ? read() : undefined;
        const text = JSON.stringify(record) ?? '';
        if (record === undefined || text === told) return;
        told = text;
        emit({ type: 'Snapshot', objects: [record] });
      };
      const timer = setInterval(look, LOOK_MS);
      setImmediate(look);
      return { close: () => clearInterval(timer) };
    },
    get: async (kind) => {
      const record = read();
      // `get` of another kind than the one that is kept here: certainly not there.
      if (record === undefined) return unavailable;
      return done((kind === 'NodeNetwork' ? record : undefined) as never);
    },
    updateNodeNetworkStatus: async (record) => {
      const before = read();
      if (before === undefined) return unavailable;
      writeJson(statusPath(specPath), record.status);
      return done({ ...before, status: record.status });
    },
    emit: () => {},
  };
}
