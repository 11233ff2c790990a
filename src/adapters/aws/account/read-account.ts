// EC2's answers about an account, as the checks want them.

import type {
  Instance,
  RouteTable,
  SecurityGroupRule as AwsSecurityGroupRule,
  Subnet,
  SubnetCidrReservation,
  VpcEndpoint as AwsVpcEndpoint,
} from '@aws-sdk/client-ec2';
import { parseCidr } from '../../../domain/address/cidr.ts';
import type { Cidr } from '../../../domain/address/ip.ts';
import type { SubnetReservations } from '../../../domain/address/subnet-reservations.ts';
import type { DefaultRoute } from '../../../domain/doctor/account-picture.ts';
import type { GroupRules, SecurityGroupRule } from '../../../domain/doctor/security-group-rule.ts';
import type { EniId, InstanceId, SecurityGroupId, SubnetId, VpcId } from '../../../domain/ids.ts';
import type { RouteFacts, VpcEndpointFacts, VpcRoutes } from '../../../ports/account.ts';

/** Route tables by VPC: which subnet goes by which, and where it leads. */
export function readRoutes(tables: readonly RouteTable[]): readonly VpcRoutes[] {
  const byVpc = new Map<string, { main: RouteFacts; readonly bySubnet: Map<SubnetId, RouteFacts> }>();
  for (const table of tables) {
    const none: RouteFacts = { defaultRoute: 'none', gatewayEndpointIds: [] };
    const fresh = { main: none, bySubnet: new Map<SubnetId, RouteFacts>() };
    const vpc = byVpc.get(table.VpcId ?? '') ?? fresh;
    const facts = { defaultRoute: defaultRouteOf(table), gatewayEndpointIds: gatewayEndpointsOf(table) };
    for (const { SubnetId: subnet, Main: isMain } of table.Associations ?? []) {
      if (isMain === true) vpc.main = facts;
      else if (subnet !== undefined) vpc.bySubnet.set(subnet as SubnetId, facts);
    }
    byVpc.set(table.VpcId ?? '', vpc);
  }
  return [...byVpc].map(([vpcId, routes]) => ({ vpcId: vpcId as VpcId, ...routes }));
}

/** A route to something that is gone is a black hole, and leads nowhere. */
function defaultRouteOf(table: RouteTable): DefaultRoute {
  const route = (table.Routes ?? []).find(
    (one) => one.DestinationCidrBlock === '0.0.0.0/0' && one.State !== 'blackhole',
  );
  if (route === undefined) return 'none';
  if (route.NatGatewayId !== undefined) return 'nat-gateway';
  return route.GatewayId?.startsWith('igw-') === true ? 'internet-gateway' : 'other';
}

/** They are routes to a prefix list. */
const gatewayEndpointsOf = (table: RouteTable): readonly string[] =>
  (table.Routes ?? []).flatMap(({ GatewayId: id, State: state }) =>
    id?.startsWith('vpce-') === true && state !== 'blackhole' ? [id] : [],
  );

export const readHopLimits = (instances: readonly Instance[]): ReadonlyMap<InstanceId, number> =>
  new Map(
    instances.flatMap(({ InstanceId: id, MetadataOptions: options }) =>
      id === undefined || options?.HttpPutResponseHopLimit === undefined
        ? []
        : [[id as InstanceId, options.HttpPutResponseHopLimit] as const],
    ),
  );

export const readSubnetTags = (
  subnets: readonly Subnet[],
): ReadonlyMap<SubnetId, Readonly<Record<string, string>>> =>
  new Map(
    subnets.map(({ SubnetId: id, Tags: tags }) => [
      (id ?? '') as SubnetId,
      Object.fromEntries((tags ?? []).map(({ Key, Value }) => [Key ?? '', Value ?? ''])),
    ]),
  );

/** Of one subnet. */
export function readReservations(reservations: readonly SubnetCidrReservation[]): SubnetReservations {
  const ofType = (type: string): readonly Cidr[] =>
    reservations.flatMap(({ ReservationType, Cidr: text }) => {
      const cidr = parseCidr(text ?? '');
      return ReservationType === type && cidr.ok ? [cidr.value] : [];
    });
  return { prefix: ofType('prefix'), explicit: ofType('explicit') };
}

/** Of each of `ids`. */
export function readGroupRules(
  ids: readonly SecurityGroupId[],
  rules: readonly AwsSecurityGroupRule[],
): GroupRules {
  const byGroup = new Map<SecurityGroupId, SecurityGroupRule[]>(ids.map((id) => [id, []]));
  for (const rule of rules) {
    const read = readRule(rule);
    if (read !== undefined) byGroup.get(rule.GroupId as SecurityGroupId)?.push(read);
  }
  return byGroup;
}

/** https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_SecurityGroupRule.html */
function readRule(rule: AwsSecurityGroupRule): SecurityGroupRule | undefined {
  const peer = peerOf(rule);
  if (peer === undefined) return undefined;
  const { FromPort: from = -1, ToPort: to = -1 } = rule;
  const protocol = protocolOf(rule.IpProtocol);
  // Of ICMP they are type and code; -1 means all.
  const hasPorts = (protocol === 'tcp' || protocol === 'udp') && from >= 0 && to >= 0;
  return {
    direction: rule.IsEgress === true ? 'Egress' : 'Ingress',
    protocol,
    ...(hasPorts ? { ports: { from, to } } : {}),
    peer,
  };
}

/** Numbers are IANA's: 6 is TCP, 17 UDP, 1 ICMP. */
function protocolOf(text: string | undefined): SecurityGroupRule['protocol'] {
  switch (text) {
    case '-1':
      return 'all';
    case 'tcp':
    case '6':
      return 'tcp';
    case 'udp':
    case '17':
      return 'udp';
    case 'icmp':
    case '1':
      return 'icmp';
    default:
      return 'other';
  }
}

function peerOf(rule: AwsSecurityGroupRule): SecurityGroupRule['peer'] | undefined {
  const group = rule.ReferencedGroupInfo?.GroupId;
  if (group !== undefined) return { kind: 'Group', securityGroupId: group as SecurityGroupId };
  if (rule.PrefixListId !== undefined) return { kind: 'PrefixList', prefixListId: rule.PrefixListId };
  const block = parseCidr(rule.CidrIpv4 ?? rule.CidrIpv6 ?? '');
  return block.ok ? { kind: 'Cidr', cidr: block.value } : undefined;
}

/** https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_VpcEndpoint.html */
export const readEndpoints = (endpoints: readonly AwsVpcEndpoint[]): readonly VpcEndpointFacts[] =>
  endpoints.map((one) => ({
    endpointId: one.VpcEndpointId ?? '',
    vpcId: (one.VpcId ?? '') as VpcId,
    service: serviceOf(one.ServiceName ?? ''),
    kind:
      one.VpcEndpointType === 'Interface' || one.VpcEndpointType === 'Gateway'
        ? one.VpcEndpointType
        : 'Other',
    // The API's texts begin in lower case, and its pages have them in upper case, too.
    isAvailable: one.State?.toLowerCase() === 'available',
    hasPrivateDns: one.PrivateDnsEnabled === true,
    securityGroupIds: (one.Groups ?? []).flatMap(({ GroupId: id }) =>
      id === undefined ? [] : [id as SecurityGroupId],
    ),
    eniIds: (one.NetworkInterfaceIds ?? []).map((id) => id as EniId),
  }));

/** `com.amazonaws.eu-west-1.ecr.api`, and `cn.com.amazonaws...` in China. */
const serviceOf = (name: string): string => /^(?:cn\.)?com\.amazonaws\.[^.]+\.(.+)$/.exec(name)?.[1] ?? name;
