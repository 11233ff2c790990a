// Runs the CNI plugin's executable as a container runtime does: one process per call, environment and standard input.
// https://github.com/containernetworking/cni/blob/main/SPEC.md#section-2-execution-protocol

import { addedAddresses, refused } from './cni-calls.ts';
import type { AddAnswer, DelAnswer, Sandbox } from './kubelet.ts';

export interface PluginRun {
  readonly env: Readonly<Record<string, string>>;
  /** The network configuration, on standard input. */
  readonly input: string;
}

export interface PluginEnd {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

export type RunPlugin = (run: PluginRun) => Promise<PluginEnd>;

interface PluginCalls {
  add(sandbox: Sandbox): Promise<AddAnswer>;
  del(sandbox: Sandbox): Promise<DelAnswer>;
}

/** What the runtime's configuration file says, for the agent at this socket. */
export const networkConfiguration = (agentSocket: string): string =>
  JSON.stringify({ cniVersion: '1.0.0', name: 'eniwhere', type: 'eniwhere-cni', agentSocket });

export function createPluginCalls(run: RunPlugin, agentSocket: string): PluginCalls {
  const call = (command: 'ADD' | 'DEL', sandbox: Sandbox): Promise<PluginEnd> => {
    const [namespace = '', name = ''] = sandbox.pod.split('/');
    return run({
      env: {
        CNI_COMMAND: command,
        CNI_CONTAINERID: sandbox.containerId,
        CNI_NETNS: sandbox.netnsPath,
        CNI_IFNAME: sandbox.ifName,
        CNI_PATH: '/opt/cni/bin',
        CNI_ARGS: [
          'IgnoreUnknown=1',
          `K8S_POD_NAMESPACE=${namespace}`,
          `K8S_POD_NAME=${name}`,
          `K8S_POD_INFRA_CONTAINER_ID=${sandbox.containerId}`,
          `K8S_POD_UID=${sandbox.podUid}`,
        ].join(';'),
      },
      input: networkConfiguration(agentSocket),
    });
  };
  return {
    add: async (sandbox) => {
      const end = await call('ADD', sandbox);
      return end.exitCode === 0 ? addResult(end.stdout) : pluginError(end);
    },
    del: async (sandbox) => {
      const end = await call('DEL', sandbox);
      return end.exitCode === 0 ? { kind: 'Deleted' } : pluginError(end);
    },
  };
}

type Fields = Readonly<Record<string, unknown>>;

function readObject(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Fields) : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** The addresses of a CNI result as printed: only what every version since 0.3.1 has. */
function addResult(stdout: string): AddAnswer {
  const ips = readObject(stdout)?.['ips'];
  if (!Array.isArray(ips))
    return { kind: 'Refused', code: 0, message: `ADD printed no CNI result: ${JSON.stringify(stdout)}` };
  const addresses = (ips as readonly unknown[]).map((entry) =>
    typeof entry === 'object' && entry !== null && 'address' in entry ? String(entry.address) : '',
  );
  return addedAddresses(addresses);
}

function pluginError({ exitCode, stdout, stderr }: PluginEnd): ReturnType<typeof refused> {
  const error = readObject(stdout);
  const code = error?.['code'];
  const msg = error?.['msg'];
  const details = error?.['details'];
  if (typeof code === 'number' && typeof msg === 'string')
    return refused({ code, msg, ...(typeof details === 'string' ? { details } : {}) });
  const said = stderr.trim() === '' ? JSON.stringify(stdout) : stderr.trim();
  return refused({ code: 0, msg: `the plugin ended with ${exitCode} and no CNI error: ${said}` });
}
