// The connection of a pod: the service account's files that kubelet mounts and keeps fresh.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isIPv6 } from 'node:net';
import type { Clock } from '../../ports/clock.ts';
import type { Credentials, KubernetesConnection } from './connection.ts';

export interface InClusterOptions {
  /** KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT. */
  readonly host: string;
  readonly port: string;
  readonly clock: Clock;
  /** Of `token` and `ca.crt`; where Kubernetes mounts them when absent. */
  readonly directory?: string;
}

const DIRECTORY = '/var/run/secrets/kubernetes.io/serviceaccount';
/** Kubelet renews a token when a fifth of its life (an hour at least) is left. */
const REREAD_MS = 60_000;

/** Reads the token and the authorities anew every minute, and after every refusal. */
export function inClusterConnection({
  host,
  port,
  clock,
  directory,
}: InClusterOptions): KubernetesConnection {
  const folder = directory ?? DIRECTORY;
  let kept: { readonly credentials: Credentials; readonly until: number } | undefined;
  const read = async (): Promise<Credentials> => {
    const [token, ca] = await Promise.all([
      readFile(join(folder, 'token'), 'utf8'),
      readFile(join(folder, 'ca.crt'), 'utf8'),
    ]);
    return { authorization: `Bearer ${token.trim()}`, ca };
  };
  return {
    server: `https://${isIPv6(host) ? `[${host}]` : host}:${port}`,
    insecureSkipTlsVerify: false,
    credentials: async () => {
      if (kept !== undefined && clock.now() < kept.until) return kept.credentials;
      const credentials = await read();
      kept = { credentials, until: clock.now() + REREAD_MS };
      return credentials;
    },
    refused: () => {
      kept = undefined;
    },
  };
}
