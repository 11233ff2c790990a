// Reads a set out of the text of our nftables table.

import { NFT_TABLE } from '../../domain/datapath/host-datapath.ts';
import type { MemoryKernel } from './memory-kernel.ts';

/** Elements of the set, such as `imds_allowed`, as the text has them; none while there is no table. */
export function nftElements({ host }: MemoryKernel, set: string): readonly string[] {
  const table = host.nftTables.get(NFT_TABLE) ?? '';
  const at = table.indexOf(`set ${set} {`);
  if (at < 0) return [];
  // A block ends with a brace on a line of its own; its elements are in braces, too.
  const elements = /elements = \{([^}]*)\}/.exec(table.slice(at, table.indexOf('\n  }', at)));
  return (elements?.[1] ?? '')
    .split(',')
    .map((text) => text.trim())
    .filter((text) => text !== '');
}
