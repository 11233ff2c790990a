// Checks of VPC endpoints: without a way out of the VPC, AWS's services are reached by them or not at all.

import { hostCidr } from '../address/cidr.ts';
import { listed } from '../explain/explain-node.ts';
import { instanceOf, type Picture } from '../explain/picture.ts';
import type { SubnetId, VpcId } from '../ids.ts';
import type { AccountPicture } from './account-picture.ts';
import type { Found, Severity } from './finding.ts';
import { podSources, podSubnets } from './pod-sources.ts';
import { passageOf } from './security-group-rule.ts';
import type { VpcEndpoint } from './vpc-endpoint.ts';

/** What a cluster without a way out needs. https://docs.aws.amazon.com/eks/latest/userguide/private-clusters.html */
const NEEDED: readonly { readonly service: string; readonly severity: Severity; readonly why: string }[] = [
  {
    service: 'ec2',
    severity: 'error',
    why: 'the controller runs on these nodes and cannot ask EC2 for anything: no node gets addresses for pods',
  },
  { service: 'ecr.api', severity: 'warning', why: 'nodes cannot ask ECR for images' },
  { service: 'ecr.dkr', severity: 'warning', why: 'nodes cannot pull images from ECR' },
  {
    service: 's3',
    severity: 'warning',
    why: 'nodes cannot pull images from ECR, which keeps their layers in S3',
  },
  { service: 'sts', severity: 'warning', why: 'pods with roles for service accounts get no credentials' },
];

const HTTPS_PORT = 443;

/** Nodes' subnets whose default route leads nowhere. */
function privateSubnets(picture: Picture, { defaultRoutes }: AccountPicture): ReadonlyMap<VpcId, SubnetId[]> {
  const byVpc = new Map<VpcId, SubnetId[]>();
  for (const node of picture.nodes) {
    const instance = instanceOf(picture, node);
    if (instance === undefined || defaultRoutes?.get(instance.primarySubnetId) !== 'none') continue;
    const subnets = byVpc.get(instance.vpcId) ?? [];
    if (!subnets.includes(instance.primarySubnetId)) subnets.push(instance.primarySubnetId);
    byVpc.set(instance.vpcId, subnets);
  }
  return byVpc;
}

const isUsable = (endpoint: VpcEndpoint): boolean =>
  endpoint.isAvailable && (endpoint.kind === 'Gateway' || endpoint.hasPrivateDns);

export function checkEndpoints(picture: Picture, account: AccountPicture): readonly Found[] {
  const { endpoints, gatewayEndpoints } = account;
  if (endpoints === undefined) return [];
  const region = typeof picture.ec2 === 'string' ? 'REGION' : picture.ec2.region;
  return [...privateSubnets(picture, account)].flatMap(([vpcId, subnets]) =>
    NEEDED.flatMap(({ service, severity, why }): readonly Found[] => {
      const there = endpoints.filter(
        (one) => one.vpcId === vpcId && one.service === service && isUsable(one),
      );
      const reaches = (subnet: SubnetId): boolean =>
        there.some(
          (one) =>
            one.kind === 'Interface' || gatewayEndpoints?.get(subnet)?.includes(one.endpointId) === true,
        );
      const without = subnets.filter((subnet) => !reaches(subnet));
      if (without.length === 0) return [];
      const place =
        service === 's3'
          ? '--vpc-endpoint-type Gateway --route-table-ids TABLES'
          : `--vpc-endpoint-type Interface --private-dns-enabled --subnet-ids ${subnets.join(' ')} --security-group-ids GROUP`;
      return [
        {
          severity,
          what: `node subnet ${listed(without)} has no default route, and ${vpcId} has no endpoint for ${service} that it reaches`,
          why,
          fix: `aws ec2 create-vpc-endpoint --vpc-id ${vpcId} --service-name com.amazonaws.${region}.${service} ${place}`,
        },
      ];
    }),
  );
}

/** Private names of services lead to the endpoint's addresses in the VPC, which pods reach with their own groups. */
export function checkEndpointGroups(picture: Picture, account: AccountPicture): readonly Found[] {
  const { endpoints, groupRules } = account;
  if (endpoints === undefined || groupRules === undefined) return [];
  return podSources(picture).flatMap((source) => {
    const shut = endpoints.filter((one) => {
      const isInterface = one.kind === 'Interface' && one.isAvailable && one.hasPrivateDns;
      if (!isInterface || one.vpcId !== source.subnet.vpcId) return false;
      return one.addresses.some((address) => {
        const to = { securityGroupIds: one.securityGroupIds, cidr: hostCidr(address) };
        const passage = passageOf({ from: source, to, protocol: 'tcp', port: HTTPS_PORT }, groupRules);
        return passage === 'EgressDenied' || passage === 'IngressDenied';
      });
    });
    const [first] = shut;
    if (first === undefined) return [];
    const groups = source.securityGroupIds[0] ?? 'GROUP';
    return [
      {
        severity: 'warning' as const,
        what: `${source.name} (${source.securityGroupIds.join(', ')}) may not reach the endpoint of ${listed(shut.map((one) => `${one.service} (${one.endpointId})`))} by port ${HTTPS_PORT}`,
        why: "the service's name leads to the endpoint, also where another way out exists: calls from these pods time out",
        fix: `aws ec2 authorize-security-group-ingress --group-id ${first.securityGroupIds[0] ?? 'GROUP'} --ip-permissions 'IpProtocol=tcp,FromPort=${HTTPS_PORT},ToPort=${HTTPS_PORT},UserIdGroupPairs=[{GroupId=${groups}}]'`,
      },
    ];
  });
}

/** With external SNAT pods leave by their own subnet's routes: a gateway endpoint of the nodes' does not serve them. */
export function checkGatewayEndpoints(picture: Picture, account: AccountPicture): readonly Found[] {
  const { endpoints = [], gatewayEndpoints, defaultRoutes } = account;
  if (gatewayEndpoints === undefined || !picture.networks.some(({ spec }) => spec.settings.externalSnat))
    return [];
  const services = new Map(endpoints.map((one) => [one.endpointId, one.service]));
  const ofNodes = new Set(
    picture.nodes.flatMap((node) => {
      const subnet = instanceOf(picture, node)?.primarySubnetId;
      return subnet === undefined ? [] : (gatewayEndpoints.get(subnet) ?? []);
    }),
  );
  return [...podSubnets(picture)].flatMap(([subnet, names]): readonly Found[] => {
    const own = gatewayEndpoints.get(subnet.subnetId) ?? [];
    const missing = [...ofNodes].filter((id) => !own.includes(id));
    const [first] = missing;
    if (first === undefined) return [];
    const isPrivate = defaultRoutes?.get(subnet.subnetId) === 'none';
    return [
      {
        severity: isPrivate ? 'error' : 'info',
        what: `the route table of subnet ${subnet.subnetId} of ENIConfig ${listed(names)} does not lead to gateway endpoint ${listed(missing.map((id) => `${id} (${services.get(id) ?? 'unknown'})`))}, and that of its nodes does`,
        why: isPrivate
          ? 'with external SNAT pods leave by their own subnet, from which the service cannot be reached'
          : "with external SNAT pods leave by their own subnet: what they send to the service takes the default route, and costs a NAT gateway's price",
        fix: `aws ec2 modify-vpc-endpoint --vpc-endpoint-id ${first} --add-route-table-ids TABLE`,
      },
    ];
  });
}
