// The account port over the AWS SDK: describes that the controller never makes, and its IAM policy does not allow.

import {
  DescribeInstancesCommand,
  DescribeRouteTablesCommand,
  EC2Client,
  type Instance,
  type RouteTable,
} from '@aws-sdk/client-ec2';
import type { DefaultRoute } from '../../../domain/doctor/account-picture.ts';
import type { InstanceId, SubnetId, VpcId } from '../../../domain/ids.ts';
import type { AccountReader, VpcRoutes } from '../../../ports/account.ts';
import { allPages, awsCall } from '../aws-call.ts';

/** The most that EC2 gives on a page. */
const TABLES_PER_PAGE = 100;
const INSTANCES_PER_PAGE = 1000;
/** Values that one filter takes. */
const VALUES_PER_FILTER = 200;

export function createAccountReader(region: string): AccountReader {
  const client = new EC2Client({ region });
  return {
    describeDefaultRoutes: (vpcIds) =>
      awsCall({ action: 'DescribeRouteTables', effect: 'read' }, async () => {
        if (vpcIds.length === 0) return [];
        const tables = await allPages('DescribeRouteTables', async (NextToken) => {
          const answer = await client.send(
            new DescribeRouteTablesCommand({
              Filters: [{ Name: 'vpc-id', Values: [...vpcIds] }],
              MaxResults: TABLES_PER_PAGE,
              NextToken,
            }),
          );
          return { items: answer.RouteTables ?? [], nextToken: answer.NextToken };
        });
        return readRoutes(tables);
      }),
    describeHopLimits: (ids) =>
      awsCall({ action: 'DescribeInstances', effect: 'read' }, async () => {
        const found: Instance[] = [];
        for (let at = 0; at < ids.length; at += VALUES_PER_FILTER) {
          const Filters = [{ Name: 'instance-id', Values: ids.slice(at, at + VALUES_PER_FILTER) }];
          const page = await allPages('DescribeInstances', async (NextToken) => {
            const answer = await client.send(
              new DescribeInstancesCommand({ Filters, MaxResults: INSTANCES_PER_PAGE, NextToken }),
            );
            const items = (answer.Reservations ?? []).flatMap((one) => one.Instances ?? []);
            return { items, nextToken: answer.NextToken };
          });
          found.push(...page);
        }
        return readHopLimits(found);
      }),
  };
}

/** Route tables by VPC: which subnet goes by which, and where its default route leads. */
export function readRoutes(tables: readonly RouteTable[]): readonly VpcRoutes[] {
  const byVpc = new Map<string, { main: DefaultRoute; bySubnet: Map<SubnetId, DefaultRoute> }>();
  for (const table of tables) {
    const vpc = byVpc.get(table.VpcId ?? '') ?? { main: 'none', bySubnet: new Map() };
    const route = defaultRouteOf(table);
    for (const { SubnetId: subnet, Main: isMain } of table.Associations ?? []) {
      if (isMain === true) vpc.main = route;
      else if (subnet !== undefined) vpc.bySubnet.set(subnet as SubnetId, route);
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

export const readHopLimits = (instances: readonly Instance[]): ReadonlyMap<InstanceId, number> =>
  new Map(
    instances.flatMap(({ InstanceId: id, MetadataOptions: options }) =>
      id === undefined || options?.HttpPutResponseHopLimit === undefined
        ? []
        : [[id as InstanceId, options.HttpPutResponseHopLimit] as const],
    ),
  );
