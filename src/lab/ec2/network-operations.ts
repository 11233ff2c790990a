// What a person does to the VPC: VPCs, subnets and security groups.

import { cidrContainsCidr, cidrOverlaps, cidrPrefixLength } from '../../domain/address/cidr.ts';
import { type Cidr, familyOf } from '../../domain/address/ip.ts';
import type { SubnetFacts } from '../../domain/eniconfig/eni-config.ts';
import type { SecurityGroupId, SubnetId, VpcId } from '../../domain/ids.ts';
import { ok, type Result } from '../../domain/result.ts';
import type { Ec2Failure } from '../../ports/ec2.ts';
import {
  alreadyThere,
  badRange,
  groupNotFound,
  inUseByOthers,
  type Refusal,
  subnetNotFound,
  vpcNotFound,
} from './ec2-errors.ts';
import { createIpv6PrefixPool } from './ipv6-prefix-pool.ts';
import { newId, poolOf, publishFreeCount, type Region, type SimVpc } from './region.ts';
import { EGRESS_ALL, type GroupRule, type SimSecurityGroup } from './security-group.ts';
import { createSubnetPool } from './subnet-pool.ts';

type Ec2Result<T> = Result<T, Ec2Failure>;

/** Ids are drawn when absent, everywhere here. */
export interface VpcMaking {
  /** IPv4 blocks, and an IPv6 /56 for a VPC with IPv6. */
  readonly cidrs: readonly Cidr[];
  readonly vpcId?: VpcId;
  readonly defaultSecurityGroupId?: SecurityGroupId;
}

export interface SubnetMaking {
  readonly vpcId: VpcId;
  readonly zone: string;
  /** IPv4, /16 to /28. */
  readonly cidr: Cidr;
  /** A /64 of the VPC's IPv6 block; none when absent. */
  readonly ipv6Cidr?: Cidr;
  readonly subnetId?: SubnetId;
  /** None when absent. */
  readonly tags?: Readonly<Record<string, string>>;
}

export interface SecurityGroupMaking {
  readonly vpcId: VpcId;
  readonly name: string;
  readonly securityGroupId?: SecurityGroupId;
  /** None when absent, as in AWS. */
  readonly ingress?: readonly GroupRule[];
  /** All when absent, as in AWS. */
  readonly egress?: readonly GroupRule[];
}

/** With the VPC comes its default security group, whose members may talk to each other. */
export function createVpc(region: Region, making: VpcMaking): Ec2Result<SimVpc> {
  const vpcId = making.vpcId ?? newId(region, 'vpc');
  if (region.vpcs.get(vpcId) !== undefined) return alreadyThere(vpcId);
  const defaultSecurityGroupId = making.defaultSecurityGroupId ?? newId(region, 'sg');
  const vpc = { vpcId, cidrs: making.cidrs, defaultSecurityGroupId };
  region.vpcs.put(vpcId, vpc);
  putGroup(region, {
    securityGroupId: defaultSecurityGroupId,
    vpcId,
    name: 'default',
    ingress: [{ protocol: 'all', peer: { kind: 'Group', securityGroupId: defaultSecurityGroupId } }],
    egress: EGRESS_ALL,
  });
  return ok(vpc);
}

export function createSubnet(region: Region, making: SubnetMaking): Ec2Result<SubnetFacts> {
  const { vpcId, zone, cidr } = making;
  const vpc = region.vpcs.get(vpcId);
  if (vpc === undefined) return vpcNotFound(vpcId);
  const length = cidrPrefixLength(cidr);
  if (familyOf(cidr) !== 4 || length < 16 || length > 28) {
    return badRange(`The CIDR '${cidr}' is invalid: a subnet is an IPv4 block from /16 to /28.`);
  }
  if (!vpc.cidrs.some((outer) => cidrContainsCidr(outer, cidr))) {
    return badRange(`The CIDR '${cidr}' lies in none of the VPC's blocks: ${vpc.cidrs.join(', ')}.`);
  }
  const ipv6Refusal = refuseIpv6Block(region, vpc, making.ipv6Cidr);
  if (ipv6Refusal !== undefined) return ipv6Refusal;
  const other = region.subnets.values().find((each) => each.vpcId === vpcId && cidrOverlaps(each.cidr, cidr));
  if (other !== undefined) {
    return badRange(`The CIDR '${cidr}' conflicts with subnet ${other.subnetId}, ${other.cidr}.`);
  }
  const subnetId = making.subnetId ?? newId(region, 'subnet');
  if (region.subnets.get(subnetId) !== undefined) return alreadyThere(subnetId);
  const pool = createSubnetPool(cidr);
  const { ipv6Cidr } = making;
  const facts: SubnetFacts = {
    subnetId,
    vpcId,
    zone,
    cidr,
    ...(ipv6Cidr === undefined ? {} : { ipv6Cidr }),
    freeAddressCount: pool.freeCount(),
  };
  if (ipv6Cidr !== undefined) region.ipv6Pools.set(subnetId, createIpv6PrefixPool(ipv6Cidr));
  region.pools.set(subnetId, pool);
  region.subnets.put(subnetId, facts);
  region.subnetTags.put(subnetId, making.tags ?? {});
  region.emit({ kind: 'SubnetChanged', subnetId });
  return ok(facts);
}

/** https://docs.aws.amazon.com/vpc/latest/userguide/subnet-sizing.html: here always a /64, which AWS's console makes. */
function refuseIpv6Block(region: Region, vpc: SimVpc, cidr: Cidr | undefined): Refusal | undefined {
  if (cidr === undefined) return undefined;
  if (familyOf(cidr) !== 6 || cidrPrefixLength(cidr) !== 64) {
    return badRange(`The IPv6 CIDR '${cidr}' is invalid: a subnet's IPv6 block is a /64.`);
  }
  if (!vpc.cidrs.some((outer) => cidrContainsCidr(outer, cidr))) {
    return badRange(`The IPv6 CIDR '${cidr}' lies in none of the VPC's blocks: ${vpc.cidrs.join(', ')}.`);
  }
  const other = region.subnets
    .values()
    .find(
      (each) => each.vpcId === vpc.vpcId && each.ipv6Cidr !== undefined && cidrOverlaps(each.ipv6Cidr, cidr),
    );
  return other && badRange(`The IPv6 CIDR '${cidr}' conflicts with subnet ${other.subnetId}.`);
}

/**
 * CreateSubnetCidrReservation of type prefix: the block's addresses are for prefixes alone, also those that are in use
 * still, once they are given back. https://docs.aws.amazon.com/vpc/latest/userguide/subnet-cidr-reservation.html
 */
export function reserveForPrefixes(region: Region, subnetId: SubnetId, block: Cidr): Ec2Result<void> {
  const subnet = region.subnets.get(subnetId);
  if (subnet === undefined) return subnetNotFound(subnetId);
  if (!cidrContainsCidr(subnet.cidr, block) || cidrPrefixLength(block) > 28) {
    return badRange(`The CIDR '${block}' is no block of /28 or larger within the subnet's ${subnet.cidr}.`);
  }
  poolOf(region, subnetId).keepForPrefixes(block);
  region.prefixReservations.set(subnetId, [...(region.prefixReservations.get(subnetId) ?? []), block]);
  publishFreeCount(region, subnetId);
  region.emit({ kind: 'SubnetChanged', subnetId });
  return ok(undefined);
}

/** CreateTags and DeleteTags at once: the subnet has exactly these. */
export function setSubnetTags(
  region: Region,
  subnetId: SubnetId,
  tags: Readonly<Record<string, string>>,
): Ec2Result<void> {
  if (region.subnets.get(subnetId) === undefined) return subnetNotFound(subnetId);
  region.subnetTags.put(subnetId, tags);
  region.emit({ kind: 'SubnetChanged', subnetId });
  return ok(undefined);
}

/** AssociateSubnetCidrBlock: a /64 of the VPC's block, for a subnet that has none. */
export function associateIpv6Block(region: Region, subnetId: SubnetId, ipv6Cidr: Cidr): Ec2Result<void> {
  const subnet = region.subnets.get(subnetId);
  if (subnet === undefined) return subnetNotFound(subnetId);
  if (subnet.ipv6Cidr !== undefined) return alreadyThere(subnet.ipv6Cidr);
  const vpc = region.vpcs.get(subnet.vpcId);
  const refusal = vpc === undefined ? vpcNotFound(subnet.vpcId) : refuseIpv6Block(region, vpc, ipv6Cidr);
  if (refusal !== undefined) return refusal;
  region.ipv6Pools.set(subnetId, createIpv6PrefixPool(ipv6Cidr));
  region.subnets.put(subnetId, { ...subnet, ipv6Cidr });
  region.emit({ kind: 'SubnetChanged', subnetId });
  return ok(undefined);
}

/** DisassociateSubnetCidrBlock: refused while an ENI holds addresses of the block. */
export function disassociateIpv6Block(region: Region, subnetId: SubnetId): Ec2Result<void> {
  const subnet = region.subnets.get(subnetId);
  if (subnet === undefined) return subnetNotFound(subnetId);
  const users = region.enis
    .values()
    .filter((eni) => eni.subnetId === subnetId && eni.ipv6Prefixes.length > 0);
  if (users.length > 0) return inUseByOthers(subnetId, users.map((eni) => eni.eniId).join(', '));
  const { ipv6Cidr: _, ...rest } = subnet;
  region.ipv6Pools.delete(subnetId);
  region.subnets.put(subnetId, rest);
  region.emit({ kind: 'SubnetChanged', subnetId });
  return ok(undefined);
}

export function deleteSubnet(region: Region, subnetId: SubnetId): Ec2Result<void> {
  if (region.subnets.get(subnetId) === undefined) return subnetNotFound(subnetId);
  const users = region.enis.values().filter((eni) => eni.subnetId === subnetId);
  if (users.length > 0) return inUseByOthers(subnetId, users.map((eni) => eni.eniId).join(', '));
  region.subnets.delete(subnetId);
  region.subnetTags.delete(subnetId);
  region.pools.delete(subnetId);
  region.ipv6Pools.delete(subnetId);
  region.prefixReservations.delete(subnetId);
  region.emit({ kind: 'SubnetChanged', subnetId });
  return ok(undefined);
}

export function createSecurityGroup(
  region: Region,
  making: SecurityGroupMaking,
): Ec2Result<SimSecurityGroup> {
  if (region.vpcs.get(making.vpcId) === undefined) return vpcNotFound(making.vpcId);
  const securityGroupId = making.securityGroupId ?? newId(region, 'sg');
  if (region.securityGroups.get(securityGroupId) !== undefined) return alreadyThere(securityGroupId);
  return ok(
    putGroup(region, {
      securityGroupId,
      vpcId: making.vpcId,
      name: making.name,
      ingress: making.ingress ?? [],
      egress: making.egress ?? EGRESS_ALL,
    }),
  );
}

/** Replaces the rules of one or both directions. */
export function setGroupRules(
  region: Region,
  securityGroupId: SecurityGroupId,
  rules: { readonly ingress?: readonly GroupRule[]; readonly egress?: readonly GroupRule[] },
): Ec2Result<SimSecurityGroup> {
  const group = region.securityGroups.get(securityGroupId);
  return group === undefined ? groupNotFound(securityGroupId) : ok(putGroup(region, { ...group, ...rules }));
}

export function deleteSecurityGroup(region: Region, securityGroupId: SecurityGroupId): Ec2Result<void> {
  if (region.securityGroups.get(securityGroupId) === undefined) return groupNotFound(securityGroupId);
  const users = region.enis.values().filter((eni) => eni.securityGroupIds.includes(securityGroupId));
  if (users.length > 0) return inUseByOthers(securityGroupId, users.map((eni) => eni.eniId).join(', '));
  region.securityGroups.delete(securityGroupId);
  region.emit({ kind: 'SecurityGroupChanged', securityGroupId });
  return ok(undefined);
}

function putGroup(region: Region, group: SimSecurityGroup): SimSecurityGroup {
  region.securityGroups.put(group.securityGroupId, group);
  region.emit({ kind: 'SecurityGroupChanged', securityGroupId: group.securityGroupId });
  return group;
}
