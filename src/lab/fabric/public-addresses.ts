// The public addresses under which the VPC's addresses are seen from the internet, one for one.

import { blockOf, cidrContains, cidrPrefixLength, firstAddress } from '../../domain/address/cidr.ts';
import { type Cidr, familyOf, type Ip } from '../../domain/address/ip.ts';
import { ipv4FromNumber, ipv4ToNumber } from '../../domain/address/ip-number.ts';
import { assert } from '../../domain/result.ts';

/**
 * The first of the /16 blocks that stand for the VPC's blocks: the benchmarking range of RFC 2544, and what follows it
 * for VPCs with more than two blocks. Nothing of it ever leaves the namespaces.
 */
const FIRST_PUBLIC_BLOCK = '198.18.0.0' as Ip;

/** AWS allows blocks from /16 to /28, so each fits into a /16. */
export const PUBLIC_BLOCK_LENGTH = 16;
const PUBLIC_BLOCK_SIZE = 65_536;

export interface PublicBlock {
  readonly vpc: Cidr;
  readonly seenAs: Cidr;
}

/** One block of public addresses, of the same size, for each IPv4 block of the VPC, by its place in the list. */
export const publicBlocks = (vpcCidrs: readonly Cidr[]): readonly PublicBlock[] =>
  vpcCidrs
    .filter((cidr) => familyOf(cidr) === 4)
    .map((vpc, index) => {
      const length = cidrPrefixLength(vpc);
      assert(length >= PUBLIC_BLOCK_LENGTH, `the VPC block ${vpc} is no larger than a /16, as AWS demands`);
      const base = ipv4FromNumber(ipv4ToNumber(FIRST_PUBLIC_BLOCK) + index * PUBLIC_BLOCK_SIZE);
      return { vpc, seenAs: blockOf(base, length) };
    });

/** The VPC address behind an address that the internet host saw; undefined when it is none of the VPC's. */
export function addressBehind(vpcCidrs: readonly Cidr[], seen: Ip): Ip | undefined {
  const block = publicBlocks(vpcCidrs).find(({ seenAs }) => cidrContains(seenAs, seen));
  if (block === undefined) return undefined;
  const offset = ipv4ToNumber(seen) - ipv4ToNumber(firstAddress(block.seenAs));
  return ipv4FromNumber(ipv4ToNumber(firstAddress(block.vpc)) + offset);
}
