// The agent's settings, under the names that users of the AWS VPC CNI know where the meaning is the same.

import {
  type ApiServerAddress,
  type LogLevel,
  readApiServerAddress,
  readLogLevel,
  readOptionalPath,
} from '../domain/api-server-address.ts';
import type { BindAddress } from '../domain/bind-address.ts';
import { type NodeName, parseNodeName } from '../domain/ids.ts';
import { err, ok, type Result } from '../domain/result.ts';
import { type Environment, settingsReader } from '../domain/settings-reader.ts';
import { DEFAULT_AGENT_SOCKET } from '../protocol/agent-socket/cni-message.ts';
import type { ChainedPlugin } from '../protocol/cni/conflist.ts';

/** Where things are on the node: also for commands that a person runs there. */
export interface HostSettings {
  readonly socketPath: string;
  /** Which pod holds which address. In a folder that a reboot empties: pods do not outlive it either. */
  readonly journalPath: string;
  /** The network namespace that the agent keeps: the host's. */
  readonly netnsPath: string;
  /** Where the runtime looks for plugins and for network configurations, as this process sees them. */
  readonly pluginDirectory: string;
  readonly configDirectory: string;
  /** The plugin that is installed there; undefined: the one that came with this agent. */
  readonly pluginSource: string | undefined;
  /** Absent: not served. */
  readonly introspection?: BindAddress;
  readonly metrics?: BindAddress;
  /** The AWS CNI's AWS_VPC_K8S_CNI_VETHPREFIX, by which its pods are known. */
  readonly awsCniVethPrefix: string;
}

export interface AgentSettings extends HostSettings {
  readonly nodeName: NodeName;
  readonly apiServer: ApiServerAddress;
  /** Folder of the service account's token and certificate; absent: where kubelet mounts it. */
  readonly serviceAccountDirectory?: string;
  /** Behind eniwhere-cni in the network configuration, in this order. */
  readonly chained: readonly ChainedPlugin[];
  readonly logLevel: LogLevel;
  readonly addWaitMs: number;
}

export interface ParsedAgentSettings {
  readonly settings: AgentSettings;
  /** What is set and has no effect here, a sentence each. */
  readonly warnings: readonly string[];
}

const INTROSPECTION: BindAddress = { kind: 'Tcp', host: '127.0.0.1', port: 61_679 };
const METRICS: BindAddress = { kind: 'Tcp', port: 61_678 };
/** kubelet asks for a sandbox again after about ten seconds; the plugin gives an answer a minute. */
const ADD_WAIT_SECONDS = { fallback: 10, min: 0, max: 45 };

/** Variables that the AWS VPC CNI's DaemonSet takes, and that are the controller's here. */
const CONTROLLERS = [
  'AWS_VPC_CNI_NODE_PORT_SUPPORT',
  'AWS_VPC_ENI_MTU',
  'AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG',
  'AWS_VPC_K8S_CNI_EXCLUDE_SNAT_CIDRS',
  'AWS_VPC_K8S_CNI_EXTERNALSNAT',
  'AWS_VPC_K8S_CNI_RANDOMIZESNAT',
  'AWS_VPC_K8S_CNI_VETHPREFIX',
  'ENABLE_IPv4',
  'ENABLE_IPv6',
  'ENABLE_PREFIX_DELEGATION',
  'ENI_CONFIG_ANNOTATION_DEF',
  'ENI_CONFIG_LABEL_DEF',
  'IP_COOLDOWN_PERIOD',
  'MAX_ENI',
  'MINIMUM_IP_TARGET',
  'WARM_ENI_TARGET',
  'WARM_IP_TARGET',
  'WARM_PREFIX_TARGET',
] as const;

/** Parses the environment. Answers every mistake at once, each naming the variable, its value and what is allowed. */
export function parseAgentSettings(env: Environment): Result<ParsedAgentSettings, readonly string[]> {
  const errors: string[] = [];
  const read = settingsReader(env, errors);
  const nodeName = parseNodeName(env['MY_NODE_NAME'] ?? '');
  if (!nodeName.ok) errors.push(`MY_NODE_NAME: ${nodeName.error}; set it from the pod's spec.nodeName`);
  const serviceAccount = readOptionalPath(env, errors, 'ENIWHERE_SERVICE_ACCOUNT_DIRECTORY');
  const settings: AgentSettings = {
    ...readHostSettings(env, errors),
    nodeName: nodeName.ok ? nodeName.value : ('' as NodeName),
    apiServer: readApiServerAddress(env, errors),
    ...(serviceAccount === undefined ? {} : { serviceAccountDirectory: serviceAccount }),
    chained: chainedPlugins(env, errors),
    logLevel: readLogLevel(env, errors),
    addWaitMs:
      (read.count('ENIWHERE_ADD_WAIT_SECONDS', ADD_WAIT_SECONDS) ?? ADD_WAIT_SECONDS.fallback) * 1000,
  };
  if (errors.length > 0) return err(errors);
  const warnings = CONTROLLERS.filter((name) => env[name] !== undefined).map(
    (name) => `${name} has no effect on the agent: it is the controller's setting, set it there`,
  );
  return ok({ settings, warnings });
}

/** The part that the commands for a node need, which know no cluster. */
export function parseHostSettings(env: Environment): Result<HostSettings, readonly string[]> {
  const errors: string[] = [];
  const settings = readHostSettings(env, errors);
  return errors.length === 0 ? ok(settings) : err(errors);
}

function readHostSettings(env: Environment, errors: string[]): HostSettings {
  const read = settingsReader(env, errors);
  const path = (name: string, fallback: string): string => readOptionalPath(env, errors, name) ?? fallback;
  const introspection = read.bindAddress('INTROSPECTION_BIND_ADDRESS', INTROSPECTION);
  const metrics = read.bindAddress('ENIWHERE_METRICS_BIND_ADDRESS', METRICS);
  return {
    socketPath: path('ENIWHERE_AGENT_SOCKET', DEFAULT_AGENT_SOCKET),
    journalPath: path('ENIWHERE_JOURNAL', '/run/eniwhere/journal'),
    netnsPath: path('ENIWHERE_NETNS', '/proc/self/ns/net'),
    pluginDirectory: path('HOST_CNI_BIN_PATH', '/host/opt/cni/bin'),
    configDirectory: path('HOST_CNI_CONFDIR_PATH', '/host/etc/cni/net.d'),
    pluginSource: readOptionalPath(env, errors, 'ENIWHERE_PLUGIN_SOURCE'),
    ...(read.flag('DISABLE_INTROSPECTION', false) ? {} : { introspection }),
    ...(read.flag('DISABLE_METRICS', false) ? {} : { metrics }),
    awsCniVethPrefix: read.text('ENIWHERE_AWS_CNI_VETHPREFIX', 'eni'),
  };
}

/**
 * portmap, as with the AWS CNI, unless ENIWHERE_CHAINED_PLUGINS says otherwise; bandwidth with ENABLE_BANDWIDTH_PLUGIN;
 * tuning with sysctls, or with DISABLE_POD_V6.
 */
function chainedPlugins(env: Environment, errors: string[]): readonly ChainedPlugin[] {
  const read = settingsReader(env, errors);
  const names = (env['ENIWHERE_CHAINED_PLUGINS'] ?? 'portmap')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  if (read.flag('ENABLE_BANDWIDTH_PLUGIN', false) && !names.includes('bandwidth')) names.push('bandwidth');
  const sysctls = tuningSysctls(env, errors);
  if (read.flag('DISABLE_POD_V6', false)) {
    for (const scope of ['all', 'default', 'lo']) sysctls.set(`net.ipv6.conf.${scope}.disable_ipv6`, '1');
  }
  if (sysctls.size > 0 && !names.includes('tuning')) names.push('tuning');
  const plugins: ChainedPlugin[] = [];
  for (const name of new Set(names)) {
    switch (name) {
      case 'portmap':
      case 'bandwidth':
        plugins.push({ type: name });
        break;
      case 'tuning':
        plugins.push({ type: name, sysctls });
        break;
      default:
        errors.push(`ENIWHERE_CHAINED_PLUGINS names "${name}": expected portmap, bandwidth or tuning`);
    }
  }
  return plugins;
}

/** `net.core.somaxconn=1024,net.ipv4.tcp_tw_reuse=1` */
function tuningSysctls(env: Environment, errors: string[]): Map<string, string> {
  const sysctls = new Map<string, string>();
  const parts = (env['ENIWHERE_TUNING_SYSCTLS'] ?? '').split(',').filter((part) => part.trim() !== '');
  for (const part of parts) {
    const [, name, value] = /^\s*(net\.[\w.-]+)=(\S+)\s*$/.exec(part) ?? [];
    if (name === undefined || value === undefined)
      errors.push(
        `ENIWHERE_TUNING_SYSCTLS has "${part}": expected net.NAME=VALUE, several with commas between`,
      );
    else sysctls.set(name, value);
  }
  return sysctls;
}
