// What the controller's process needs to know beside what it decides by: the cluster, and who it is there.

import {
  type ApiServerAddress,
  type LogLevel,
  readApiServerAddress,
  readLogLevel,
  readOptionalPath,
} from '../domain/api-server-address.ts';
import { err, ok, type Result } from '../domain/result.ts';
import type { BindAddress } from '../domain/bind-address.ts';
import { type Environment, settingsReader } from '../domain/settings-reader.ts';
import { type ControllerSettings, parseControllerSettings } from './controller-settings.ts';

export interface ProcessSettings {
  readonly controller: ControllerSettings;
  readonly apiServer: ApiServerAddress;
  /** Folder of the service account's token and certificate; absent: where kubelet mounts it. */
  readonly serviceAccountDirectory?: string;
  /** Of this pod; replicas contend for a Lease in its namespace. */
  readonly podName: string;
  readonly podNamespace: string;
  readonly logLevel: LogLevel;
  /** URL of another EC2 than the Region's: a VPC endpoint's, or a simulated one's. */
  readonly ec2Endpoint?: string;
  /** Where /metrics, /healthz and /readyz are served. */
  readonly metrics: BindAddress;
}

/** Beside the agent's 61678 and 61679, should both run in the host's network. */
const METRICS: BindAddress = { kind: 'Tcp', port: 61_680 };

/** Parses the environment. Answers every mistake at once, each naming the variable, its value and what is allowed. */
export function parseProcessSettings(env: Environment): Result<ProcessSettings, readonly string[]> {
  const errors: string[] = [];
  const controller = parseControllerSettings(env);
  if (!controller.ok) errors.push(...controller.error);
  const required = (name: string, field: string): string => {
    const text = env[name] ?? '';
    if (text === '') errors.push(`${name} is not set: set it from the pod's ${field}`);
    return text;
  };
  // ENIs carry it: two clusters in one account that both leave it out would each take the other's for its own.
  if ((env['CLUSTER_NAME'] ?? '') === '') errors.push('CLUSTER_NAME is not set: it is the tag of every ENI');
  const directory = readOptionalPath(env, errors, 'ENIWHERE_SERVICE_ACCOUNT_DIRECTORY');
  const ec2Endpoint = env['AWS_EC2_ENDPOINT'] ?? '';
  if (ec2Endpoint !== '' && !/^https?:\/\/[^\s/]+\/?$/.test(ec2Endpoint))
    errors.push(
      `AWS_EC2_ENDPOINT="${ec2Endpoint}": expected a URL such as https://ec2.eu-west-1.amazonaws.com`,
    );
  const rest = {
    apiServer: readApiServerAddress(env, errors),
    ...(directory === undefined ? {} : { serviceAccountDirectory: directory }),
    podName: required('MY_POD_NAME', 'metadata.name'),
    podNamespace: required('MY_POD_NAMESPACE', 'metadata.namespace'),
    logLevel: readLogLevel(env, errors),
    ...(ec2Endpoint === '' ? {} : { ec2Endpoint }),
    metrics: settingsReader(env, errors).bindAddress('ENIWHERE_CONTROLLER_BIND_ADDRESS', METRICS),
  };
  return controller.ok && errors.length === 0 ? ok({ controller: controller.value, ...rest }) : err(errors);
}
