// A small account for tests: one VPC, two zones, one m5.large; and a simulated EC2 with it on a clock of its own.

import { setImmediate as macrotask } from 'node:timers/promises';
import type { Cidr } from '../../domain/address/ip.ts';
import type { InstanceId, SecurityGroupId, SubnetId, VpcId } from '../../domain/ids.ts';
import type { InstanceLimits } from '../../domain/instance/instance-limits.ts';
import { M5_LARGE } from '../../domain/instance/testing.ts';
import type { Result } from '../../domain/result.ts';
import type { CreateEniRequest, Ec2, Ec2Failure } from '../../ports/ec2.ts';
import { createKernel, type Kernel } from '../kernel/kernel.ts';
import { settle } from '../kernel/settle.ts';
import { calmEc2, type Ec2Profile } from './ec2-profile.ts';
import { createSimEc2, type SimEc2 } from './sim-ec2.ts';

/** For set-up that is to succeed: what EC2 says otherwise ends the test. */
export function must<T>(result: Result<T, Ec2Failure>): T {
  if (!result.ok) throw new Error(`${result.error.code}: ${result.error.message}`);
  return result.value;
}

export interface SmallAccount {
  readonly vpcId: VpcId;
  /** 10.0.1.0/24 and 2600:1f14:0:ab01::/64 in zone a, the instance's. */
  readonly subnetId: SubnetId;
  /** 10.0.2.0/24 in zone b. */
  readonly otherZoneSubnetId: SubnetId;
  /** 10.0.3.0/28 in zone a, with tags. */
  readonly smallSubnetId: SubnetId;
  readonly securityGroupId: SecurityGroupId;
  readonly otherVpcSecurityGroupId: SecurityGroupId;
  readonly instanceId: InstanceId;
  readonly limits: InstanceLimits;
}

export function createSmallAccount({ admin }: SimEc2): SmallAccount {
  const { vpcId } = must(
    admin.createVpc({ cidrs: ['10.0.0.0/16' as Cidr, '2600:1f14:0:ab00::/56' as Cidr] }),
  );
  const other = must(admin.createVpc({ cidrs: ['10.9.0.0/16' as Cidr] }));
  const subnet = (zone: string, cidr: string, tags: Readonly<Record<string, string>> = {}): SubnetId =>
    must(admin.createSubnet({ vpcId, zone, cidr: cidr as Cidr, tags })).subnetId;
  const { subnetId } = must(
    admin.createSubnet({
      vpcId,
      zone: 'a',
      cidr: '10.0.1.0/24' as Cidr,
      ipv6Cidr: '2600:1f14:0:ab01::/64' as Cidr,
    }),
  );
  const { securityGroupId } = must(admin.createSecurityGroup({ vpcId, name: 'pods' }));
  const { securityGroupId: otherVpcSecurityGroupId } = must(
    admin.createSecurityGroup({ vpcId: other.vpcId, name: 'elsewhere' }),
  );
  admin.setInstanceLimits([M5_LARGE]);
  const { instanceId } = must(
    admin.launchInstance({ instanceType: 'm5.large', subnetId, securityGroupIds: [securityGroupId] }),
  );
  return {
    vpcId,
    subnetId,
    otherZoneSubnetId: subnet('b', '10.0.2.0/24'),
    smallSubnetId: subnet('a', '10.0.3.0/28', { purpose: 'pods', team: 'a*' }),
    securityGroupId,
    otherVpcSecurityGroupId,
    instanceId,
    limits: M5_LARGE,
  };
}

export interface Ec2World extends SmallAccount {
  readonly kernel: Kernel;
  readonly sim: SimEc2;
  readonly ec2: Ec2;
  /** Lets virtual time pass until the work is done. */
  run<T>(work: () => Promise<T>): Promise<T>;
}

/** `profile` is read at every call, so a test may change it. */
export function createEc2World(profile: Partial<Ec2Profile> = {}, seed = 1): Ec2World {
  const kernel = createKernel({ seed });
  const sim = createSimEc2({
    clock: kernel.clock('ec2'),
    random: kernel.random.fork('ec2'),
    profile: () => ({ ...calmEc2, ...profile }),
  });
  return {
    ...createSmallAccount(sim),
    kernel,
    sim,
    ec2: sim.client({ name: 'controller' }),
    run: (work) => settle(kernel, work(), { drain: () => macrotask() }),
  };
}

/** An ENI in the subnet; its primary address is all that it has, and no token makes the request one with another. */
export const eniRequest = (
  { subnetId }: Pick<SmallAccount, 'subnetId'>,
  change: Partial<CreateEniRequest> = {},
): CreateEniRequest => ({
  clientToken: '',
  subnetId,
  securityGroupIds: [],
  secondaryAddressCount: 0,
  prefixCount: 0,
  ipv6PrefixCount: 0,
  description: '',
  tags: {},
  ...change,
});
