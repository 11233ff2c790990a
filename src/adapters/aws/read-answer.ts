// EC2's objects as the SDK gives them, every field of which may be missing, turned into the port's.

import type {
  Instance,
  InstanceTypeInfo,
  NetworkInterface,
  NetworkInterfaceAttachment,
  Subnet,
  Tag,
  Vpc,
} from '@aws-sdk/client-ec2';
import { parseCidr } from '../../domain/address/cidr.ts';
import type { Cidr, Ip } from '../../domain/address/ip.ts';
import { parseIp } from '../../domain/address/parse-ip.ts';
import type { SubnetFacts } from '../../domain/eniconfig/eni-config.ts';
import type { AttachmentId, EniId, InstanceId, SecurityGroupId, SubnetId, VpcId } from '../../domain/ids.ts';
import type { InstanceLimits } from '../../domain/instance/instance-limits.ts';
import type { Result } from '../../domain/result.ts';
import type { Ec2Eni, Ec2Instance, Ec2Vpc, EniAttachment, EniStatus } from '../../ports/ec2.ts';

/** EC2 answered something that cannot be what it documents. */
export class UnreadableAnswer extends Error {
  override readonly name = 'UnreadableAnswer';
}

function need<T>(value: T | undefined, field: string, of: string): T {
  if (value === undefined) throw new UnreadableAnswer(`${of} has no ${field}`);
  return value;
}

function parsed<T>(result: Result<T, string>): T {
  if (!result.ok) throw new UnreadableAnswer(result.error);
  return result.value;
}

const ip = (text: string): Ip => parsed(parseIp(text));
const cidr = (text: string): Cidr => parsed(parseCidr(text));

const tagsOf = (tags: readonly Tag[] = []): Readonly<Record<string, string>> =>
  Object.fromEntries(tags.map(({ Key = '', Value = '' }) => [Key, Value]));

const groupsOf = (groups: readonly { GroupId?: string | undefined }[] = []): readonly SecurityGroupId[] =>
  groups.flatMap(({ GroupId }) => (GroupId === undefined ? [] : [GroupId as SecurityGroupId]));

/** An ENI as creates and describes answer it. */
export function readEni(raw: NetworkInterface): Ec2Eni {
  const eniId = need(raw.NetworkInterfaceId, 'NetworkInterfaceId', 'a network interface') as EniId;
  const addresses = raw.PrivateIpAddresses ?? [];
  // In subnets of IPv6 alone there is no IPv4 address.
  const primary =
    raw.PrivateIpAddress ??
    addresses.find((one) => one.Primary === true)?.PrivateIpAddress ??
    raw.Ipv6Addresses?.[0]?.Ipv6Address;
  const attachment = readAttachment(eniId, raw.Attachment);
  return {
    eniId,
    mac: need(raw.MacAddress, 'MacAddress', eniId).toLowerCase(),
    subnetId: need(raw.SubnetId, 'SubnetId', eniId) as SubnetId,
    vpcId: need(raw.VpcId, 'VpcId', eniId) as VpcId,
    zone: need(raw.AvailabilityZone, 'AvailabilityZone', eniId),
    status: readStatus(need(raw.Status, 'Status', eniId), eniId),
    description: raw.Description ?? '',
    securityGroupIds: groupsOf(raw.Groups),
    primaryAddress: ip(need(primary, 'PrivateIpAddress', eniId)),
    addresses: addresses.flatMap(({ Primary, PrivateIpAddress }) =>
      Primary === true || PrivateIpAddress === undefined ? [] : [ip(PrivateIpAddress)],
    ),
    prefixes: (raw.Ipv4Prefixes ?? []).flatMap(({ Ipv4Prefix }) =>
      Ipv4Prefix === undefined ? [] : [cidr(Ipv4Prefix)],
    ),
    ipv6Prefixes: (raw.Ipv6Prefixes ?? []).flatMap(({ Ipv6Prefix }) =>
      Ipv6Prefix === undefined ? [] : [cidr(Ipv6Prefix)],
    ),
    tags: tagsOf(raw.TagSet),
    ...(attachment === undefined ? {} : { attachment }),
  };
}

/** `status` as text: CreateNetworkInterface answers `pending`, which the SDK's type does not know. */
function readStatus(status: string, eniId: EniId): EniStatus {
  switch (status) {
    case 'available':
    case 'attaching':
    case 'in-use':
    case 'detaching':
      return status;
    case 'pending':
      return 'available';
    // A branch interface on its trunk.
    case 'associated':
      return 'in-use';
    default:
      throw new UnreadableAnswer(`${eniId} has an unknown status, "${status}"`);
  }
}

/** Undefined also for what AWS itself holds (a NAT gateway, a load balancer): that is attached to no instance. */
function readAttachment(
  eniId: EniId,
  raw: NetworkInterfaceAttachment | undefined,
): EniAttachment | undefined {
  if (raw?.InstanceId === undefined || raw.Status === 'detached') return undefined;
  return {
    attachmentId: need(raw.AttachmentId, 'Attachment.AttachmentId', eniId) as AttachmentId,
    instanceId: raw.InstanceId as InstanceId,
    deviceIndex: need(raw.DeviceIndex, 'Attachment.DeviceIndex', eniId),
    networkCardIndex: raw.NetworkCardIndex ?? 0,
    deleteOnTermination: raw.DeleteOnTermination ?? false,
    status: need(raw.Status, 'Attachment.Status', eniId),
  };
}

/** Undefined for an instance that has no primary ENI any more: EC2 shows terminated ones for an hour, without network. */
export function readInstance(raw: Instance): Ec2Instance | undefined {
  const instanceId = need(raw.InstanceId, 'InstanceId', 'an instance') as InstanceId;
  const primary = raw.NetworkInterfaces?.find(
    ({ Attachment }) => Attachment?.DeviceIndex === 0 && (Attachment.NetworkCardIndex ?? 0) === 0,
  );
  if (primary === undefined) return undefined;
  const address = primary.PrivateIpAddress ?? primary.Ipv6Addresses?.[0]?.Ipv6Address;
  return {
    instanceId,
    instanceType: need(raw.InstanceType, 'InstanceType', instanceId),
    zone: need(raw.Placement?.AvailabilityZone, 'Placement.AvailabilityZone', instanceId),
    vpcId: need(raw.VpcId ?? primary.VpcId, 'VpcId', instanceId) as VpcId,
    state: need(raw.State?.Name, 'State.Name', instanceId),
    primaryEniId: need(primary.NetworkInterfaceId, 'NetworkInterfaceId', instanceId) as EniId,
    primaryAddress: ip(need(address, 'PrivateIpAddress', instanceId)),
    primarySubnetId: need(primary.SubnetId ?? raw.SubnetId, 'SubnetId', instanceId) as SubnetId,
    primarySecurityGroupIds: groupsOf(primary.Groups),
  };
}

/** Undefined for a subnet of IPv6 alone, which has no IPv4 block to draw from. */
export function readSubnet(raw: Subnet): SubnetFacts | undefined {
  const subnetId = need(raw.SubnetId, 'SubnetId', 'a subnet') as SubnetId;
  if (raw.Ipv6Native === true) return undefined;
  // A subnet has one IPv6 block at a time; those that it had before are told too.
  const ipv6 = raw.Ipv6CidrBlockAssociationSet?.find(
    (one) => (one.Ipv6CidrBlockState?.State ?? 'associated') === 'associated',
  )?.Ipv6CidrBlock;
  return {
    subnetId,
    vpcId: need(raw.VpcId, 'VpcId', subnetId) as VpcId,
    zone: need(raw.AvailabilityZone, 'AvailabilityZone', subnetId),
    cidr: cidr(need(raw.CidrBlock, 'CidrBlock', subnetId)),
    ...(ipv6 === undefined ? {} : { ipv6Cidr: cidr(ipv6) }),
    freeAddressCount: need(raw.AvailableIpAddressCount, 'AvailableIpAddressCount', subnetId),
  };
}

/** All IPv4 and IPv6 blocks in force; the first one is also told outside the list of associations. */
export function readVpc(raw: Vpc): Ec2Vpc {
  const vpcId = need(raw.VpcId, 'VpcId', 'a VPC') as VpcId;
  const blocks = [
    raw.CidrBlock,
    ...(raw.CidrBlockAssociationSet ?? [])
      .filter((one) => (one.CidrBlockState?.State ?? 'associated') === 'associated')
      .map((one) => one.CidrBlock),
    ...(raw.Ipv6CidrBlockAssociationSet ?? [])
      .filter((one) => (one.Ipv6CidrBlockState?.State ?? 'associated') === 'associated')
      .map((one) => one.Ipv6CidrBlock),
  ];
  return { vpcId, cidrs: [...new Set(blocks.flatMap((one) => (one === undefined ? [] : [cidr(one)])))] };
}

/** The interfaces that count are those of network card 0, which alone serves pods. */
export function readInstanceLimits(raw: InstanceTypeInfo): InstanceLimits {
  const instanceType = need(raw.InstanceType, 'InstanceType', 'an instance type');
  const network = need(raw.NetworkInfo, 'NetworkInfo', instanceType);
  const card = network.NetworkCards?.find((one) => (one.NetworkCardIndex ?? 0) === 0);
  return {
    instanceType,
    eniMax: need(
      card?.MaximumNetworkInterfaces ?? network.MaximumNetworkInterfaces,
      'NetworkInfo.MaximumNetworkInterfaces',
      instanceType,
    ),
    ipv4PerEniMax: need(
      network.Ipv4AddressesPerInterface,
      'NetworkInfo.Ipv4AddressesPerInterface',
      instanceType,
    ),
    ipv6PerEniMax: network.Ipv6AddressesPerInterface ?? 0,
    networkCardCount: network.MaximumNetworkCards ?? network.NetworkCards?.length ?? 1,
    hypervisor: raw.BareMetal === true ? 'metal' : raw.Hypervisor === 'xen' ? 'xen' : 'nitro',
    vcpuCount: need(raw.VCpuInfo?.DefaultVCpus, 'VCpuInfo.DefaultVCpus', instanceType),
  };
}
