// The simulated EC2 over HTTP serves a client that is neither ours nor in our language: boto3, on whose core the AWS CLI runs.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Cidr } from '../../src/domain/address/ip.ts';
import { must } from '../../src/lab/ec2/testing.ts';
import { createWireWorld, REGION, type WireOptions, type WireWorld } from './aws-support.ts';
import { hasPython, runPython } from './moto-server.ts';

/** Calls `call(METHOD, **parameters)` answer the answer, or the error's code and HTTP status. */
const PRELUDE = `
import sys, json, boto3, botocore
from botocore.config import Config
client = boto3.client('ec2', endpoint_url=sys.argv[1], region_name=sys.argv[2], config=Config(retries={'total_max_attempts': 1}))
ids = json.loads(sys.argv[3])
def call(method, **parameters):
    try:
        answer = getattr(client, method)(**parameters)
        answer.pop('ResponseMetadata')
        return answer
    except botocore.exceptions.ClientError as error:
        return [error.response['Error']['Code'], error.response['ResponseMetadata']['HTTPStatusCode']]
def say(value):
    print(json.dumps(value))
`;

async function say(world: WireWorld, script: string): Promise<unknown> {
  const { vpcId, subnetId, securityGroupId, instanceId } = world;
  const ids = JSON.stringify({ vpc: vpcId, subnet: subnetId, group: securityGroupId, instance: instanceId });
  return JSON.parse(await runPython(PRELUDE + script, [world.url, REGION, ids]));
}

const inWorld = async (options: WireOptions, work: (world: WireWorld) => Promise<void>): Promise<void> => {
  const world = await createWireWorld(options);
  await world.run(() => work(world));
};

const skip = hasPython() ? false : 'needs python3, to install boto3 from PyPI';

describe('boto3 and the simulated EC2', { skip }, () => {
  test('an ENI lives and dies', () =>
    inWorld({}, async (world) => {
      const told = await say(
        world,
        `
made = call('create_network_interface', SubnetId=ids['subnet'], Groups=[ids['group']], SecondaryPrivateIpAddressCount=2,
    Description='a & b', TagSpecifications=[{'ResourceType': 'network-interface', 'Tags': [{'Key': 'k', 'Value': 'v'}]}])
eni = made['NetworkInterface']
id = eni['NetworkInterfaceId']
attached = call('attach_network_interface', NetworkInterfaceId=id, InstanceId=ids['instance'], DeviceIndex=1)
seen = call('describe_network_interfaces', NetworkInterfaceIds=[id])['NetworkInterfaces'][0]
added = call('assign_private_ip_addresses', NetworkInterfaceId=id, SecondaryPrivateIpAddressCount=2)
busy = call('delete_network_interface', NetworkInterfaceId=id)
say({
  'description': eni['Description'], 'tags': eni['TagSet'], 'addresses': len(eni['PrivateIpAddresses']),
  'sameAttachment': seen['Attachment']['AttachmentId'] == attached['AttachmentId'],
  'added': len(added['AssignedPrivateIpAddresses']), 'busy': busy,
})
`,
      );
      assert.deepEqual(told, {
        description: 'a & b',
        tags: [{ Key: 'k', Value: 'v' }],
        addresses: 3,
        sameAttachment: true,
        added: 2,
        busy: ['InvalidParameterValue', 400],
      });
    }));

  test('an ENI has prefixes of both families', () =>
    inWorld({}, async (world) => {
      const told = await say(
        world,
        `
eni = call('create_network_interface', SubnetId=ids['subnet'], Ipv4PrefixCount=1, Ipv6PrefixCount=1)['NetworkInterface']
id = eni['NetworkInterfaceId']
more = call('assign_private_ip_addresses', NetworkInterfaceId=id, Ipv4PrefixCount=2)
more6 = call('assign_ipv6_addresses', NetworkInterfaceId=id, Ipv6PrefixCount=1)
off = call('unassign_private_ip_addresses', NetworkInterfaceId=id, Ipv4Prefixes=[p['Ipv4Prefix'] for p in eni['Ipv4Prefixes']])
off6 = call('unassign_ipv6_addresses', NetworkInterfaceId=id, Ipv6Prefixes=[p['Ipv6Prefix'] for p in eni['Ipv6Prefixes']])
seen = call('describe_network_interfaces', NetworkInterfaceIds=[id])['NetworkInterfaces'][0]
subnet = call('describe_subnets', SubnetIds=[ids['subnet']])['Subnets'][0]
say({
  'made': [len(eni['Ipv4Prefixes']), len(eni['Ipv6Prefixes'])],
  'stays': seen['Ipv4Prefixes'] == more['AssignedIpv4Prefixes'],
  'stays6': [p['Ipv6Prefix'] for p in seen['Ipv6Prefixes']] == more6['AssignedIpv6Prefixes'],
  'off6': off6['UnassignedIpv6Prefixes'] == [p['Ipv6Prefix'] for p in eni['Ipv6Prefixes']],
  'subnet': [a['Ipv6CidrBlock'] for a in subnet['Ipv6CidrBlockAssociationSet']],
  'both': call('create_network_interface', SubnetId=ids['subnet'], Ipv4PrefixCount=1, SecondaryPrivateIpAddressCount=1),
})
`,
      );
      assert.deepEqual(told, {
        made: [1, 1],
        stays: true,
        stays6: true,
        off6: true,
        subnet: ['2600:1f14:0:ab01::/64'],
        both: ['InvalidParameterCombination', 400],
      });
    }));

  test('a reservation for prefixes is listed, and is not counted as free', () =>
    inWorld({}, async (world) => {
      const { admin, truth } = world.sim;
      must(admin.reserveForPrefixes(world.otherZoneSubnetId, '10.0.2.64/26' as Cidr));
      const told = await say(
        world,
        `
subnet = call('describe_subnets', Filters=[{'Name': 'availability-zone', 'Values': ['b']}])['Subnets'][0]
kept = call('get_subnet_cidr_reservations', SubnetId=subnet['SubnetId'])
none = call('get_subnet_cidr_reservations', SubnetId=ids['subnet'])
say({
  'free': subnet['AvailableIpAddressCount'],
  'kept': [[r['Cidr'], r['ReservationType']] for r in kept['SubnetIpv4CidrReservations']],
  'none': none['SubnetIpv4CidrReservations'],
  'gone': call('get_subnet_cidr_reservations', SubnetId='subnet-0123456789abcdef0'),
})
`,
      );
      assert.deepEqual(told, {
        free: 251 - 64,
        kept: [['10.0.2.64/26', 'prefix']],
        none: [],
        gone: ['InvalidSubnetID.NotFound', 400],
      });
      assert.deepEqual(truth.subnet(world.otherZoneSubnetId)?.prefixReservations, ['10.0.2.64/26']);
    }));

  test('describes without ids or filters show all that exists', () =>
    inWorld({}, async (world) => {
      const told = await say(
        world,
        `
say({
  'vpcs': len(call('describe_vpcs')['Vpcs']),
  'subnets': sorted(s['CidrBlock'] for s in call('describe_subnets')['Subnets']),
  'inVpc': len(call('describe_subnets', Filters=[{'Name': 'vpc-id', 'Values': [ids['vpc']]}])['Subnets']),
  'inZone': len(call('describe_subnets', Filters=[{'Name': 'vpc-id', 'Values': [ids['vpc']]}, {'Name': 'availability-zone', 'Values': ['b']}])['Subnets']),
  'groups': len(call('describe_security_groups', Filters=[{'Name': 'vpc-id', 'Values': [ids['vpc']]}])['SecurityGroups']),
  'states': [i['State'] for r in call('describe_instances')['Reservations'] for i in r['Instances']],
  'types': [t['InstanceType'] for t in call('describe_instance_types')['InstanceTypes']],
  'enis': len(call('describe_network_interfaces')['NetworkInterfaces']),
})
`,
      );
      assert.deepEqual(told, {
        vpcs: 2,
        subnets: ['10.0.1.0/24', '10.0.2.0/24', '10.0.3.0/28'],
        inVpc: 3,
        inZone: 1,
        groups: 2,
        states: [{ Code: 16, Name: 'running' }],
        types: ['m5.large'],
        enis: 1,
      });
    }));

  test('pages neither repeat nor miss', () =>
    inWorld({}, async (world) => {
      const { sim, subnetId } = world;
      const made = Array.from({ length: 23 }, () => must(sim.admin.createForeignEni({ subnetId })).eniId);
      const told = await say(
        world,
        `
pages = client.get_paginator('describe_network_interfaces').paginate(
    Filters=[{'Name': 'status', 'Values': ['available']}], PaginationConfig={'PageSize': 5})
say([[eni['NetworkInterfaceId'] for eni in page['NetworkInterfaces']] for page in pages])
`,
      );
      const pages = told as string[][];
      assert.deepEqual(
        pages.map((page) => page.length),
        [5, 5, 5, 5, 3],
      );
      assert.deepEqual(pages.flat().sort(), made.sort());
    }));

  test('what cannot be done is refused in words of EC2', () =>
    inWorld({}, async (world) => {
      const told = await say(
        world,
        `
say([
  call('describe_network_interfaces', NetworkInterfaceIds=['eni-0123456789abcdef0']),
  call('describe_subnets', SubnetIds=['subnet-0123456789abcdef0']),
  call('describe_subnets', MaxResults=5, NextToken='page-77-5'),
  call('describe_subnets', MaxResults=1001),
  call('describe_subnets', Filters=[{'Name': 'colour', 'Values': ['red']}]),
  call('create_network_interface', SubnetId=ids['subnet'], Ipv6AddressCount=1),
  call('describe_volumes'),
])
`,
      );
      assert.deepEqual(told, [
        ['InvalidNetworkInterfaceID.NotFound', 400],
        ['InvalidSubnetID.NotFound', 400],
        ['InvalidPaginationToken', 400],
        ['InvalidParameterValue', 400],
        ['InvalidParameterValue', 400],
        ['UnknownParameter', 400],
        ['InvalidAction', 400],
      ]);
    }));

  test('a throttle is HTTP 503', () =>
    inWorld({ profile: { throttleOdds: 1 } }, async (world) => {
      assert.deepEqual(await say(world, "say(call('describe_vpcs'))"), ['RequestLimitExceeded', 503]);
    }));
});
