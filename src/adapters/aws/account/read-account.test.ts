// Route tables, metadata options, rules and endpoints as EC2 answers them.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { SecurityGroupId } from '../../../domain/ids.ts';
import {
  readEndpoints,
  readGroupRules,
  readHopLimits,
  readReservations,
  readRoutes,
  readSubnetTags,
} from './read-account.ts';

test('reservations of a subnet are told apart by their type', () => {
  assert.deepEqual(
    readReservations([
      { Cidr: '10.0.0.16/28', ReservationType: 'prefix' },
      { Cidr: '10.0.0.64/26', ReservationType: 'explicit' },
      { Cidr: '10.0.0.128/25', ReservationType: 'prefix' },
    ]),
    { prefix: ['10.0.0.16/28', '10.0.0.128/25'], explicit: ['10.0.0.64/26'] },
  );
  assert.deepEqual(readReservations([]), { prefix: [], explicit: [] });
});

suite('routes of a VPC', () => {
  test('a subnet goes by its own table, the others by the main one', () => {
    const [vpc] = readRoutes([
      {
        VpcId: 'vpc-1',
        Associations: [{ Main: true }],
        Routes: [{ DestinationCidrBlock: '10.0.0.0/16', GatewayId: 'local' }],
      },
      {
        VpcId: 'vpc-1',
        Associations: [{ SubnetId: 'subnet-1' }, { SubnetId: 'subnet-2' }],
        Routes: [
          { DestinationCidrBlock: '0.0.0.0/0', NatGatewayId: 'nat-1', State: 'active' },
          { DestinationPrefixListId: 'pl-6da54004', GatewayId: 'vpce-1', State: 'active' },
        ],
      },
      {
        VpcId: 'vpc-1',
        Associations: [{ SubnetId: 'subnet-3' }],
        Routes: [{ DestinationCidrBlock: '0.0.0.0/0', GatewayId: 'igw-1' }],
      },
      {
        VpcId: 'vpc-1',
        Associations: [{ SubnetId: 'subnet-4' }],
        Routes: [{ DestinationCidrBlock: '0.0.0.0/0', TransitGatewayId: 'tgw-1' }],
      },
      {
        VpcId: 'vpc-1',
        Associations: [{ SubnetId: 'subnet-5' }],
        Routes: [{ DestinationCidrBlock: '0.0.0.0/0', NatGatewayId: 'nat-2', State: 'blackhole' }],
      },
    ]);
    assert.ok(vpc !== undefined);
    assert.equal(vpc.main.defaultRoute, 'none');
    assert.deepEqual(
      [...vpc.bySubnet].flatMap(([id, { gatewayEndpointIds }]) => gatewayEndpointIds.map((one) => [id, one])),
      [
        ['subnet-1', 'vpce-1'],
        ['subnet-2', 'vpce-1'],
      ],
    );
    assert.deepEqual(
      [...vpc.bySubnet].map(([id, { defaultRoute }]) => [id, defaultRoute]),
      [
        ['subnet-1', 'nat-gateway'],
        ['subnet-2', 'nat-gateway'],
        ['subnet-3', 'internet-gateway'],
        ['subnet-4', 'other'],
        ['subnet-5', 'none'],
      ],
    );
  });
});

suite('metadata options', () => {
  test('the hop limit of every instance that has one', () => {
    assert.deepEqual(
      [
        ...readHopLimits([
          { InstanceId: 'i-1', MetadataOptions: { HttpPutResponseHopLimit: 2 } },
          { InstanceId: 'i-2', MetadataOptions: {} },
        ]),
      ],
      [['i-1', 2]],
    );
  });
});

suite('tags of subnets', () => {
  test('key -> value, of a subnet without any too', () => {
    assert.deepEqual(
      [
        ...readSubnetTags([
          { SubnetId: 'subnet-1', Tags: [{ Key: 'kubernetes.io/role/elb', Value: '1' }, { Key: 'team' }] },
          { SubnetId: 'subnet-2' },
        ]),
      ],
      [
        ['subnet-1', { 'kubernetes.io/role/elb': '1', team: '' }],
        ['subnet-2', {}],
      ],
    );
  });
});

suite('rules of security groups', () => {
  test('protocols by name and number, ports, and each kind of peer', () => {
    const id = 'sg-1' as SecurityGroupId;
    const rules = readGroupRules(
      [id, 'sg-2' as SecurityGroupId],
      [
        {
          GroupId: 'sg-1',
          IsEgress: true,
          IpProtocol: '-1',
          FromPort: -1,
          ToPort: -1,
          CidrIpv4: '0.0.0.0/0',
        },
        {
          GroupId: 'sg-1',
          IsEgress: false,
          IpProtocol: 'tcp',
          FromPort: 443,
          ToPort: 444,
          ReferencedGroupInfo: { GroupId: 'sg-9' },
        },
        {
          GroupId: 'sg-1',
          IsEgress: false,
          IpProtocol: '17',
          FromPort: 53,
          ToPort: 53,
          PrefixListId: 'pl-1',
        },
        { GroupId: 'sg-1', IsEgress: false, IpProtocol: 'icmp', FromPort: 8, ToPort: 0, CidrIpv6: '::/0' },
        { GroupId: 'sg-1', IsEgress: false, IpProtocol: '47', CidrIpv4: '10.0.0.0/8' },
      ],
    );
    assert.deepEqual(
      [...rules],
      [
        [
          'sg-1',
          [
            { direction: 'Egress', protocol: 'all', peer: { kind: 'Cidr', cidr: '0.0.0.0/0' } },
            {
              direction: 'Ingress',
              protocol: 'tcp',
              ports: { from: 443, to: 444 },
              peer: { kind: 'Group', securityGroupId: 'sg-9' },
            },
            {
              direction: 'Ingress',
              protocol: 'udp',
              ports: { from: 53, to: 53 },
              peer: { kind: 'PrefixList', prefixListId: 'pl-1' },
            },
            { direction: 'Ingress', protocol: 'icmp', peer: { kind: 'Cidr', cidr: '::/0' } },
            { direction: 'Ingress', protocol: 'other', peer: { kind: 'Cidr', cidr: '10.0.0.0/8' } },
          ],
        ],
        ['sg-2', []],
      ],
    );
  });
});

suite('endpoints of a VPC', () => {
  test('by their service, without the Region, with their groups and ENIs', () => {
    const read = readEndpoints([
      {
        VpcEndpointId: 'vpce-1',
        VpcId: 'vpc-1',
        ServiceName: 'com.amazonaws.eu-west-1.ecr.api',
        VpcEndpointType: 'Interface',
        State: 'Available',
        PrivateDnsEnabled: true,
        Groups: [{ GroupId: 'sg-1' }],
        NetworkInterfaceIds: ['eni-1'],
      },
      {
        VpcEndpointId: 'vpce-2',
        VpcId: 'vpc-1',
        ServiceName: 'cn.com.amazonaws.cn-north-1.s3',
        VpcEndpointType: 'Gateway',
        State: 'Pending',
      },
    ]);
    assert.deepEqual(read, [
      {
        endpointId: 'vpce-1',
        vpcId: 'vpc-1',
        service: 'ecr.api',
        kind: 'Interface',
        isAvailable: true,
        hasPrivateDns: true,
        securityGroupIds: ['sg-1'],
        eniIds: ['eni-1'],
      },
      {
        endpointId: 'vpce-2',
        vpcId: 'vpc-1',
        service: 's3',
        kind: 'Gateway',
        isAvailable: false,
        hasPrivateDns: false,
        securityGroupIds: [],
        eniIds: [],
      },
    ]);
  });
});
