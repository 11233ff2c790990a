// What really is: read by checkers and by the fabric, never by the code under test.

import type { Cidr, Ip } from '../../domain/address/ip.ts';
import type { SubnetFacts } from '../../domain/eniconfig/eni-config.ts';
import type { EniId, InstanceId, SecurityGroupId, SubnetId, VpcId } from '../../domain/ids.ts';
import type { InstanceLimits } from '../../domain/instance/instance-limits.ts';
import type { Ec2Eni, Ec2Instance } from '../../ports/ec2.ts';
import { brokenEc2Rules } from './ec2-rules.ts';
import { attachedEnis, holderOf, poolOf, type Region, type SimVpc } from './region.ts';
import type { SimSecurityGroup } from './security-group.ts';

export interface SubnetTruth extends SubnetFacts {
  /** All addresses of the block. */
  readonly size: number;
  readonly reservedCount: number;
  /** Taken by others than ENIs. */
  readonly occupiedCount: number;
  /** Subnet CIDR reservations of type prefix. */
  readonly prefixReservations: readonly Cidr[];
  /** Whole free /28 blocks. */
  readonly freePrefixCount: number;
}

export interface Ec2Truth {
  vpcs(): readonly SimVpc[];
  subnets(): readonly SubnetTruth[];
  subnet(subnetId: SubnetId): SubnetTruth | undefined;
  securityGroups(): readonly SimSecurityGroup[];
  securityGroup(securityGroupId: SecurityGroupId): SimSecurityGroup | undefined;
  /** Terminated ones included, for the hour in which describes show them. */
  instances(): readonly Ec2Instance[];
  instance(instanceId: InstanceId): Ec2Instance | undefined;
  instanceLimits(instanceType: string): InstanceLimits | undefined;
  enis(): readonly Ec2Eni[];
  eni(eniId: EniId): Ec2Eni | undefined;
  /** ENIs attached to the instance, attaching and detaching ones included, by device index. */
  enisOf(instanceId: InstanceId): readonly Ec2Eni[];
  /** The ENI that holds the address, as its primary or a secondary one or within a prefix. */
  eniHolding(vpcId: VpcId, address: Ip): Ec2Eni | undefined;
  /** Rules of EC2 itself that do not hold, such as conservation of addresses (IP-3): a fault of the lab. */
  brokenRules(): readonly string[];
}

export function createEc2Truth(region: Region): Ec2Truth {
  const withPool = (facts: SubnetFacts): SubnetTruth => {
    const pool = poolOf(region, facts.subnetId);
    return {
      ...facts,
      size: pool.size,
      reservedCount: pool.reservedCount,
      occupiedCount: pool.occupiedCount(),
      prefixReservations: region.prefixReservations.get(facts.subnetId) ?? [],
      freePrefixCount: pool.freePrefixCount(),
    };
  };
  return {
    vpcs: () => region.vpcs.values(),
    subnets: () => region.subnets.values().map(withPool),
    subnet: (subnetId) => {
      const facts = region.subnets.get(subnetId);
      return facts && withPool(facts);
    },
    securityGroups: () => region.securityGroups.values(),
    securityGroup: (securityGroupId) => region.securityGroups.get(securityGroupId),
    instances: () => region.instances.values(),
    instance: (instanceId) => region.instances.get(instanceId),
    instanceLimits: (instanceType) => region.instanceLimits.get(instanceType),
    enis: () => region.enis.values(),
    eni: (eniId) => region.enis.get(eniId),
    enisOf: (instanceId) => attachedEnis(region, instanceId),
    eniHolding: (vpcId, address) => {
      const eniId = holderOf(region, vpcId, address);
      return eniId && region.enis.get(eniId);
    },
    brokenRules: () => brokenEc2Rules(region),
  };
}
