// The small account of the tests, made in moto through the SDK.

import {
  CreateSecurityGroupCommand,
  CreateSubnetCommand,
  CreateVpcCommand,
  DescribeImagesCommand,
  EC2Client,
  RunInstancesCommand,
} from '@aws-sdk/client-ec2';
import type { InstanceId, SecurityGroupId, SubnetId, VpcId } from '../../src/domain/ids.ts';
import { adapterFor, hastyClock, REGION, type WireWorld } from './aws-support.ts';

/** What the sequences of calls need to know, the same for every EC2. */
export type Account = Pick<
  WireWorld,
  | 'clock'
  | 'ec2'
  | 'instanceId'
  | 'otherVpcSecurityGroupId'
  | 'otherZoneSubnetId'
  | 'securityGroupId'
  | 'smallSubnetId'
  | 'subnetId'
  | 'vpcId'
>;

function must<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Error(`moto gave no ${what}`);
  return value;
}

/** A VPC of its own with the instance alone in it. */
export async function createMotoAccount(endpoint: string): Promise<Account> {
  const client = new EC2Client({ region: REGION, endpoint });
  const vpc = async (cidr: string): Promise<VpcId> => {
    const { Vpc } = await client.send(new CreateVpcCommand({ CidrBlock: cidr }));
    return must(Vpc?.VpcId, 'VPC') as VpcId;
  };
  const vpcId = await vpc('10.0.0.0/16');
  const otherVpcId = await vpc('10.9.0.0/16');
  const subnet = async (zone: string, cidr: string): Promise<SubnetId> => {
    const { Subnet } = await client.send(
      new CreateSubnetCommand({ VpcId: vpcId, CidrBlock: cidr, AvailabilityZone: `${REGION}${zone}` }),
    );
    return must(Subnet?.SubnetId, 'subnet') as SubnetId;
  };
  const group = async (VpcId: VpcId): Promise<SecurityGroupId> => {
    const making = new CreateSecurityGroupCommand({ VpcId, GroupName: 'pods', Description: 'pods' });
    return must((await client.send(making)).GroupId, 'security group') as SecurityGroupId;
  };
  const subnetId = await subnet('a', '10.0.1.0/24');
  const securityGroupId = await group(vpcId);
  const { Images } = await client.send(new DescribeImagesCommand({ Owners: ['amazon'] }));
  const { Instances } = await client.send(
    new RunInstancesCommand({
      ImageId: must(Images?.[0]?.ImageId, 'image'),
      InstanceType: 'm5.large',
      MinCount: 1,
      MaxCount: 1,
      SubnetId: subnetId,
      SecurityGroupIds: [securityGroupId],
    }),
  );
  return {
    clock: hastyClock,
    ec2: adapterFor(endpoint),
    vpcId,
    subnetId,
    otherZoneSubnetId: await subnet('b', '10.0.2.0/24'),
    smallSubnetId: await subnet('a', '10.0.3.0/28'),
    securityGroupId,
    otherVpcSecurityGroupId: await group(otherVpcId),
    instanceId: must(Instances?.[0]?.InstanceId, 'instance') as InstanceId,
  };
}
