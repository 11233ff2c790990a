// The network configuration that the runtime reads (CNI specification, section 1).
// https://github.com/containernetworking/cni/blob/main/SPEC.md#configuration-format

import { DEFAULT_AGENT_SOCKET } from '../agent-socket/cni-message.ts';
import { POD_ANNOTATIONS_CAPABILITY } from './parse-invocation.ts';
import { CNI_VERSIONS, type CniVersion, isAtLeast } from './version.ts';

/** A plugin of containernetworking/plugins behind ours. */
export type ChainedPlugin =
  | { readonly type: 'portmap' | 'bandwidth' }
  /** sysctl -> value, set in the pod's namespace */
  | { readonly type: 'tuning'; readonly sysctls: ReadonlyMap<string, string> };

export const CONFLIST_NAME = '10-eniwhere.conflist';
export const PLUGIN_NAME = 'eniwhere-cni';
const NETWORK_NAME = 'eniwhere';

/** Before it there is no CHECK, and no list of versions can name it (datapath.md). */
const OLDEST: CniVersion = '0.4.0';
/** What every runtime in use reads; containerd 1.x refuses a configuration that asks for more. */
const PLAIN_NEWEST: CniVersion = '1.0.0';

/**
 * Versions that every plugin of the chain speaks, oldest first. A runtime gives all of them the same version, so one
 * old plugin keeps the whole chain from STATUS and GC, which are 1.1.0's.
 */
export const commonVersions = (supported: readonly (readonly string[])[]): readonly CniVersion[] =>
  CNI_VERSIONS.filter(
    (version) => isAtLeast(version, OLDEST) && supported.every((versions) => versions.includes(version)),
  );

export interface ConflistInput {
  /** Not empty, oldest first. */
  readonly versions: readonly CniVersion[];
  readonly socketPath: string;
  readonly chained: readonly ChainedPlugin[];
}

/**
 * The text of the file. `cniVersion` is for runtimes that know no other key, `cniVersions` for those since CNI 1.1,
 * which take the newest of it that they know.
 */
export function renderConflist({ versions, socketPath, chained }: ConflistInput): string {
  const plain = versions.filter((version) => isAtLeast(PLAIN_NEWEST, version));
  const list = {
    cniVersion: plain.at(-1) ?? versions[0],
    cniVersions: versions,
    name: NETWORK_NAME,
    plugins: [
      {
        type: PLUGIN_NAME,
        // What pods ask for is in their annotations: passed along, it is known without the API server.
        capabilities: { [POD_ANNOTATIONS_CAPABILITY]: true },
        ...(socketPath === DEFAULT_AGENT_SOCKET ? {} : { agentSocket: socketPath }),
      },
      ...chained.map(pluginObject),
    ],
  };
  return `${JSON.stringify(list, undefined, 2)}\n`;
}

function pluginObject(plugin: ChainedPlugin): object {
  switch (plugin.type) {
    case 'portmap':
      return { type: 'portmap', capabilities: { portMappings: true }, snat: true };
    case 'bandwidth':
      return { type: 'bandwidth', capabilities: { bandwidth: true } };
    case 'tuning':
      return { type: 'tuning', sysctl: Object.fromEntries(plugin.sysctls) };
  }
}
