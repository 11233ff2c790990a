// Whether the fabric can run here, and how.

import type { FabricFailure } from './fabric-failure.ts';
import { endProgram } from './run-program.ts';

export type NamespaceMeans =
  /** This process may make network namespaces. */
  | { readonly kind: 'Here' }
  /** It may not, but its own command line would, run after `argv`: as root of a user namespace. */
  | { readonly kind: 'UnderUnshare'; readonly argv: readonly string[] }
  | { readonly kind: 'Nowhere'; readonly failure: FabricFailure };

/** User namespace with this user as its root, network and mount namespaces of its own: unshare(1). */
const UNSHARE_ARGV = ['unshare', '-Urnm', '--'];

/** Tries it; changes nothing. */
export async function canMakeNamespaces(platform: string = process.platform): Promise<NamespaceMeans> {
  if (platform !== 'linux') {
    return nowhere({
      kind: 'not-permitted',
      message: `network namespaces need Linux, and this is ${platform}`,
    });
  }
  for (const argv of [
    ['ip', '-V'],
    ['nft', '--version'],
    ['unshare', '--version'],
  ]) {
    const end = await endProgram({ argv });
    if (!end.ok) return nowhere(end.error);
  }
  if (await succeeds(['unshare', '--net', '--mount', 'true'])) return { kind: 'Here' };
  if (await succeeds([...UNSHARE_ARGV, 'true'])) return { kind: 'UnderUnshare', argv: UNSHARE_ARGV };
  return nowhere({
    kind: 'not-permitted',
    message:
      'this machine refuses to make network namespaces (unshare -Urnm fails too); run as root, or allow user ' +
      'namespaces: sysctl -w kernel.unprivileged_userns_clone=1, and on Ubuntu 24.04 ' +
      'kernel.apparmor_restrict_unprivileged_userns=0',
  });
}

const nowhere = (failure: FabricFailure): NamespaceMeans => ({ kind: 'Nowhere', failure });

async function succeeds(argv: readonly string[]): Promise<boolean> {
  const end = await endProgram({ argv });
  return end.ok && end.value.exitCode === 0;
}
