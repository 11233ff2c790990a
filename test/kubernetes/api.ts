// The API of a test's control plane as people and other programs use it: objects made, changed and deleted past the product.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { KubernetesConnection } from '../../src/adapters/kubernetes/connection.ts';
import {
  createKubernetesCluster,
  type KubernetesCluster,
  type KubernetesClusterOptions,
} from '../../src/adapters/kubernetes/create-kubernetes-cluster.ts';
import { createTransport } from '../../src/adapters/kubernetes/transport.ts';
import { systemClock } from '../../src/adapters/system/clock.ts';
import { createLog } from '../../src/adapters/system/log.ts';
import { systemRandom } from '../../src/adapters/system/random.ts';
import type { Log } from '../../src/ports/log.ts';
import type { ControlPlane } from './control-plane.ts';

export interface Api {
  /** The object answered. Rejects with the server's words for any other status than 2xx, and than those allowed. */
  send(method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: unknown): Promise<unknown>;
  /** `send`, where the object may be missing: then undefined. */
  sendIfThere(method: 'GET' | 'PATCH' | 'DELETE', path: string, body?: unknown): Promise<unknown>;
  close(): void;
}

const TIMEOUT_MS = 30_000;

/** Connects as the bearer of `token`. */
export const connectionTo = (plane: ControlPlane, token: string): KubernetesConnection => {
  const ca = readFileSync(plane.authorityPath, 'utf8');
  return {
    server: plane.url,
    insecureSkipTlsVerify: false,
    credentials: async () => ({ authorization: `Bearer ${token}`, ca }),
    refused: () => undefined,
  };
};

interface ClientOptions {
  /** `admin`'s when absent. */
  readonly token?: string;
  /** Warnings on stderr when absent. */
  readonly log?: Log;
}

/** The product's own way to the API. */
export const clientOf = (
  plane: ControlPlane,
  fieldManager: KubernetesClusterOptions['fieldManager'],
  { token = plane.tokenOf('admin'), log = createLog({ level: 'warn', fd: 2 }) }: ClientOptions = {},
): KubernetesCluster =>
  createKubernetesCluster({
    connection: connectionTo(plane, token),
    clock: systemClock,
    random: systemRandom,
    log,
    fieldManager,
    reportingInstance: 'test',
    version: '0.0.0',
  });

/** A list is a JSON patch, anything else a merge patch. */
const patchType = (body: unknown): string =>
  Array.isArray(body) ? 'application/json-patch+json' : 'application/merge-patch+json';

/** As `admin`. */
export function apiOf(plane: ControlPlane): Api {
  const transport = createTransport({
    connection: connectionTo(plane, plane.tokenOf('admin')),
    clock: systemClock,
    userAgent: 'test',
  });
  const send = async (
    allowed: readonly number[],
    ...[method, path, body]: Parameters<Api['send']>
  ): Promise<unknown> => {
    const answer = await transport.send({
      method,
      path,
      body,
      timeoutMs: TIMEOUT_MS,
      ...(method === 'PATCH' ? { contentType: patchType(body) } : {}),
    });
    assert.ok(answer.kind === 'Answered', JSON.stringify(answer));
    if (allowed.includes(answer.status)) return undefined;
    assert.ok(answer.status >= 200 && answer.status < 300, `${method} ${path}: ${answer.text}`);
    return JSON.parse(answer.text) as unknown;
  };
  return {
    send: (...request) => send([], ...request),
    sendIfThere: (...request) => send([404], ...request),
    close: () => transport.close(),
  };
}
