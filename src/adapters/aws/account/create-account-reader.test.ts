// Route tables and metadata options as EC2 answers them.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { readHopLimits, readRoutes } from './create-account-reader.ts';

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
        Routes: [{ DestinationCidrBlock: '0.0.0.0/0', NatGatewayId: 'nat-1', State: 'active' }],
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
    assert.equal(vpc.main, 'none');
    assert.deepEqual(
      [...vpc.bySubnet],
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
