// The runtime's folders in memory, for tests.

import { done, failed } from '../ports/outcome.ts';
import type { CniHost, CniHostFailure } from '../ports/cni-host.ts';

export interface MemoryCniHost extends CniHost {
  /** name -> text */
  readonly configs: Map<string, string>;
  /** name -> versions that it speaks */
  readonly plugins: Map<string, readonly string[]>;
  /** How often a plugin was asked for its versions. */
  askedCount: number;
  /** What every call answers, instead of doing anything. */
  refusal: CniHostFailure | undefined;
}

export function createMemoryCniHost(): MemoryCniHost {
  const configs = new Map<string, string>();
  const plugins = new Map<string, readonly string[]>([['portmap', ['0.4.0', '1.0.0']]]);
  const answer = async <T>(
    run: () => T,
  ): Promise<ReturnType<typeof done<T>> | ReturnType<typeof failed<CniHostFailure>>> =>
    host.refusal === undefined ? done(run()) : failed(host.refusal);
  const host: MemoryCniHost = {
    configs,
    plugins,
    askedCount: 0,
    refusal: undefined,
    listConfigs: () => answer(() => [...configs.keys()].sort()),
    readConfig: (name) => answer(() => configs.get(name)),
    writeConfig: (name, text) => answer(() => void configs.set(name, text)),
    removeConfig: (name) => answer(() => configs.delete(name)),
    installPlugin: (name) =>
      answer(() => {
        const before = plugins.has(name);
        plugins.set(name, []);
        return before ? 'Same' : 'Installed';
      }),
    removePlugin: (name) => answer(() => plugins.delete(name)),
    pluginVersions: async (name) => {
      host.askedCount += 1;
      const versions = plugins.get(name);
      return versions === undefined
        ? failed({ message: `the CNI plugin /opt/cni/bin/${name} is not there` })
        : done(versions);
    },
  };
  return host;
}
