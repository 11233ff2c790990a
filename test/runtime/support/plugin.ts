// Runs the plugin's executable as a container runtime does, for any command and version.

import { execFileSync, spawn } from 'node:child_process';

export interface PodRun {
  readonly pod: string;
  readonly containerId: string;
  readonly netnsPath: string;
}

export interface PluginEnd {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A plugin's executable, and the agent that it is to ask. */
export interface PluginSeat {
  readonly pluginPath: string;
  readonly socketPath: string;
}

/** Runs one command for a sandbox. */
export function callPlugin(
  { pluginPath, socketPath }: PluginSeat,
  command: 'ADD' | 'DEL' | 'CHECK',
  { pod, containerId, netnsPath }: PodRun,
): Promise<PluginEnd> {
  return runPlugin(pluginPath, {
    env: {
      CNI_COMMAND: command,
      CNI_CONTAINERID: containerId,
      CNI_NETNS: netnsPath,
      CNI_IFNAME: 'eth0',
      CNI_PATH: '/usr/lib/cni',
      CNI_ARGS: `IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=${pod};K8S_POD_INFRA_CONTAINER_ID=${containerId}`,
    },
    config: { cniVersion: '1.0.0', name: 'eniwhere', type: 'eniwhere-cni', agentSocket: socketPath },
  });
}

interface PluginInput {
  readonly env: Readonly<Record<string, string>>;
  readonly config: unknown;
}

function runPlugin(pluginPath: string, { env, config }: PluginInput): Promise<PluginEnd> {
  return new Promise((resolve, reject) => {
    const child = spawn(pluginPath, [], { env, stdio: ['pipe', 'pipe', 'pipe'] });
    let [stdout, stderr] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (code === null) reject(new Error(`the plugin was ended by ${signal}: ${stderr}`));
      else resolve({ exitCode: code, stdout, stderr });
    });
    child.stdin.end(JSON.stringify(config));
  });
}

/** The pod's address in the result of an ADD that succeeded. */
export function addressOf({ exitCode, stdout, stderr }: PluginEnd): string {
  if (exitCode !== 0) throw new Error(`ADD failed: ${stdout}${stderr}`);
  const result = JSON.parse(stdout) as { readonly ips: readonly { readonly address: string }[] };
  return (result.ips[0]?.address ?? '').replace(/\/\d+$/, '');
}

/** Namespaces as a runtime makes them, under names that begin with a prefix of this process. */
export interface PodNamespaces {
  /** Answers the path. */
  make(name: string): string;
  remove(name: string): void;
  /** IPv4 addresses of its eth0. */
  addresses(name: string): readonly string[];
  removeAll(): void;
}

export function createPodNamespaces(): PodNamespaces {
  const names = new Set<string>();
  const full = (name: string): string => `ert${process.pid}-${name}`;
  const ip = (...values: readonly string[]): string =>
    execFileSync('ip', values, { encoding: 'utf8', stdio: 'pipe' });
  const remove = (name: string): void => {
    ip('netns', 'del', full(name));
    names.delete(name);
  };
  return {
    make: (name) => {
      ip('netns', 'add', full(name));
      names.add(name);
      return `/run/netns/${full(name)}`;
    },
    remove,
    addresses: (name) => {
      const links = JSON.parse(ip('-j', '-4', '-n', full(name), 'addr')) as readonly {
        readonly ifname?: string;
        readonly addr_info?: readonly { readonly local: string }[];
      }[];
      return links
        .filter(({ ifname }) => ifname === 'eth0')
        .flatMap(({ addr_info = [] }) => addr_info.map(({ local }) => local));
    },
    removeAll: () => {
      for (const name of names) remove(name);
    },
  };
}
