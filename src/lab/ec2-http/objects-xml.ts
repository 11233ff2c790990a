// EC2's objects as the query protocol spells them.

import type { SubnetFacts } from '../../domain/eniconfig/eni-config.ts';
import type { SecurityGroupId } from '../../domain/ids.ts';
import type { InstanceLimits } from '../../domain/instance/instance-limits.ts';
import type { Ec2Eni, Ec2Instance, Ec2SecurityGroup, Ec2Vpc } from '../../ports/ec2.ts';
import type { GroupRule } from '../ec2/security-group.ts';
import type { XmlFields } from './xml.ts';

/** The lab's one account. */
const OWNER_ID = '123456789012';

const STATE_CODE: Readonly<Record<Ec2Instance['state'], number>> = {
  pending: 0,
  running: 16,
  'shutting-down': 32,
  terminated: 48,
  stopping: 64,
  stopped: 80,
};

const groupSet = (ids: readonly string[]): readonly XmlFields[] => ids.map((groupId) => ({ groupId }));

export function eniXml(eni: Ec2Eni): XmlFields {
  const { attachment } = eni;
  return {
    networkInterfaceId: eni.eniId,
    subnetId: eni.subnetId,
    vpcId: eni.vpcId,
    availabilityZone: eni.zone,
    description: eni.description,
    ownerId: OWNER_ID,
    interfaceType: 'interface',
    requesterManaged: false,
    status: eni.status,
    macAddress: eni.mac,
    privateIpAddress: eni.primaryAddress,
    sourceDestCheck: true,
    groupSet: groupSet(eni.securityGroupIds),
    attachment:
      attachment === undefined
        ? undefined
        : {
            attachmentId: attachment.attachmentId,
            instanceId: attachment.instanceId,
            instanceOwnerId: OWNER_ID,
            deviceIndex: attachment.deviceIndex,
            networkCardIndex: attachment.networkCardIndex,
            status: attachment.status,
            deleteOnTermination: attachment.deleteOnTermination,
          },
    privateIpAddressesSet: [
      { privateIpAddress: eni.primaryAddress, primary: true },
      ...eni.addresses.map((privateIpAddress) => ({ privateIpAddress, primary: false })),
    ],
    ipv4PrefixSet: eni.prefixes.map((ipv4Prefix) => ({ ipv4Prefix })),
    ipv6PrefixSet: eni.ipv6Prefixes.map((ipv6Prefix) => ({ ipv6Prefix })),
    tagSet: Object.entries(eni.tags).map(([key, value]) => ({ key, value })),
  };
}

/** A reservation of this one instance. */
export function instanceXml(instance: Ec2Instance): XmlFields {
  // EC2 shows nothing of the network of an instance that is gone.
  const network: XmlFields =
    instance.state === 'terminated'
      ? {}
      : {
          vpcId: instance.vpcId,
          subnetId: instance.primarySubnetId,
          privateIpAddress: instance.primaryAddress,
          networkInterfaceSet: [
            {
              networkInterfaceId: instance.primaryEniId,
              subnetId: instance.primarySubnetId,
              vpcId: instance.vpcId,
              privateIpAddress: instance.primaryAddress,
              groupSet: groupSet(instance.primarySecurityGroupIds),
              attachment: { deviceIndex: 0, networkCardIndex: 0, status: 'attached' },
            },
          ],
        };
  return {
    reservationId: instance.instanceId.replace(/^i-/, 'r-'),
    ownerId: OWNER_ID,
    instancesSet: [
      {
        instanceId: instance.instanceId,
        instanceType: instance.instanceType,
        instanceState: { code: STATE_CODE[instance.state], name: instance.state },
        placement: { availabilityZone: instance.zone },
        ...network,
      },
    ],
  };
}

export const subnetXml = (subnet: SubnetFacts): XmlFields => ({
  subnetId: subnet.subnetId,
  vpcId: subnet.vpcId,
  availabilityZone: subnet.zone,
  cidrBlock: subnet.cidr,
  ipv6CidrBlockAssociationSet:
    subnet.ipv6Cidr === undefined
      ? []
      : [{ ipv6CidrBlock: subnet.ipv6Cidr, ipv6CidrBlockState: { state: 'associated' } }],
  availableIpAddressCount: subnet.freeAddressCount,
  state: 'available',
  ownerId: OWNER_ID,
});

export const groupXml = (group: Ec2SecurityGroup): XmlFields => ({
  groupId: group.securityGroupId,
  vpcId: group.vpcId,
  ownerId: OWNER_ID,
});

/** A rule as EC2 lists it: an object of its own, with an id. */
export interface ListedRule {
  readonly ruleId: string;
  readonly securityGroupId: SecurityGroupId;
  readonly isEgress: boolean;
  readonly rule: GroupRule;
}

const PROTOCOL_TEXT: Readonly<Record<GroupRule['protocol'], string>> = {
  all: '-1',
  tcp: 'tcp',
  udp: 'udp',
  icmp: 'icmp',
  icmpv6: 'icmpv6',
};

/** All ports are 0 to 65535 of TCP and UDP, and -1 of what has none. */
export function groupRuleXml({ ruleId, securityGroupId, isEgress, rule }: ListedRule): XmlFields {
  const hasPorts = rule.protocol === 'tcp' || rule.protocol === 'udp';
  const { from, to } = rule.ports ?? (hasPorts ? { from: 0, to: 65_535 } : { from: -1, to: -1 });
  return {
    securityGroupRuleId: ruleId,
    groupId: securityGroupId,
    groupOwnerId: OWNER_ID,
    isEgress,
    ipProtocol: PROTOCOL_TEXT[rule.protocol],
    fromPort: from,
    toPort: to,
    ...(rule.peer.kind === 'Cidr'
      ? { [rule.peer.cidr.includes(':') ? 'cidrIpv6' : 'cidrIpv4']: rule.peer.cidr }
      : { referencedGroupInfo: { groupId: rule.peer.securityGroupId, userId: OWNER_ID } }),
  };
}

export const vpcXml = (vpc: Ec2Vpc): XmlFields => ({
  vpcId: vpc.vpcId,
  state: 'available',
  ownerId: OWNER_ID,
  cidrBlock: vpc.cidrs.find((cidr) => !cidr.includes(':')),
  cidrBlockAssociationSet: vpc.cidrs
    .filter((cidr) => !cidr.includes(':'))
    .map((cidrBlock) => ({ cidrBlock, cidrBlockState: { state: 'associated' } })),
  ipv6CidrBlockAssociationSet: vpc.cidrs
    .filter((cidr) => cidr.includes(':'))
    .map((ipv6CidrBlock) => ({ ipv6CidrBlock, ipv6CidrBlockState: { state: 'associated' } })),
});

export const instanceTypeXml = (limits: InstanceLimits): XmlFields => ({
  instanceType: limits.instanceType,
  bareMetal: limits.hypervisor === 'metal',
  hypervisor: limits.hypervisor === 'metal' ? undefined : limits.hypervisor,
  vCpuInfo: { defaultVCpus: limits.vcpuCount },
  networkInfo: {
    maximumNetworkInterfaces: limits.eniMax * limits.networkCardCount,
    maximumNetworkCards: limits.networkCardCount,
    defaultNetworkCardIndex: 0,
    networkCards: Array.from({ length: limits.networkCardCount }, (_, networkCardIndex) => ({
      networkCardIndex,
      maximumNetworkInterfaces: limits.eniMax,
    })),
    ipv4AddressesPerInterface: limits.ipv4PerEniMax,
    ipv6AddressesPerInterface: limits.ipv6PerEniMax,
  },
});
