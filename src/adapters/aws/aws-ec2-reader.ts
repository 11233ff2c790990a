// The reading half of the port: describes by filter, so that ids that do not exist are merely absent.

import {
  DescribeInstancesCommand,
  DescribeInstanceTypesCommand,
  DescribeNetworkInterfacesCommand,
  DescribeSecurityGroupsCommand,
  DescribeSubnetsCommand,
  DescribeVpcsCommand,
  type EC2Client,
  type Filter,
} from '@aws-sdk/client-ec2';
import type { SubnetFacts } from '../../domain/eniconfig/eni-config.ts';
import type { SecurityGroupId, VpcId } from '../../domain/ids.ts';
import type { Ec2Outcome, Ec2Reader, EniFilter } from '../../ports/ec2.ts';
import { allPages, awsCall } from './aws-call.ts';
import { readEni, readInstance, readInstanceLimits, readSubnet, readVpc } from './read-answer.ts';

/** The most that EC2 gives on a page of these describes. */
const ITEMS_PER_PAGE = 1000;
/** DescribeInstanceTypes gives fewer. */
const TYPES_PER_PAGE = 100;
/** Values that one filter takes. https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/Using_Filtering.html */
const VALUES_PER_FILTER = 200;

type Fetch<T> = (page: {
  readonly Filters: Filter[];
  readonly NextToken: string | undefined;
}) => Promise<{ readonly items: readonly T[]; readonly nextToken: string | undefined }>;

interface Description<T> {
  readonly action: string;
  /** Each is asked for on its own, and the answers are put together. */
  readonly questions: readonly Filter[][];
  readonly fetch: Fetch<T>;
}

const describe = <T>({ action, questions, fetch }: Description<T>): Promise<Ec2Outcome<readonly T[]>> =>
  awsCall({ action, effect: 'read' }, async () => {
    const found: T[] = [];
    for (const Filters of questions) {
      found.push(...(await allPages(action, (NextToken) => fetch({ Filters, NextToken }))));
    }
    return found;
  });

/** One filter per so many values as it takes; none for no values, since a filter without values would match nothing or all. */
function filtersOf(name: string, values: readonly string[]): readonly Filter[] {
  const unique = [...new Set(values)];
  const filters: Filter[] = [];
  for (let at = 0; at < unique.length; at += VALUES_PER_FILTER) {
    filters.push({ Name: name, Values: unique.slice(at, at + VALUES_PER_FILTER) });
  }
  return filters;
}

const byIds = (name: string, ids: readonly string[]): readonly Filter[][] =>
  filtersOf(name, ids).map((filter) => [filter]);

/** Filters are joined by "and", so ids and instances that fill several filters are asked for in every combination. */
function eniQuestions({ eniIds, instanceIds, vpcIds, tag }: EniFilter): readonly Filter[][] {
  const tagValues = typeof tag?.value === 'string' ? [tag.value] : tag?.value;
  const widen = (
    questions: readonly Filter[][],
    name: string,
    ids: readonly string[] | undefined,
  ): readonly Filter[][] =>
    ids === undefined
      ? questions
      : questions.flatMap((question) => filtersOf(name, ids).map((filter) => [...question, filter]));
  const byTag = widen([[]], `tag:${tag?.key ?? ''}`, tagValues);
  const byVpc = widen(byTag, 'vpc-id', vpcIds);
  return widen(widen(byVpc, 'network-interface-id', eniIds), 'attachment.instance-id', instanceIds);
}

/** In a filter's value * and ? stand for other characters, and a backslash takes that from them. */
const literally = (value: string): string => value.replaceAll(/[\\*?]/g, (character) => `\\${character}`);

const present = <T>(items: readonly (T | undefined)[]): readonly T[] =>
  items.filter((one): one is T & {} => one !== undefined);

function subnetReader(client: EC2Client): Pick<Ec2Reader, 'describeSubnets' | 'findSubnets'> {
  const ask = (questions: readonly Filter[][]): Promise<Ec2Outcome<readonly SubnetFacts[]>> =>
    describe({
      action: 'DescribeSubnets',
      questions,
      fetch: async (page) => {
        const command = new DescribeSubnetsCommand({ ...page, MaxResults: ITEMS_PER_PAGE });
        const answer = await client.send(command);
        return { items: present((answer.Subnets ?? []).map(readSubnet)), nextToken: answer.NextToken };
      },
    });
  return {
    describeSubnets: (ids) => ask(byIds('subnet-id', ids)),
    findSubnets: ({ vpcIds, tags }) =>
      ask(
        filtersOf('vpc-id', vpcIds).map((vpcs) => [
          vpcs,
          ...Object.entries(tags).map(([key, value]) => ({ Name: `tag:${key}`, Values: [literally(value)] })),
        ]),
      ),
  };
}

export function createAwsEc2Reader(client: EC2Client): Ec2Reader {
  const MaxResults = ITEMS_PER_PAGE;
  return {
    describeInstances: (ids) =>
      describe({
        action: 'DescribeInstances',
        questions: byIds('instance-id', ids),
        fetch: async (page) => {
          const answer = await client.send(new DescribeInstancesCommand({ ...page, MaxResults }));
          const instances = (answer.Reservations ?? []).flatMap((one) => one.Instances ?? []);
          return { items: present(instances.map(readInstance)), nextToken: answer.NextToken };
        },
      }),
    describeNetworkInterfaces: (filter) =>
      describe({
        action: 'DescribeNetworkInterfaces',
        questions: eniQuestions(filter),
        fetch: async (page) => {
          const answer = await client.send(new DescribeNetworkInterfacesCommand({ ...page, MaxResults }));
          return { items: (answer.NetworkInterfaces ?? []).map(readEni), nextToken: answer.NextToken };
        },
      }),
    ...subnetReader(client),
    describeSecurityGroups: (ids) =>
      describe({
        action: 'DescribeSecurityGroups',
        questions: byIds('group-id', ids),
        fetch: async (page) => {
          const answer = await client.send(new DescribeSecurityGroupsCommand({ ...page, MaxResults }));
          const items = (answer.SecurityGroups ?? []).flatMap(({ GroupId, VpcId }) =>
            GroupId === undefined || VpcId === undefined
              ? []
              : [{ securityGroupId: GroupId as SecurityGroupId, vpcId: VpcId as VpcId }],
          );
          return { items, nextToken: answer.NextToken };
        },
      }),
    describeVpcs: (ids) =>
      describe({
        action: 'DescribeVpcs',
        questions: byIds('vpc-id', ids),
        fetch: async (page) => {
          const answer = await client.send(new DescribeVpcsCommand({ ...page, MaxResults }));
          return { items: (answer.Vpcs ?? []).map(readVpc), nextToken: answer.NextToken };
        },
      }),
    describeInstanceTypes: (types) =>
      describe({
        action: 'DescribeInstanceTypes',
        questions: byIds('instance-type', types),
        fetch: async (page) => {
          const answer = await client.send(
            new DescribeInstanceTypesCommand({ ...page, MaxResults: TYPES_PER_PAGE }),
          );
          return { items: (answer.InstanceTypes ?? []).map(readInstanceLimits), nextToken: answer.NextToken };
        },
      }),
  };
}
