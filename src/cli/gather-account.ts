// Reads what of the account the checks need beside the cluster. What cannot be read is named, and its checks are skipped.

import type { AccountPicture, UsedAddresses } from '../domain/doctor/account-picture.ts';
import { podSources } from '../domain/doctor/pod-sources.ts';
import type { VpcEndpoint } from '../domain/doctor/vpc-endpoint.ts';
import type { SubnetFacts } from '../domain/eniconfig/eni-config.ts';
import type { Cidr, Ip } from '../domain/address/ip.ts';
import { instanceOf, type Picture } from '../domain/explain/picture.ts';
import type { InstanceId, SecurityGroupId, SubnetId } from '../domain/ids.ts';
import type { AccountReader, RouteFacts, VpcEndpointFacts, VpcRoutes } from '../ports/account.ts';
import type { Ec2Eni, Ec2Outcome, Ec2Reader } from '../ports/ec2.ts';
import type { PermissionChecker } from '../ports/permissions.ts';
import { permissionTarget, untriedNotes } from './permission-target.ts';

export interface AccountSources {
  readonly ec2: Ec2Reader | undefined;
  /** Absent in a lab, which has no route tables. */
  readonly account: AccountReader | undefined;
  /** Absent in a lab, which has no policies. */
  readonly permissions: PermissionChecker | undefined;
}

export interface CredentialsInUse {
  readonly of: 'Controller' | 'Caller';
  /** As the controller's settings have it, if a person said so. */
  readonly clusterName: string | undefined;
}

export async function gatherAccount(
  picture: Picture,
  { ec2, account, permissions }: AccountSources,
  credentials: CredentialsInUse,
): Promise<AccountPicture> {
  const subnets = picture.index.subnets;
  const vpcIds = [...new Set([...subnets.values()].map((one) => one.vpcId))].filter((id) => id.length > 0);
  const instanceIds = picture.nodes.flatMap((node): readonly InstanceId[] =>
    node.instanceId === undefined ? [] : [node.instanceId],
  );
  const unread: string[] = [];
  const read = async <T>(
    what: string,
    call: (() => Promise<Ec2Outcome<T>>) | undefined,
  ): Promise<T | undefined> => {
    if (call === undefined) return undefined;
    const outcome = await call();
    if (outcome.kind === 'ok') return outcome.value;
    const cause =
      outcome.kind === 'failed' ? `${outcome.failure.code}: ${outcome.failure.message}` : outcome.cause;
    unread.push(`${what} cannot be read: ${cause}`);
    return undefined;
  };
  const vpcs = await read('VPCs', ec2 && (() => ec2.describeVpcs(vpcIds)));
  const enis = await read('network interfaces', ec2 && (() => ec2.describeNetworkInterfaces({ vpcIds })));
  const routes = await read('route tables', account && (() => account.describeRoutes(vpcIds)));
  const hopLimits = await read('metadata options', account && (() => account.describeHopLimits(instanceIds)));
  const subnetTags = await read(
    'tags of subnets',
    account && (() => account.describeSubnetTags([...subnets.keys()])),
  );
  const reservations = await read(
    'reservations of subnets',
    account && (() => account.describeReservations([...subnets.keys()])),
  );
  const endpoints = await read('VPC endpoints', account && (() => account.describeEndpoints(vpcIds)));
  const controlPlane = enis?.filter(isControlPlane);
  const groupIds = groupsInUse(picture, [...(controlPlane ?? []), ...(endpoints ?? [])]);
  const groupRules = await read(
    'rules of security groups',
    account && (() => account.describeGroupRules(groupIds)),
  );
  const tried = await permissions?.checkPermissions(
    permissionTarget(picture, enis ?? [], credentials.clusterName),
  );
  unread.push(...untriedNotes(tried ?? []));
  return {
    ...(tried === undefined ? {} : { permissions: { of: credentials.of, tried } }),
    ...(vpcs === undefined ? {} : { vpcCidrs: new Map(vpcs.map((one) => [one.vpcId, one.cidrs])) }),
    ...(enis === undefined ? {} : { used: usedBySubnet(enis) }),
    ...(routes === undefined ? {} : routesOf(subnets.values(), routes)),
    ...(hopLimits === undefined ? {} : { hopLimits }),
    ...(subnetTags === undefined ? {} : { subnetTags }),
    ...(reservations === undefined ? {} : { reservations }),
    ...(groupRules === undefined ? {} : { groupRules }),
    ...(endpoints === undefined ? {} : { endpoints: endpoints.map((one) => withAddresses(one, enis ?? [])) }),
    ...(controlPlane === undefined
      ? {}
      : { controlPlane: controlPlane.map((eni) => ({ ...eni, address: eni.primaryAddress })) }),
    unread,
  };
}

/** EKS describes the ENIs of its control plane so, with the cluster's name behind it. */
const CONTROL_PLANE_DESCRIPTION = 'Amazon EKS ';

const isControlPlane = ({ description }: Ec2Eni): boolean =>
  description.startsWith(CONTROL_PLANE_DESCRIPTION);

/** Groups of pods, of nodes, and of what pods talk to. */
function groupsInUse(
  picture: Picture,
  others: readonly { readonly securityGroupIds: readonly SecurityGroupId[] }[],
): readonly SecurityGroupId[] {
  const ofNodes = picture.nodes.flatMap((node) => instanceOf(picture, node)?.primarySecurityGroupIds ?? []);
  const ofEnis = picture.networks.flatMap(({ spec }) => spec.enis.flatMap((eni) => eni.securityGroupIds));
  const ofPods = podSources(picture).flatMap((source) => source.securityGroupIds);
  return [
    ...new Set([...ofPods, ...ofNodes, ...ofEnis, ...others.flatMap((one) => one.securityGroupIds)]),
  ].sort();
}

function routesOf(
  subnets: Iterable<SubnetFacts>,
  routes: readonly VpcRoutes[],
): Pick<AccountPicture, 'defaultRoutes' | 'gatewayEndpoints'> {
  const facts = new Map<SubnetId, RouteFacts>();
  for (const { subnetId, vpcId } of subnets) {
    const vpc = routes.find((one) => one.vpcId === vpcId);
    if (vpc !== undefined) facts.set(subnetId, vpc.bySubnet.get(subnetId) ?? vpc.main);
  }
  return {
    defaultRoutes: new Map([...facts].map(([id, one]) => [id, one.defaultRoute])),
    gatewayEndpoints: new Map([...facts].map(([id, one]) => [id, one.gatewayEndpointIds])),
  };
}

function withAddresses({ eniIds, ...endpoint }: VpcEndpointFacts, enis: readonly Ec2Eni[]): VpcEndpoint {
  const own = new Set(eniIds);
  return {
    ...endpoint,
    addresses: enis.filter((eni) => own.has(eni.eniId)).map((eni) => eni.primaryAddress),
  };
}

function usedBySubnet(enis: readonly Ec2Eni[]): ReadonlyMap<SubnetId, UsedAddresses> {
  const used = new Map<SubnetId, { addresses: Ip[]; prefixes: Cidr[] }>();
  for (const eni of enis) {
    const entry = used.get(eni.subnetId) ?? { addresses: [], prefixes: [] };
    entry.addresses.push(eni.primaryAddress, ...eni.addresses);
    entry.prefixes.push(...eni.prefixes);
    used.set(eni.subnetId, entry);
  }
  return used;
}
