// Which ENIConfig a node gets that chooses by its own address at boot: what the shell does, in TypeScript.

import { cidrContains, cidrPrefixLength, compareCidrs } from '../address/cidr.ts';
import type { Ip } from '../address/ip.ts';
import { rendezvousChoice } from '../eniconfig/rendezvous-hash.ts';
import type { AddressRow } from './request.ts';

/** The narrowest block first, so that the first one that contains an address decides. */
export const byNarrowness = (rows: readonly AddressRow[]): readonly AddressRow[] =>
  [...rows].sort(
    (a, b) =>
      cidrPrefixLength(b.nodeCidr) - cidrPrefixLength(a.nodeCidr) || compareCidrs(a.nodeCidr, b.nodeCidr),
  );

/**
 * The name that the label gets. An address outside all blocks gets a name that no ENIConfig has: a node without a label
 * would fall to the next rule of the selection, and so perhaps to a subnet that nobody chose for it (SEL-1).
 */
export function chooseByAddress(rows: readonly AddressRow[], address: Ip): string {
  const row = byNarrowness(rows).find(({ nodeCidr }) => cidrContains(nodeCidr, address));
  return (row === undefined ? undefined : rendezvousChoice(address, row.eniConfigs)) ?? `none-for-${address}`;
}
