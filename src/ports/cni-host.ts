// The two folders by which a container runtime knows of a CNI plugin: its executables and its network configurations.

import type { Outcome } from './outcome.ts';

export interface CniHostFailure {
  /** Names the file, and what the system said. */
  readonly message: string;
}

export type CniHostOutcome<T> = Outcome<T, CniHostFailure>;

export interface CniHost {
  /** Names of the network configurations that the runtime would consider, in its order: it takes the first. */
  listConfigs(): Promise<CniHostOutcome<readonly string[]>>;
  /** Undefined: there is none. */
  readConfig(name: string): Promise<CniHostOutcome<string | undefined>>;
  /** At once in whole, durably; whoever reads meanwhile sees the old one or the new one. */
  writeConfig(name: string, text: string): Promise<CniHostOutcome<void>>;
  /** False: there was none. */
  removeConfig(name: string): Promise<CniHostOutcome<boolean>>;
  /** Puts our plugin there, at once in whole, durably; `Same` when it is there already. */
  installPlugin(name: string): Promise<CniHostOutcome<'Installed' | 'Same'>>;
  /** False: there was none. */
  removePlugin(name: string): Promise<CniHostOutcome<boolean>>;
  /** The versions that the plugin says it speaks (CNI VERSION). */
  pluginVersions(name: string): Promise<CniHostOutcome<readonly string[]>>;
}
