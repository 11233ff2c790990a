// The NodeNetwork of a test node: a primary ENI, and one whose addresses are for pods.

import type { AddressFamily } from '../../../src/domain/address/families.ts';
import { listedIpv6Addresses } from '../../../src/domain/address/ipv6-prefix.ts';
import { cidr, ip } from '../../../src/domain/address/testing.ts';
import { defaultSettings } from '../../../src/domain/datapath/testing.ts';
import type { EniId, InstanceId, SubnetId, VpcId } from '../../../src/domain/ids.ts';
import type { NodeNetworkSpec } from '../../../src/domain/ipam/node-network.ts';
import { specEni } from '../../../src/domain/ipam/testing-node.ts';

export const NODE_ADDRESS = '10.0.0.10';

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

export const PRIMARY_MAC = '02:00:00:00:00:00';

/** A NodeNetwork with a primary ENI and one for pods. */
export function nodeSpec(
  addresses: readonly string[],
  cooldownMs: number,
  addressFamilies: readonly AddressFamily[] = ['IPv4'],
): NodeNetworkSpec {
  const ipv6 = { prefixes: [POD_PREFIX], subnetIpv6: POD_SUBNET_IPV6 };
  const primary = specEni({ deviceIndex: 0, primary: true });
  return {
    instance: {
      instanceId: 'i-00000001' as InstanceId,
      instanceType: 'm5.large',
      zone: 'us-west-2a',
      vpcId: 'vpc-00000001' as VpcId,
      primaryEniId: 'eni-00000000' as EniId,
      primaryAddress: ip(NODE_ADDRESS),
      primarySubnetId: 'subnet-0000000a' as SubnetId,
      primarySecurityGroupIds: [],
    },
    selection: {
      kind: 'EniConfig',
      name: 'blue',
      subnetId: 'subnet-0000000b' as SubnetId,
      securityGroupIds: [],
      source: 'Label',
      reason: 'the node has the label',
    },
    mode: 'SecondaryIP',
    addressFamilies,
    intents: [],
    enis: [
      { ...primary, mac: PRIMARY_MAC, subnetCidr: cidr('10.0.0.0/24'), primaryAddress: ip(NODE_ADDRESS) },
      specEni({ deviceIndex: 1, addresses, ...(addressFamilies.includes('IPv6') ? ipv6 : {}) }),
    ],
    settings: { ...defaultSettings, directCidrs: [cidr('10.0.0.0/16'), cidr('10.1.0.0/16')] },
    cooldownMs,
  };
}
