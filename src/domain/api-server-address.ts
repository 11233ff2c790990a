// Where the API server is, and how much is logged, as both executables are told.

import { settingsReader, type Environment } from './settings-reader.ts';

/** As kubelet gives it to every pod; a host name, an IPv4 or an IPv6 address. */
export interface ApiServerAddress {
  readonly host: string;
  readonly port: string;
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/**
 * CLUSTER_ENDPOINT, a URL that needs no kube-proxy: on a new node the pod may run before it. Without it, what kubelet
 * tells every pod.
 */
export function readApiServerAddress(env: Environment, errors: string[]): ApiServerAddress {
  const endpoint = env['CLUSTER_ENDPOINT'] ?? '';
  const host = env['KUBERNETES_SERVICE_HOST'] ?? '';
  if (endpoint === '') {
    if (host === '')
      errors.push(
        'KUBERNETES_SERVICE_HOST is not set: run in a pod, or set CLUSTER_ENDPOINT to the API server',
      );
    return { host, port: env['KUBERNETES_SERVICE_PORT'] ?? '443' };
  }
  const parts =
    /^https:\/\/(?:\[(?<ipv6>[0-9a-f:.]+)\]|(?<name>[a-z0-9.-]+))(?::(?<port>\d{1,5}))?\/?$/i.exec(endpoint);
  const name = parts?.groups?.['ipv6'] ?? parts?.groups?.['name'];
  if (name === undefined) {
    errors.push(`CLUSTER_ENDPOINT="${endpoint}": expected https://HOST or https://HOST:PORT, and no path`);
  }
  return { host: name ?? '', port: parts?.groups?.['port'] ?? '443' };
}

/** The AWS CNI's DaemonSet writes it in any case. */
export function readLogLevel(env: Environment, errors: string[]): LogLevel {
  const lowered = { level: env['AWS_VPC_K8S_CNI_LOGLEVEL']?.toLowerCase() };
  const faults: string[] = [];
  const level = settingsReader(lowered, faults).choice('level', ['debug', 'info', 'warn', 'error'], 'info');
  for (const fault of faults) errors.push(fault.replace('level', 'AWS_VPC_K8S_CNI_LOGLEVEL'));
  return level;
}

/** An absolute path, or undefined when the variable is not set. */
export function readOptionalPath(env: Environment, errors: string[], name: string): string | undefined {
  const text = env[name];
  if (text === undefined || text === '') return undefined;
  if (!text.startsWith('/')) errors.push(`${name}="${text}": expected an absolute path`);
  return text;
}
