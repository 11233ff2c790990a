// For tests: a node's spec with ENIs in few words.

import type { Ip } from '../address/ip.ts';
import { cidr, ip } from '../address/testing.ts';
import type { EniId, InstanceId, SecurityGroupId, SubnetId, VpcId } from '../ids.ts';
import type { SpecEni } from '../ipam/node-network.ts';
import type { DatapathSettings } from './datapath-settings.ts';
import type { DesiredHostInput } from './desired-host.ts';

export const defaultSettings: DatapathSettings = {
  externalSnat: false,
  directCidrs: [cidr('10.0.0.0/16'), cidr('100.64.0.0/16')],
  mtu: 9001,
  vethPrefix: 'eni',
  randomizeSnat: 'prng',
};

export interface EniSketch {
  readonly deviceIndex: number;
  readonly subnet: string;
  /** The subnet's IPv6 block, beside an IPv4 one. */
  readonly subnetIpv6?: string;
  /** Single addresses and prefixes of pods. */
  readonly pods?: readonly string[];
  readonly networkCardIndex?: number;
  /** A security group id other than everybody's. */
  readonly group?: string;
}

/** ENIs that several tests build hosts of. */
export const primary: EniSketch = { deviceIndex: 0, subnet: '10.0.0.0/24' };
export const twoPods: EniSketch = {
  deviceIndex: 1,
  subnet: '100.64.0.0/20',
  pods: ['100.64.0.21', '100.64.0.3'],
};
export const prefixes: EniSketch = {
  deviceIndex: 2,
  subnet: '100.64.0.0/20',
  pods: ['100.64.2.0/28', '100.64.0.200'],
};

/** The MAC of the ENI at a device index. */
export const macOf = (deviceIndex: number): string =>
  `02:00:00:00:00:${String(deviceIndex).padStart(2, '0')}`;

/** An ENI whose own address is number 10 + device index of its subnet. */
export function eni({
  deviceIndex,
  subnet,
  subnetIpv6,
  pods = [],
  networkCardIndex = 0,
  group = 'sg-00000001',
}: EniSketch): SpecEni {
  const subnetCidr = cidr(subnet);
  const own = subnet.includes(':') ? `::a${deviceIndex}` : `.${10 + deviceIndex}`;
  const base = subnet.slice(0, subnet.search(subnet.includes(':') ? /::\// : /\.\d+\//));
  return {
    eniId: `eni-0000000${deviceIndex}` as EniId,
    mac: macOf(deviceIndex),
    primary: deviceIndex === 0,
    deviceIndex,
    networkCardIndex,
    eniConfig: '',
    subnetId: 'subnet-00000001' as SubnetId,
    subnetCidr,
    ...(subnetIpv6 === undefined ? {} : { subnetIpv6Cidr: cidr(subnetIpv6) }),
    securityGroupIds: [group as SecurityGroupId],
    primaryAddress: ip(`${base}${own}`),
    addresses: pods.filter((text) => !text.includes('/')).map(ip),
    prefixes: pods.filter((text) => text.includes('/')).map(cidr),
    withdrawing: [],
    cordoned: false,
  };
}

/** The input of `desiredHost` for the ENIs, with links eth0, eth1, ... for those at `linked` device indexes (default: all). */
export function hostInput(
  enis: readonly EniSketch[],
  options: {
    readonly settings?: Partial<DatapathSettings>;
    readonly linked?: readonly number[];
    readonly imdsAllowed?: readonly Ip[];
  } = {},
): DesiredHostInput {
  const linked = options.linked ?? enis.map(({ deviceIndex }) => deviceIndex);
  return {
    spec: {
      instance: {
        instanceId: 'i-00000001' as InstanceId,
        instanceType: 'm5.large',
        zone: 'us-west-2a',
        vpcId: 'vpc-00000001' as VpcId,
        primaryEniId: 'eni-00000000' as EniId,
        primaryAddress: ip('10.0.0.10'),
        primarySubnetId: 'subnet-00000001' as SubnetId,
        primarySecurityGroupIds: ['sg-00000001' as SecurityGroupId],
      },
      enis: enis.map(eni),
      settings: { ...defaultSettings, ...options.settings },
    },
    links: [
      { name: 'lo', mac: '00:00:00:00:00:00' },
      ...linked.map((index) => ({ name: `eth${index}`, mac: macOf(index) })),
    ],
    imdsAllowed: options.imdsAllowed ?? [],
  };
}
