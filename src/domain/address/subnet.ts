// What AWS makes of a subnet's CIDR block: gateway, reserved and usable addresses.
// https://docs.aws.amazon.com/vpc/latest/userguide/subnet-sizing.html

import { cidrSize, nthAddress } from './cidr.ts';
import type { Cidr, Ip } from './ip.ts';

/** AWS keeps the first four addresses of a subnet (network, router, DNS, future use) and the last (broadcast). */
const RESERVED_AT_START_COUNT = 4n;
const RESERVED_AT_END_COUNT = 1n;

/**
 * The subnet's router: the first address after the network address. Also the next hop for IPv6, where AWS reserves
 * the same addresses.
 */
export const subnetGateway = (subnet: Cidr): Ip => nthAddress(subnet, 1);

/** The addresses that AWS never assigns, in order. Of a block of five addresses or fewer, all. */
export function reservedAddresses(subnet: Cidr): readonly Ip[] {
  const size = cidrSize(subnet);
  const reserved: Ip[] = [];
  for (let n = 0n; n < RESERVED_AT_START_COUNT && n < size; n++) reserved.push(nthAddress(subnet, n));
  if (size > RESERVED_AT_START_COUNT) reserved.push(nthAddress(subnet, size - RESERVED_AT_END_COUNT));
  return reserved;
}

/** Number of addresses that AWS can assign; exact below 2^53, the nearest double for larger IPv6 blocks. */
export function usableAddressCount(subnet: Cidr): number {
  const usable = cidrSize(subnet) - RESERVED_AT_START_COUNT - RESERVED_AT_END_COUNT;
  return usable > 0n ? Number(usable) : 0;
}
