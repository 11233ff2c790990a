// EC2's objects as AWS gives them, the odd ones among them, and what the port makes of them.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { InstanceTypeInfo, NetworkInterface } from '@aws-sdk/client-ec2';
import {
  readEni,
  readInstance,
  readInstanceLimits,
  readSubnet,
  readVpc,
  UnreadableAnswer,
} from './read-answer.ts';

const eni: NetworkInterface = {
  NetworkInterfaceId: 'eni-1',
  MacAddress: '02:AB:cd:00:00:01',
  SubnetId: 'subnet-1',
  VpcId: 'vpc-1',
  AvailabilityZone: 'eu-central-1a',
  Status: 'in-use',
  PrivateIpAddress: '10.0.0.10',
  PrivateIpAddresses: [
    { PrivateIpAddress: '10.0.0.11', Primary: false },
    { PrivateIpAddress: '10.0.0.10', Primary: true },
    { PrivateIpAddress: '10.0.0.12', Primary: false },
  ],
  Ipv4Prefixes: [{ Ipv4Prefix: '10.0.0.32/28' }],
  Ipv6Prefixes: [{ Ipv6Prefix: '2600:1f14:0:1:5::/80' }],
  Groups: [{ GroupId: 'sg-1', GroupName: 'pods' }],
  TagSet: [{ Key: 'eniwhere.io/eni-config', Value: '' }],
  Attachment: {
    AttachmentId: 'eni-attach-1',
    InstanceId: 'i-1',
    DeviceIndex: 1,
    Status: 'attached',
    DeleteOnTermination: true,
  },
};

describe('an ENI', () => {
  test('is read whole', () => {
    assert.deepEqual(readEni(eni), {
      eniId: 'eni-1',
      mac: '02:ab:cd:00:00:01',
      subnetId: 'subnet-1',
      vpcId: 'vpc-1',
      zone: 'eu-central-1a',
      status: 'in-use',
      description: '',
      securityGroupIds: ['sg-1'],
      primaryAddress: '10.0.0.10',
      addresses: ['10.0.0.11', '10.0.0.12'],
      prefixes: ['10.0.0.32/28'],
      ipv6Prefixes: ['2600:1f14:0:1:5::/80'],
      tags: { 'eniwhere.io/eni-config': '' },
      attachment: {
        attachmentId: 'eni-attach-1',
        instanceId: 'i-1',
        deviceIndex: 1,
        networkCardIndex: 0,
        deleteOnTermination: true,
        status: 'attached',
      },
    });
  });

  test('that is just created, as EC2 answers the create, is available', () => {
    // The SDK's type does not know the status.
    const { Attachment, ...created } = { ...eni, Status: 'pending' as 'available' };
    assert.equal(Attachment?.Status, 'attached');
    assert.equal(readEni(created).status, 'available');
    assert.equal(readEni(created).attachment, undefined);
  });

  test('of a load balancer is attached to no instance, and in use', () => {
    const { status, attachment } = readEni({
      ...eni,
      Attachment: {
        AttachmentId: 'ela-attach-1',
        InstanceOwnerId: 'amazon-elb',
        DeviceIndex: 1,
        Status: 'attached',
      },
    });
    assert.deepEqual([status, attachment], ['in-use', undefined]);
  });

  test('of a subnet of IPv6 alone has an IPv6 address for its primary one', () => {
    const { PrivateIpAddress, PrivateIpAddresses, ...bare } = eni;
    assert.ok(PrivateIpAddress !== undefined && PrivateIpAddresses !== undefined);
    const read = readEni({ ...bare, Ipv6Addresses: [{ Ipv6Address: '2001:DB8::0:1' }] });
    assert.deepEqual([read.primaryAddress, read.addresses], ['2001:db8::1', []]);
  });

  test('that lacks what it must have is not read', () => {
    const { MacAddress, ...faceless } = eni;
    assert.ok(MacAddress !== undefined);
    assert.throws(() => readEni(faceless), { name: 'UnreadableAnswer', message: 'eni-1 has no MacAddress' });
    assert.throws(() => readEni({ ...eni, PrivateIpAddress: '10.0.0' }), UnreadableAnswer);
    assert.throws(() => readEni({ ...eni, Status: 'melting' as 'available' }), UnreadableAnswer);
  });
});

describe('an instance', () => {
  const primary = {
    NetworkInterfaceId: 'eni-1',
    SubnetId: 'subnet-1',
    VpcId: 'vpc-1',
    PrivateIpAddress: '10.0.0.10',
    Groups: [{ GroupId: 'sg-1' }],
    Attachment: { DeviceIndex: 0, NetworkCardIndex: 0 },
  };
  const instance = {
    InstanceId: 'i-1',
    InstanceType: 'm5.large' as const,
    Placement: { AvailabilityZone: 'eu-central-1a' },
    VpcId: 'vpc-1',
    State: { Name: 'running' as const },
  };

  test('has the ENI at device index 0 of card 0 for its primary one, in whatever order they come', () => {
    const onOtherCard = {
      ...primary,
      NetworkInterfaceId: 'eni-2',
      Attachment: { DeviceIndex: 0, NetworkCardIndex: 1 },
    };
    const second = { ...primary, NetworkInterfaceId: 'eni-3', Attachment: { DeviceIndex: 1 } };
    const read = readInstance({ ...instance, NetworkInterfaces: [onOtherCard, second, primary] });
    assert.equal(read?.primaryEniId, 'eni-1');
    assert.deepEqual(read?.primarySecurityGroupIds, ['sg-1']);
  });

  test('that is terminated, and shown without network, is as good as gone', () => {
    const gone = {
      InstanceId: 'i-1',
      InstanceType: 'm5.large' as const,
      State: { Name: 'terminated' as const },
    };
    assert.equal(readInstance({ ...gone, NetworkInterfaces: [] }), undefined);
    assert.equal(readInstance(gone), undefined);
  });
});

describe('an instance type', () => {
  const types: readonly (readonly [string, InstanceTypeInfo, object])[] = [
    [
      'of one card',
      {
        InstanceType: 'm5.large',
        BareMetal: false,
        Hypervisor: 'nitro',
        VCpuInfo: { DefaultVCpus: 2 },
        NetworkInfo: {
          MaximumNetworkInterfaces: 3,
          MaximumNetworkCards: 1,
          NetworkCards: [{ NetworkCardIndex: 0, MaximumNetworkInterfaces: 3 }],
          Ipv4AddressesPerInterface: 10,
          Ipv6AddressesPerInterface: 10,
        },
      },
      {
        eniMax: 3,
        ipv4PerEniMax: 10,
        ipv6PerEniMax: 10,
        networkCardCount: 1,
        hypervisor: 'nitro',
        vcpuCount: 2,
      },
    ],
    [
      'of four cards counts the interfaces of the first',
      {
        InstanceType: 'p4d.24xlarge',
        BareMetal: false,
        Hypervisor: 'nitro',
        VCpuInfo: { DefaultVCpus: 96 },
        NetworkInfo: {
          MaximumNetworkInterfaces: 60,
          MaximumNetworkCards: 4,
          NetworkCards: [0, 1, 2, 3].map((index) => ({
            NetworkCardIndex: index,
            MaximumNetworkInterfaces: 15,
          })),
          Ipv4AddressesPerInterface: 50,
          Ipv6AddressesPerInterface: 50,
        },
      },
      {
        eniMax: 15,
        ipv4PerEniMax: 50,
        ipv6PerEniMax: 50,
        networkCardCount: 4,
        hypervisor: 'nitro',
        vcpuCount: 96,
      },
    ],
    [
      'of bare metal has no hypervisor',
      {
        InstanceType: 'm5.metal',
        BareMetal: true,
        VCpuInfo: { DefaultVCpus: 96 },
        NetworkInfo: { MaximumNetworkInterfaces: 15, Ipv4AddressesPerInterface: 50 },
      },
      {
        eniMax: 15,
        ipv4PerEniMax: 50,
        ipv6PerEniMax: 0,
        networkCardCount: 1,
        hypervisor: 'metal',
        vcpuCount: 96,
      },
    ],
  ];
  for (const [title, raw, limits] of types) {
    test(title, () => {
      assert.deepEqual(readInstanceLimits(raw), { instanceType: raw.InstanceType, ...limits });
    });
  }
});

test('a subnet of IPv6 alone has nothing to draw from', () => {
  assert.equal(readSubnet({ SubnetId: 'subnet-1', Ipv6Native: true }), undefined);
});

test('a VPC has the blocks in force, each once', () => {
  const block = (CidrBlock: string, State: 'associated' | 'disassociated'): object => ({
    CidrBlock,
    CidrBlockState: { State },
  });
  const vpc = readVpc({
    VpcId: 'vpc-1',
    CidrBlock: '10.0.0.0/16',
    CidrBlockAssociationSet: [
      block('10.0.0.0/16', 'associated'),
      block('100.64.0.0/16', 'associated'),
      block('10.9.0.0/16', 'disassociated'),
    ],
    Ipv6CidrBlockAssociationSet: [
      { Ipv6CidrBlock: '2001:db8:1::/56', Ipv6CidrBlockState: { State: 'associated' } },
    ],
  });
  assert.deepEqual(vpc.cidrs, ['10.0.0.0/16', '100.64.0.0/16', '2001:db8:1::/56']);
});
