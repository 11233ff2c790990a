// Rendezvous (highest random weight) hashing: spreads keys over candidates, and moves few keys when candidates change.

import { sha1Hex } from '../datapath/sha1.ts';

/**
 * The candidate that `key` falls to: the one with the greatest SHA-1 of the text `KEY/CANDIDATE`, as 40 lower-case hex
 * digits. Undefined without candidates; their order does not matter. A candidate that is added takes over about 1/n of
 * the keys and moves no other; one that is removed moves only the keys that it had.
 *
 * The key is the primary private IPv4 address of the instance's primary ENI, as dotted decimals. A boot script has to
 * come to the same answer as the controller, and this is what both know for certain: the script before kubelet starts,
 * from instance metadata (`local-ipv4`), the controller from DescribeInstances. The Kubernetes node name is no such key:
 * it may be made of the address, of the instance id, or be given by hand. Neither an address nor the name of an
 * ENIConfig (RFC 1123) contains a slash, so the text cannot be read in two ways. In a shell:
 *
 *     for c in "$@"; do printf '%s %s\n' "$(printf '%s/%s' "$ip" "$c" | sha1sum | cut -c1-40)" "$c"; done |
 *       LC_ALL=C sort -r | head -n 1 | cut -d ' ' -f 2
 */
export function rendezvousChoice(key: string, candidates: readonly string[]): string | undefined {
  return rendezvousOrder(key, candidates)[0];
}

/** The candidates from the greatest weight to the smallest: who comes next if the first cannot serve. */
export function rendezvousOrder(key: string, candidates: readonly string[]): readonly string[] {
  return candidates
    .map((candidate) => ({ candidate, weight: `${sha1Hex(`${key}/${candidate}`)} ${candidate}` }))
    .sort((a, b) => (a.weight < b.weight ? 1 : -1))
    .map(({ candidate }) => candidate);
}
