// Subnet CIDR reservations: what they keep of a subnet's IPv4 block, and for whom.
// https://docs.aws.amazon.com/vpc/latest/userguide/subnet-cidr-reservation.html

import { cidrContains, cidrContainsCidr, cidrSize } from './cidr.ts';
import { freeBlockCount } from './free-blocks.ts';
import type { Cidr, Ip } from './ip.ts';
import { reservedAddresses, usableAddressCount } from './subnet.ts';

export interface SubnetReservations {
  /** For prefixes: they are taken of nothing else. */
  readonly prefix: readonly Cidr[];
  /** For addresses that somebody names: neither single ones nor prefixes are taken of them by themselves. */
  readonly explicit: readonly Cidr[];
}

export const NO_RESERVATIONS: SubnetReservations = { prefix: [], explicit: [] };

const BLOCK_LENGTH = 28;

export const reservedBlocks = ({ prefix, explicit }: SubnetReservations): readonly Cidr[] => [
  ...prefix,
  ...explicit,
];

/** Those that lie in no other of them, which would keep nothing more. */
const outermost = (blocks: readonly Cidr[]): readonly Cidr[] =>
  [...new Set(blocks)].filter(
    (block) => !blocks.some((other) => other !== block && cidrContainsCidr(other, block)),
  );

/** Number of addresses of which EC2 takes single ones by itself; it counts no others as free. */
export function unreservedCount(subnet: Cidr, reservations: SubnetReservations): number {
  const kept = outermost(reservedBlocks(reservations)).reduce(
    (sum, block) => sum + Number(cidrSize(block)),
    0,
  );
  // Where AWS's own addresses lie in a reservation, they are not taken off twice.
  const ofAws = reservedAddresses(subnet).filter((ip) => isReserved(ip, reservations)).length;
  return Math.max(0, usableAddressCount(subnet) - kept + ofAws);
}

export const isReserved = (ip: Ip, reservations: SubnetReservations): boolean =>
  reservedBlocks(reservations).some((block) => cidrContains(block, ip));

/** Whole blocks of 16 that prefixes can be taken of, where `used` are the addresses and prefixes in use. */
export const freeBlocksFor = (
  subnet: Cidr,
  { prefix, explicit }: SubnetReservations,
  used: readonly (Ip | Cidr)[],
): number =>
  (prefix.length > 0 ? outermost(prefix) : [subnet]).reduce(
    (sum, block) =>
      sum +
      freeBlockCount({
        subnet: block,
        blockLength: BLOCK_LENGTH,
        used,
        reserved: [...reservedAddresses(subnet), ...explicit],
      }),
    0,
  );
