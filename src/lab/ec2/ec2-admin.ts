// The lab's hand in EC2: what people, other tools and AWS itself do, past the API and its troubles.

import type { Cidr, Ip } from '../../domain/address/ip.ts';
import type { SubnetFacts } from '../../domain/eniconfig/eni-config.ts';
import type { EniId, InstanceId, SecurityGroupId, SubnetId } from '../../domain/ids.ts';
import type { InstanceLimits } from '../../domain/instance/instance-limits.ts';
import { ok, type Result } from '../../domain/result.ts';
import type { Ec2Eni, Ec2Failure, Ec2Instance } from '../../ports/ec2.ts';
import { attachEni, freeDeviceIndex, removeAttachment } from './attachment-operations.ts';
import { deviceIndexZero, eniNotFound, subnetNotFound } from './ec2-errors.ts';
import type { Ec2Fault, Ec2Faults } from './ec2-fault.ts';
import { assignAddresses, createEni, removeEni, setEniGroups, unassignAddresses } from './eni-operations.ts';
import { unassignPrefixes } from './prefix-operations.ts';
import { defragmentSubnet, fragmentSubnet } from './fragment-subnet.ts';
import {
  type LaunchRequest,
  launchInstance,
  setInstancePower,
  terminateInstance,
} from './instance-operations.ts';
import {
  associateIpv6Block,
  createSecurityGroup,
  createSubnet,
  createVpc,
  deleteSecurityGroup,
  deleteSubnet,
  disassociateIpv6Block,
  reserveForPrefixes,
  type SecurityGroupMaking,
  setGroupRules,
  setSubnetTags,
  type SubnetMaking,
  type VpcMaking,
} from './network-operations.ts';
import { publishFreeCount, type Region, type SimVpc } from './region.ts';
import type { GroupRule, SimSecurityGroup } from './security-group.ts';
import type { SubnetPool } from './subnet-pool.ts';
import type { BucketName, Ec2Action, TokenBuckets } from './token-bucket.ts';

type Ec2Result<T> = Result<T, Ec2Failure>;

export interface ForeignEni {
  readonly subnetId: SubnetId;
  readonly securityGroupIds?: readonly SecurityGroupId[];
  readonly secondaryAddressCount?: number;
  readonly prefixCount?: number;
  readonly description?: string;
  readonly tags?: Readonly<Record<string, string>>;
  /** Attached to it, at the lowest free device index, when given. */
  readonly instanceId?: InstanceId;
}

/** Everything takes effect at once. What EC2 itself would refuse is refused here too, in its words. */
export interface Ec2Admin {
  createVpc(making: VpcMaking): Ec2Result<SimVpc>;
  createSubnet(making: SubnetMaking): Ec2Result<SubnetFacts>;
  /** The subnet has exactly these tags from now on. */
  setSubnetTags(subnetId: SubnetId, tags: Readonly<Record<string, string>>): Ec2Result<void>;
  /** A subnet CIDR reservation of type prefix. */
  reserveForPrefixes(subnetId: SubnetId, block: Cidr): Ec2Result<void>;
  associateIpv6Block(subnetId: SubnetId, ipv6Cidr: Cidr): Ec2Result<void>;
  disassociateIpv6Block(subnetId: SubnetId): Ec2Result<void>;
  deleteSubnet(subnetId: SubnetId): Ec2Result<void>;
  createSecurityGroup(making: SecurityGroupMaking): Ec2Result<SimSecurityGroup>;
  setGroupRules(
    securityGroupId: SecurityGroupId,
    rules: { readonly ingress?: readonly GroupRule[]; readonly egress?: readonly GroupRule[] },
  ): Ec2Result<SimSecurityGroup>;
  deleteSecurityGroup(securityGroupId: SecurityGroupId): Ec2Result<void>;
  /** Instances of a type can be launched once its limits are known. */
  setInstanceLimits(limits: readonly InstanceLimits[]): void;
  launchInstance(request: LaunchRequest): Ec2Result<Ec2Instance>;
  terminateInstance(instanceId: InstanceId): Ec2Result<void>;
  /** Stops or starts the instance, which is neither terminated nor about to be. */
  setInstancePower(instanceId: InstanceId, isOn: boolean): Ec2Result<void>;
  /** An ENI of somebody else: a load balancer's, or a person's. */
  createForeignEni(request: ForeignEni): Ec2Result<Ec2Eni>;
  /** A person pulls the ENI off by force, at once. */
  detachEni(eniId: EniId): Ec2Result<void>;
  /** A person deletes the ENI, pulling it off by force first. */
  deleteEni(eniId: EniId): Ec2Result<void>;
  assignAddresses(eniId: EniId, count: number): Ec2Result<readonly Ip[]>;
  unassignAddresses(eniId: EniId, addresses: readonly Ip[]): Ec2Result<void>;
  /** All of one family. */
  unassignPrefixes(eniId: EniId, prefixes: readonly Cidr[]): Ec2Result<void>;
  setEniGroups(eniId: EniId, securityGroupIds: readonly SecurityGroupId[]): Ec2Result<void>;
  /** Others take at most `count` free addresses; answers how many they got. */
  occupyAddresses(subnetId: SubnetId, count: number): Ec2Result<number>;
  /** ENIs of others take one address of each whole free /28 block; answers how many. Then no prefix is to be had. */
  fragmentSubnet(subnetId: SubnetId): Ec2Result<number>;
  /** Those ENIs are deleted; answers how many addresses they held. */
  defragmentSubnet(subnetId: SubnetId): Ec2Result<number>;
  /** Others give back at most `count` of the addresses they occupy; answers how many. */
  vacateAddresses(subnetId: SubnetId, count: number): Ec2Result<number>;
  denyAction(action: Ec2Action): void;
  allowAction(action: Ec2Action): void;
  isDenied(action: string): boolean;
  /** Troubles that calls meet from now on, in place of those set before. */
  setFaults(faults: readonly Ec2Fault[]): void;
  /** Other tools use up tokens. */
  spendTokens(bucket: BucketName, count: number): void;
}

export interface AdminContext {
  readonly region: Region;
  readonly buckets: TokenBuckets;
  readonly denied: Set<Ec2Action>;
  readonly faults: Ec2Faults;
}

const PERSON = 'person';

export function createEc2Admin({ region, buckets, denied, faults }: AdminContext): Ec2Admin {
  const byPerson = <T>(effect: () => T): T => region.as(PERSON, effect);
  return {
    createVpc: (making) => byPerson(() => createVpc(region, making)),
    createSubnet: (making) => byPerson(() => createSubnet(region, making)),
    setSubnetTags: (subnetId, tags) => byPerson(() => setSubnetTags(region, subnetId, tags)),
    reserveForPrefixes: (subnetId, block) => byPerson(() => reserveForPrefixes(region, subnetId, block)),
    associateIpv6Block: (subnetId, block) => byPerson(() => associateIpv6Block(region, subnetId, block)),
    disassociateIpv6Block: (subnetId) => byPerson(() => disassociateIpv6Block(region, subnetId)),
    deleteSubnet: (subnetId) => byPerson(() => deleteSubnet(region, subnetId)),
    createSecurityGroup: (making) => byPerson(() => createSecurityGroup(region, making)),
    setGroupRules: (groupId, rules) => byPerson(() => setGroupRules(region, groupId, rules)),
    deleteSecurityGroup: (groupId) => byPerson(() => deleteSecurityGroup(region, groupId)),
    setInstanceLimits: (limits) => {
      for (const each of limits) region.instanceLimits.set(each.instanceType, each);
    },
    launchInstance: (request) => byPerson(() => launchInstance(region, request)),
    terminateInstance: (instanceId) => byPerson(() => terminateInstance(region, instanceId)),
    setInstancePower: (instanceId, isOn) => byPerson(() => setInstancePower(region, instanceId, isOn)),
    createForeignEni: (request) => byPerson(() => createForeignEni(region, request)),
    detachEni: (eniId) => byPerson(() => forceDetach(region, eniId)),
    deleteEni: (eniId) =>
      byPerson(() => {
        const detached = forceDetach(region, eniId);
        const eni = region.enis.get(eniId);
        if (detached.ok && eni !== undefined) removeEni(region, eni);
        return detached;
      }),
    assignAddresses: (eniId, count) => byPerson(() => assignAddresses(region, { eniId, count })),
    unassignAddresses: (eniId, addresses) => byPerson(() => unassignAddresses(region, { eniId, addresses })),
    unassignPrefixes: (eniId, prefixes) => byPerson(() => unassignPrefixes(region, { eniId, prefixes })),
    setEniGroups: (eniId, securityGroupIds) =>
      byPerson(() => setEniGroups(region, { eniId, securityGroupIds })),
    occupyAddresses: (subnetId, count) =>
      byPerson(() => changeOccupation(region, subnetId, (pool) => pool.occupy(count))),
    vacateAddresses: (subnetId, count) =>
      byPerson(() => changeOccupation(region, subnetId, (pool) => pool.vacate(count))),
    fragmentSubnet: (subnetId) => byPerson(() => fragmentSubnet(region, subnetId)),
    defragmentSubnet: (subnetId) => byPerson(() => defragmentSubnet(region, subnetId)),
    denyAction: (action) => {
      denied.add(action);
    },
    allowAction: (action) => {
      denied.delete(action);
    },
    isDenied: (action) => denied.has(action as Ec2Action),
    setFaults: (wanted) => faults.set(wanted),
    spendTokens: (bucket, count) => buckets.spend(bucket, count),
  };
}

function createForeignEni(region: Region, request: ForeignEni): Ec2Result<Ec2Eni> {
  const made = createEni(region, {
    subnetId: request.subnetId,
    securityGroupIds: request.securityGroupIds ?? [],
    secondaryAddressCount: request.secondaryAddressCount ?? 0,
    prefixCount: request.prefixCount ?? 0,
    ipv6PrefixCount: 0,
    description: request.description ?? 'ELB app/foreign',
    tags: request.tags ?? {},
  });
  if (!made.ok || request.instanceId === undefined) return made;
  const attached = attachEni(region, {
    eniId: made.value.eniId,
    instanceId: request.instanceId,
    deviceIndex: freeDeviceIndex(region, request.instanceId),
    networkCardIndex: 0,
  });
  if (attached.ok) return ok(region.enis.get(made.value.eniId) ?? made.value);
  removeEni(region, made.value);
  return attached;
}

function forceDetach(region: Region, eniId: EniId): Ec2Result<void> {
  const eni = region.enis.get(eniId);
  if (eni === undefined) return eniNotFound(eniId);
  if (eni.attachment?.deviceIndex === 0) return deviceIndexZero(eni.attachment.attachmentId);
  removeAttachment(region, eni);
  return ok(undefined);
}

/** Others take addresses or give them back. Answers how many changed hands. */
function changeOccupation(
  region: Region,
  subnetId: SubnetId,
  change: (pool: SubnetPool) => number,
): Ec2Result<number> {
  const pool = region.pools.get(subnetId);
  if (pool === undefined) return subnetNotFound(subnetId);
  const changed = change(pool);
  publishFreeCount(region, subnetId);
  region.emit({ kind: 'SubnetChanged', subnetId });
  return ok(changed);
}
