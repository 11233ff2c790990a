// Builders for tests of the node's side: every option that a test sets matters to it.

import { cidr, ip } from '../address/testing.ts';
import { podKey, type EniId, type InstanceId, type SubnetId, type VpcId } from '../ids.ts';
import type { Ip } from '../address/ip.ts';
import { defaultSettings } from '../datapath/testing.ts';
import type { Allocation, JournalRecord, SandboxKey } from './ledger.ts';
import type { NodeNetworkSpec, SpecEni } from './node-network.ts';

/** The record that ends the rest of some addresses. */
export const rested = (addresses: readonly Ip[]): JournalRecord => ({ type: 'Rested', at: 0, addresses });

export const sandbox = (containerId: string): SandboxKey => ({ containerId, ifName: 'eth0' });

export const allocation = (containerId: string, ...addresses: readonly string[]): Allocation => ({
  sandbox: sandbox(containerId),
  pod: podKey('shop', containerId),
  podUid: `uid-${containerId}`,
  addresses: addresses.map(ip),
  hostLink: `eni${containerId}`,
  netnsPath: `/run/netns/${containerId}`,
});

export const allocated = (containerId: string, address: string): JournalRecord => ({
  type: 'Allocated',
  at: 0,
  allocation: allocation(containerId, address),
});

export const released = (containerId: string, address: string, at: number): JournalRecord => ({
  type: 'Released',
  at,
  sandbox: sandbox(containerId),
  addresses: [ip(address)],
});

export interface EniOptions {
  readonly deviceIndex?: number;
  readonly addresses?: readonly string[];
  readonly prefixes?: readonly string[];
  readonly subnetIpv6?: string;
  readonly withdrawing?: readonly string[];
  readonly cordoned?: boolean;
  readonly primary?: boolean;
  readonly eniConfig?: string;
  readonly chosenOnly?: true;
}

/** An ENI of ENIConfig `blue` (unless another is given) in 10.1.0.0/24; `deviceIndex` (1 unless given) also names it. */
export function specEni(options: EniOptions): SpecEni {
  const deviceIndex = options.deviceIndex ?? 1;
  return {
    eniId: `eni-0000000${deviceIndex}` as EniId,
    mac: `02:00:00:00:00:0${deviceIndex}`,
    primary: options.primary ?? false,
    deviceIndex,
    networkCardIndex: 0,
    eniConfig: options.eniConfig ?? 'blue',
    subnetId: 'subnet-0000000b' as SubnetId,
    subnetCidr: cidr('10.1.0.0/24'),
    ...(options.subnetIpv6 === undefined ? {} : { subnetIpv6Cidr: cidr(options.subnetIpv6) }),
    securityGroupIds: [],
    primaryAddress: ip(`10.1.0.${240 + deviceIndex}`),
    addresses: (options.addresses ?? []).map(ip),
    prefixes: (options.prefixes ?? []).map(cidr),
    withdrawing: (options.withdrawing ?? []).map(ip),
    cordoned: options.cordoned ?? false,
    ...(options.chosenOnly === true ? { chosenOnly: true } : {}),
  };
}

/** The node's own address. */
export const NODE_ADDRESS = '10.0.0.10';

export const primaryEni: SpecEni = {
  ...specEni({ deviceIndex: 0, primary: true }),
  subnetCidr: cidr('10.0.0.0/24'),
  primaryAddress: ip(NODE_ADDRESS),
};

/** What the controller writes for an m5.large that has ENIConfig `blue` by its label. */
export const nodeNetworkSpec = (differences: Partial<NodeNetworkSpec> = {}): NodeNetworkSpec => ({
  instance: {
    instanceId: 'i-00000001' as InstanceId,
    instanceType: 'm5.large',
    zone: 'us-west-2a',
    vpcId: 'vpc-00000001' as VpcId,
    primaryEniId: primaryEni.eniId,
    primaryAddress: primaryEni.primaryAddress,
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
  addressFamilies: ['IPv4'],
  intents: [],
  enis: [primaryEni],
  settings: defaultSettings,
  cooldownMs: 30_000,
  ...differences,
});
