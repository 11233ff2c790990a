// The NodeNetwork of a test node: a primary ENI, and one whose addresses are for pods.

import type { AddressFamily } from '../../../src/domain/address/families.ts';
import { listedIpv6Addresses } from '../../../src/domain/address/ipv6-prefix.ts';
import { cidr } from '../../../src/domain/address/testing.ts';
import { defaultSettings } from '../../../src/domain/datapath/testing.ts';
import type { NodeNetworkSpec } from '../../../src/domain/ipam/node-network.ts';
import { nodeNetworkSpec, primaryEni, specEni } from '../../../src/domain/ipam/testing-node.ts';

/** Pods' addresses are 10.1.0.10 and following. */
const FIRST_POD_ADDRESS = 10;

export function podAddresses(count: number): readonly string[] {
  return Array.from({ length: count }, (_, n) => `10.1.0.${FIRST_POD_ADDRESS + n}`);
}

export const POD_SUBNET_IPV6 = '2001:db8:0:1::/64';
/** The /80 of the ENI for pods, where they have IPv6. */
export const POD_PREFIX = '2001:db8:0:1:5::/80';

/** What the ENI grants to pods of the families. */
export const grantedAddresses = (count: number, families: readonly AddressFamily[]): readonly string[] =>
  families.includes('IPv4') ? podAddresses(count) : listedIpv6Addresses(cidr(POD_PREFIX)).slice(0, count);

/** A NodeNetwork with a primary ENI and one for pods. */
export function nodeSpec(
  addresses: readonly string[],
  cooldownMs: number,
  addressFamilies: readonly AddressFamily[] = ['IPv4'],
): NodeNetworkSpec {
  const ipv6 = { prefixes: [POD_PREFIX], subnetIpv6: POD_SUBNET_IPV6 };
  return nodeNetworkSpec({
    addressFamilies,
    enis: [primaryEni, specEni({ addresses, ...(addressFamilies.includes('IPv6') ? ipv6 : {}) })],
    settings: { ...defaultSettings, directCidrs: [cidr('10.0.0.0/16'), cidr('10.1.0.0/16')] },
    cooldownMs,
  });
}
