// The account port over the AWS SDK: describes that the controller never makes, and its IAM policy does not allow.

import {
  DescribeInstancesCommand,
  DescribeRouteTablesCommand,
  DescribeSecurityGroupRulesCommand,
  DescribeSubnetsCommand,
  DescribeVpcEndpointsCommand,
  EC2Client,
  type Filter,
  GetSubnetCidrReservationsCommand,
} from '@aws-sdk/client-ec2';
import type { SubnetReservations } from '../../../domain/address/subnet-reservations.ts';
import type { SubnetId } from '../../../domain/ids.ts';
import type { Ec2Outcome } from '../../../ports/ec2.ts';
import type { AccountReader } from '../../../ports/account.ts';
import { allPages, awsCall } from '../aws-call.ts';
import {
  readEndpoints,
  readGroupRules,
  readHopLimits,
  readReservations,
  readRoutes,
  readSubnetTags,
} from './read-account.ts';

/** The most that EC2 gives on a page. */
const TABLES_PER_PAGE = 100;
const ITEMS_PER_PAGE = 1000;
/** Values that one filter takes. */
const VALUES_PER_FILTER = 200;

type Page<T> = Promise<{ readonly items: readonly T[] | undefined; readonly nextToken: string | undefined }>;

interface Question<T> {
  readonly action: string;
  readonly filter: string;
  readonly values: readonly string[];
  readonly fetch: (page: { readonly Filters: Filter[]; readonly NextToken: string | undefined }) => Page<T>;
}

/** Everything that matches one of the values; nothing for no values, since no filter would match all. */
async function ask<T>({ action, filter, values, fetch }: Question<T>): Promise<readonly T[]> {
  const found: T[] = [];
  for (let at = 0; at < values.length; at += VALUES_PER_FILTER) {
    const Filters = [{ Name: filter, Values: values.slice(at, at + VALUES_PER_FILTER) }];
    const items = await allPages(action, async (NextToken) => {
      const page = await fetch({ Filters, NextToken });
      return { items: page.items ?? [], nextToken: page.nextToken };
    });
    found.push(...items);
  }
  return found;
}

/** Asks, and reads the whole answer. */
const answer = <T, R>(question: Question<T>, read: (items: readonly T[]) => R): Promise<Ec2Outcome<R>> =>
  awsCall({ action: question.action, effect: 'read' }, async () => read(await ask(question)));

export function createAccountReader(region: string): AccountReader {
  const client = new EC2Client({ region });
  return { ...readerOfVpcs(client), ...readerByIds(client), ...readerOfReservations(client) };
}

/** The one describe that takes a single id, and no filter in its place. */
const readerOfReservations = (client: EC2Client): Pick<AccountReader, 'describeReservations'> => ({
  describeReservations: (ids) => {
    const action = 'GetSubnetCidrReservations';
    return awsCall({ action, effect: 'read' }, async () => {
      const found = new Map<SubnetId, SubnetReservations>();
      for (const SubnetId of ids) {
        const items = await allPages(action, async (NextToken) => {
          const command = new GetSubnetCidrReservationsCommand({
            SubnetId,
            NextToken,
            MaxResults: ITEMS_PER_PAGE,
          });
          const { SubnetIpv4CidrReservations = [], NextToken: nextToken } = await client.send(command);
          return { items: SubnetIpv4CidrReservations, nextToken };
        });
        found.set(SubnetId, readReservations(items));
      }
      return found;
    });
  },
});

function readerOfVpcs(client: EC2Client): Pick<AccountReader, 'describeRoutes' | 'describeEndpoints'> {
  const MaxResults = ITEMS_PER_PAGE;
  return {
    describeRoutes: (vpcIds) =>
      answer(
        {
          action: 'DescribeRouteTables',
          filter: 'vpc-id',
          values: vpcIds,
          fetch: async (page) => {
            const command = new DescribeRouteTablesCommand({ ...page, MaxResults: TABLES_PER_PAGE });
            const { RouteTables, NextToken } = await client.send(command);
            return { items: RouteTables, nextToken: NextToken };
          },
        },
        readRoutes,
      ),
    describeEndpoints: (vpcIds) =>
      answer(
        {
          action: 'DescribeVpcEndpoints',
          filter: 'vpc-id',
          values: vpcIds,
          fetch: async (page) => {
            const { VpcEndpoints, NextToken } = await client.send(
              new DescribeVpcEndpointsCommand({ ...page, MaxResults }),
            );
            return { items: VpcEndpoints, nextToken: NextToken };
          },
        },
        readEndpoints,
      ),
  };
}

function readerByIds(
  client: EC2Client,
): Omit<AccountReader, 'describeRoutes' | 'describeEndpoints' | 'describeReservations'> {
  const MaxResults = ITEMS_PER_PAGE;
  return {
    describeHopLimits: (ids) =>
      answer(
        {
          action: 'DescribeInstances',
          filter: 'instance-id',
          values: ids,
          fetch: async (page) => {
            const { Reservations, NextToken } = await client.send(
              new DescribeInstancesCommand({ ...page, MaxResults }),
            );
            return {
              items: (Reservations ?? []).flatMap((one) => one.Instances ?? []),
              nextToken: NextToken,
            };
          },
        },
        readHopLimits,
      ),
    describeSubnetTags: (ids) =>
      answer(
        {
          action: 'DescribeSubnets',
          filter: 'subnet-id',
          values: ids,
          fetch: async (page) => {
            const { Subnets, NextToken } = await client.send(
              new DescribeSubnetsCommand({ ...page, MaxResults }),
            );
            return { items: Subnets, nextToken: NextToken };
          },
        },
        readSubnetTags,
      ),
    describeGroupRules: (ids) =>
      answer(
        {
          action: 'DescribeSecurityGroupRules',
          filter: 'group-id',
          values: ids,
          fetch: async (page) => {
            const command = new DescribeSecurityGroupRulesCommand({ ...page, MaxResults });
            const { SecurityGroupRules, NextToken } = await client.send(command);
            return { items: SecurityGroupRules, nextToken: NextToken };
          },
        },
        (rules) => readGroupRules(ids, rules),
      ),
  };
}
