// What the commands of `eniwhere agent` need of the node; bin fills it in.

import type { Result } from '../domain/result.ts';
import type { AwsCniCleaner } from '../ports/aws-cni.ts';
import type { CniHost } from '../ports/cni-host.ts';
import type { NetworkStack } from '../ports/network-stack.ts';

/** Something to put into a support bundle. */
export interface BundlePart {
  /** File name in the bundle. */
  readonly name: string;
  /** May reject: the bundle then says why the part is missing. */
  readonly read: () => Promise<string>;
}

export interface BundleFile {
  readonly name: string;
  readonly text: string;
}

export interface AgentNode {
  readonly cni: CniHost;
  readonly awsCni: AwsCniCleaner;
  /** Link prefix of the AWS CNI's pods. */
  readonly awsCniVethPrefix: string;
  readonly stack: Pick<NetworkStack, 'listPodLinks'>;
  /** Whether an agent runs here: it answers on its socket. */
  readonly isAgentRunning: () => Promise<boolean>;
  readonly bundleParts: readonly BundlePart[];
  /** A .tar.gz of the files. `err` says why it cannot be written. */
  readonly writeBundle: (path: string, files: readonly BundleFile[]) => Promise<Result<void, string>>;
  close(): Promise<void>;
}

export interface AgentCommands {
  /** Runs the daemon until it is interrupted; answers its exit code, after telling what is wrong. */
  run(): Promise<number>;
  /** `err`: the settings' mistakes. `logPaths`: further files whose ends go into a bundle. */
  openNode(request: { readonly logPaths: readonly string[] }): Promise<Result<AgentNode, readonly string[]>>;
}
