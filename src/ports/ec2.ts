// EC2 as Eniwhere uses it. Each call is one API request (describes: one request per page inside the adapter).
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/

import type { Cidr, Ip, IpFamily } from '../domain/address/ip.ts';
import type { SubnetFacts } from '../domain/eniconfig/eni-config.ts';
import type { AttachmentId, EniId, InstanceId, SecurityGroupId, SubnetId, VpcId } from '../domain/ids.ts';
import type { InstanceLimits } from '../domain/instance/instance-limits.ts';
import type { Outcome } from './outcome.ts';

/** EC2 errors, classified once by the cure they need (ec2.md). `code` is EC2's own, `message` its text. */
export interface Ec2Failure {
  readonly kind:
    | 'throttled' // slow this action down
    | 'subnet-full' // another subnet, or wait for a free address
    | 'no-free-block' // no whole free block for a prefix: single addresses, or another subnet
    | 'eni-full' // another ENI
    | 'instance-full' // no more ENIs on this instance
    | 'device-index-taken' // re-read and choose another index
    | 'in-use' // detach first, or wait for the detach to finish
    | 'not-found' // the object is gone, or not visible yet right after a create
    | 'unauthorized' // tell a person: a permission is missing
    | 'invalid' // tell a person: the request can never work
    | 'server-error'; // EC2's own trouble: try again later
  readonly code: string;
  readonly message: string;
}

export type Ec2Outcome<T> = Outcome<T, Ec2Failure>;

export type EniStatus = 'available' | 'attaching' | 'in-use' | 'detaching';

export interface EniAttachment {
  readonly attachmentId: AttachmentId;
  readonly instanceId: InstanceId;
  readonly deviceIndex: number;
  readonly networkCardIndex: number;
  readonly deleteOnTermination: boolean;
  readonly status: 'attaching' | 'attached' | 'detaching';
}

export interface Ec2Eni {
  readonly eniId: EniId;
  readonly mac: string;
  readonly subnetId: SubnetId;
  readonly vpcId: VpcId;
  readonly zone: string;
  readonly status: EniStatus;
  readonly description: string;
  readonly securityGroupIds: readonly SecurityGroupId[];
  readonly primaryAddress: Ip;
  /** Secondary private addresses, the primary not included. */
  readonly addresses: readonly Ip[];
  /** IPv4 prefixes, /28. Each takes the place of one address. */
  readonly prefixes: readonly Cidr[];
  /** IPv6 prefixes, /80. */
  readonly ipv6Prefixes: readonly Cidr[];
  readonly tags: Readonly<Record<string, string>>;
  readonly attachment?: EniAttachment;
}

export interface Ec2Instance {
  readonly instanceId: InstanceId;
  readonly instanceType: string;
  readonly zone: string;
  readonly vpcId: VpcId;
  readonly state: 'pending' | 'running' | 'shutting-down' | 'terminated' | 'stopping' | 'stopped';
  readonly primaryEniId: EniId;
  readonly primaryAddress: Ip;
  readonly primarySubnetId: SubnetId;
  readonly primarySecurityGroupIds: readonly SecurityGroupId[];
}

export interface Ec2Vpc {
  readonly vpcId: VpcId;
  readonly cidrs: readonly Cidr[];
}

export interface Ec2SecurityGroup {
  readonly securityGroupId: SecurityGroupId;
  readonly vpcId: VpcId;
}

/** Which ENIs to describe: every filter given must match. */
export interface EniFilter {
  readonly eniIds?: readonly EniId[];
  readonly instanceIds?: readonly InstanceId[];
  readonly vpcIds?: readonly VpcId[];
  /** One of several values matches. */
  readonly tag?: { readonly key: string; readonly value: string | readonly string[] };
}

/** Which subnets to find: those in one of the VPCs that carry all of the tags, of which there is at least one. */
export interface SubnetFilter {
  readonly vpcIds: readonly VpcId[];
  readonly tags: Readonly<Record<string, string>>;
}

export interface Ec2Reader {
  describeInstances(ids: readonly InstanceId[]): Promise<Ec2Outcome<readonly Ec2Instance[]>>;
  describeNetworkInterfaces(filter: EniFilter): Promise<Ec2Outcome<readonly Ec2Eni[]>>;
  /** Ids that do not exist are missing from the answer (the adapter asks with a filter, not by id list). */
  describeSubnets(ids: readonly SubnetId[]): Promise<Ec2Outcome<readonly SubnetFacts[]>>;
  /** DescribeSubnets by tags. */
  findSubnets(filter: SubnetFilter): Promise<Ec2Outcome<readonly SubnetFacts[]>>;
  describeSecurityGroups(ids: readonly SecurityGroupId[]): Promise<Ec2Outcome<readonly Ec2SecurityGroup[]>>;
  describeVpcs(ids: readonly VpcId[]): Promise<Ec2Outcome<readonly Ec2Vpc[]>>;
  describeInstanceTypes(types: readonly string[]): Promise<Ec2Outcome<readonly InstanceLimits[]>>;
}

export interface CreateEniRequest {
  readonly clientToken: string;
  readonly subnetId: SubnetId;
  readonly securityGroupIds: readonly SecurityGroupId[];
  readonly secondaryAddressCount: number;
  /** IPv4 prefixes, /28; 0 when `secondaryAddressCount` is not, for EC2 refuses both in one request. */
  readonly prefixCount: number;
  /** IPv6 prefixes, /80, of a subnet that has an IPv6 block. */
  readonly ipv6PrefixCount: number;
  readonly description: string;
  readonly tags: Readonly<Record<string, string>>;
}

export interface AttachEniRequest {
  readonly eniId: EniId;
  readonly instanceId: InstanceId;
  readonly deviceIndex: number;
  readonly networkCardIndex: number;
}

/** Which prefixes to add: /28 of IPv4, by AssignPrivateIpAddresses, or /80 of IPv6, by AssignIpv6Addresses. */
export interface AssignPrefixesRequest {
  readonly eniId: EniId;
  readonly family: IpFamily;
  readonly count: number;
}

/** Which prefixes to take off: at least one, all of one family. */
export interface UnassignPrefixesRequest {
  readonly eniId: EniId;
  readonly prefixes: readonly Cidr[];
}

export interface Ec2Writer {
  createNetworkInterface(request: CreateEniRequest): Promise<Ec2Outcome<Ec2Eni>>;
  attachNetworkInterface(request: AttachEniRequest): Promise<Ec2Outcome<AttachmentId>>;
  /** ModifyNetworkInterfaceAttribute: delete the ENI with its instance. */
  setDeleteOnTermination(request: { eniId: EniId; attachmentId: AttachmentId }): Promise<Ec2Outcome<void>>;
  /** ModifyNetworkInterfaceAttribute: these groups in place of all that it has, at once, for what already flows too. */
  setSecurityGroups(request: {
    eniId: EniId;
    securityGroupIds: readonly SecurityGroupId[];
  }): Promise<Ec2Outcome<void>>;
  /** Answers the addresses that were added. Has no client token: an unknown outcome is closed by sightings. */
  assignPrivateIpAddresses(request: { eniId: EniId; count: number }): Promise<Ec2Outcome<readonly Ip[]>>;
  unassignPrivateIpAddresses(request: { eniId: EniId; addresses: readonly Ip[] }): Promise<Ec2Outcome<void>>;
  /** Answers the prefixes that were added, all or none. Has no client token either. */
  assignPrefixes(request: AssignPrefixesRequest): Promise<Ec2Outcome<readonly Cidr[]>>;
  unassignPrefixes(request: UnassignPrefixesRequest): Promise<Ec2Outcome<void>>;
  detachNetworkInterface(request: { attachmentId: AttachmentId }): Promise<Ec2Outcome<void>>;
  deleteNetworkInterface(request: { eniId: EniId }): Promise<Ec2Outcome<void>>;
}

export type Ec2 = Ec2Reader & Ec2Writer;
