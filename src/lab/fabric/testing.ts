// A VPC for the fabric's tests: one instance with a primary ENI, and a secondary one with an address and a prefix.

import { cidr, ip } from '../../domain/address/testing.ts';
import type { AttachmentId, EniId, InstanceId, SecurityGroupId, SubnetId, VpcId } from '../../domain/ids.ts';
import { EGRESS_ALL } from '../ec2/security-group.ts';
import type { AttachmentTruth, EniTruth, VpcView } from './vpc-truth.ts';

export const NODE = 'i-0000000000000000a' as InstanceId;
export const NODES_GROUP = 'sg-00000000' as SecurityGroupId;
export const PODS_GROUP = 'sg-11111111' as SecurityGroupId;

export const attachmentOf = (
  name: string,
  deviceIndex: number,
  status: AttachmentTruth['status'] = 'attached',
): AttachmentTruth => ({
  attachmentId: `eni-attach-${name}` as AttachmentId,
  instanceId: NODE,
  deviceIndex,
  networkCardIndex: 0,
  status,
});

export const PRIMARY: EniTruth = {
  eniId: 'eni-00000000' as EniId,
  mac: '02:00:00:00:00:00',
  subnetId: 'subnet-00000000' as SubnetId,
  securityGroupIds: [NODES_GROUP],
  primaryAddress: ip('10.1.0.10'),
  addresses: [],
  prefixes: [],
  ipv6Prefixes: [],
  attachment: attachmentOf('0', 0),
};

export const SECONDARY: EniTruth = {
  eniId: 'eni-11111111' as EniId,
  mac: '02:00:00:00:00:01',
  subnetId: 'subnet-11111111' as SubnetId,
  securityGroupIds: [PODS_GROUP, NODES_GROUP],
  primaryAddress: ip('10.1.8.4'),
  addresses: [ip('10.1.8.5')],
  prefixes: [cidr('10.1.8.32/28')],
  ipv6Prefixes: [],
  attachment: attachmentOf('1', 1),
};

/** The same VPC with IPv6, in which the secondary ENI has a prefix. */
export const withIpv6 = (view: VpcView): VpcView => ({
  ...view,
  cidrs: [...view.cidrs, cidr('2600:1f14:0:ab00::/56')],
  subnets: view.subnets.map((subnet, n) => ({ ...subnet, ipv6Cidr: cidr(`2600:1f14:0:ab0${n}::/64`) })),
  enis: view.enis.map((eni) =>
    eni.eniId === SECONDARY.eniId ? { ...eni, ipv6Prefixes: [cidr('2600:1f14:0:ab01:7::/80')] } : eni,
  ),
});

export const VIEW: VpcView = {
  vpcId: 'vpc-00000000' as VpcId,
  cidrs: [cidr('10.1.0.0/16')],
  subnets: [
    { subnetId: PRIMARY.subnetId, zone: 'eu-test-1a', cidr: cidr('10.1.0.0/24') },
    { subnetId: SECONDARY.subnetId, zone: 'eu-test-1a', cidr: cidr('10.1.8.0/24') },
  ],
  securityGroups: [
    {
      securityGroupId: NODES_GROUP,
      ingress: [{ protocol: 'all', peer: { kind: 'Cidr', cidr: cidr('0.0.0.0/0') } }],
      egress: EGRESS_ALL,
    },
    {
      securityGroupId: PODS_GROUP,
      ingress: [
        {
          protocol: 'tcp',
          ports: { from: 8080, to: 8080 },
          peer: { kind: 'Cidr', cidr: cidr('192.168.0.0/16') },
        },
        {
          protocol: 'udp',
          ports: { from: 53, to: 54 },
          peer: { kind: 'Group', securityGroupId: PODS_GROUP },
        },
        { protocol: 'icmp', peer: { kind: 'Cidr', cidr: cidr('0.0.0.0/0') } },
        { protocol: 'all', peer: { kind: 'Cidr', cidr: cidr('::/0') } },
      ],
      egress: [],
    },
  ],
  instances: [
    {
      instanceId: NODE,
      instanceType: 'm5.large',
      zone: 'eu-test-1a',
      state: 'running',
      primaryEniId: PRIMARY.eniId,
      primaryAddress: PRIMARY.primaryAddress,
    },
  ],
  enis: [PRIMARY, SECONDARY],
};
