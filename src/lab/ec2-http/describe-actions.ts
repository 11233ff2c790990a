// The describes: ids, filters and pages of the query protocol, over the port.

import type { SubnetFacts } from '../../domain/eniconfig/eni-config.ts';
import type { EniId, InstanceId, SecurityGroupId, SubnetId, VpcId } from '../../domain/ids.ts';
import type { InstanceLimits } from '../../domain/instance/instance-limits.ts';
import type {
  Ec2,
  Ec2Eni,
  Ec2Instance,
  Ec2Outcome,
  Ec2SecurityGroup,
  Ec2Vpc,
  EniFilter,
} from '../../ports/ec2.ts';
import { done, failed } from '../../ports/outcome.ts';
import type { Ec2Truth } from '../ec2/ec2-truth.ts';
import type { Action, ActionContext } from './action.ts';
import type { Params } from './form.ts';
import {
  eniXml,
  groupRuleXml,
  groupXml,
  instanceTypeXml,
  instanceXml,
  type ListedRule,
  subnetXml,
  vpcXml,
} from './objects-xml.ts';
import { badParameter } from './refusals.ts';
import type { XmlFields } from './xml.ts';

/** Filter name -> the values one of which must match. */
type Filters = ReadonlyMap<string, readonly string[]>;

interface Question {
  /** From the id parameter and the id filter; undefined when neither is given. */
  readonly ids: readonly string[] | undefined;
  readonly filters: Filters;
}

interface Collection<T> {
  readonly setName: string;
  readonly idParameter: string;
  readonly idOf: (item: T) => string;
  /** What EC2 calls one that is asked for by the id parameter and does not exist. */
  readonly notFoundCode: string;
  readonly read: (context: ActionContext, question: Question) => Promise<Ec2Outcome<readonly T[]>>;
  /** Filter name -> the item's values, beside the id filter. */
  readonly filters: Readonly<Record<string, (item: T) => readonly (string | undefined)[]>>;
  readonly tagsOf?: (item: T) => Readonly<Record<string, string>>;
  readonly toXml: (item: T) => XmlFields;
}

/** A collection whose port call takes ids alone: without them all that exist are asked for. */
const byIds =
  <T, Id extends string>(
    all: (truth: Ec2Truth) => readonly Id[],
    call: (ec2: Ec2, ids: readonly Id[]) => Promise<Ec2Outcome<readonly T[]>>,
  ): Collection<T>['read'] =>
  ({ ec2, truth }, { ids }) =>
    call(ec2, (ids as readonly Id[] | undefined) ?? all(truth));

function describe<T>(collection: Collection<T>): Action {
  const { idParameter, filters: known, tagsOf } = collection;
  const idFilter = filterOf(idParameter);
  return {
    parameters: [idParameter, 'Filter', 'MaxResults', 'NextToken'],
    run: async (params, context) => {
      const filters = readFilters(params);
      const byParameter = params.texts(idParameter);
      for (const name of filters.keys()) {
        const isKnown = name === idFilter || known[name] !== undefined || name.startsWith('tag:');
        if (!isKnown) return badParameter(`The filter '${name}' is invalid`);
      }
      const byFilter = filters.get(idFilter);
      const ids = byParameter.length > 0 ? byParameter : byFilter;
      const page = await context.pages.page(params, async () => {
        const answer = await collection.read(context, { ids, filters });
        if (answer.kind !== 'ok') return answer;
        const there = new Set(answer.value.map(collection.idOf));
        const gone = byParameter.find((id) => !there.has(id));
        if (gone !== undefined) return notFound(collection, gone);
        const valuesOf = (item: T, name: string): readonly (string | undefined)[] => {
          if (name === idFilter) return [collection.idOf(item)];
          return known[name]?.(item) ?? [tagsOf?.(item)[name.slice('tag:'.length)]];
        };
        const matches = (item: T): boolean =>
          [...filters].every(([name, wanted]) =>
            valuesOf(item, name).some((value) => value !== undefined && wanted.includes(value)),
          );
        return done(answer.value.filter(matches).map(collection.toXml));
      });
      if (page.kind !== 'ok') return page;
      return done({ [collection.setName]: page.value.items, nextToken: page.value.nextToken });
    },
  };
}

/** EC2's filter by id is called as its parameter, in kebab case: `SubnetId`, `subnet-id`. */
const filterOf = (idParameter: string): string =>
  idParameter.replaceAll(/(?<!^)[A-Z]/g, (letter) => `-${letter}`).toLowerCase();

const readFilters = (params: Params): Filters =>
  new Map(
    params
      .structures('Filter')
      .map((filter) => [filter.text('Name') ?? '', filter.texts('Value').map(plain)]),
  );

/** A backslash makes a wildcard an ordinary character; wildcards themselves are not played here. */
const plain = (value: string): string => value.replaceAll(/\\(.)/g, '$1');

const notFound = <T>(collection: Collection<T>, id: string): Ec2Outcome<never> =>
  failed({ kind: 'not-found', code: collection.notFoundCode, message: `The ID '${id}' does not exist` });

/** What the port can filter by it does, so that EC2 searches and charges as it would for the same request. */
function eniFilterOf({ ids, filters }: Question): EniFilter {
  const instanceIds = filters.get('attachment.instance-id');
  const vpcIds = filters.get('vpc-id');
  const tag = [...filters].find(([name]) => name.startsWith('tag:'));
  return {
    ...(ids === undefined ? {} : { eniIds: ids as readonly EniId[] }),
    ...(instanceIds === undefined ? {} : { instanceIds: instanceIds as readonly InstanceId[] }),
    ...(vpcIds === undefined ? {} : { vpcIds: vpcIds as readonly VpcId[] }),
    ...(tag === undefined ? {} : { tag: { key: tag[0].slice('tag:'.length), value: tag[1] } }),
  };
}

const enis: Collection<Ec2Eni> = {
  setName: 'networkInterfaceSet',
  idParameter: 'NetworkInterfaceId',
  idOf: (eni) => eni.eniId,
  notFoundCode: 'InvalidNetworkInterfaceID.NotFound',
  read: ({ ec2 }, question) => ec2.describeNetworkInterfaces(eniFilterOf(question)),
  filters: {
    'attachment.instance-id': (eni) => [eni.attachment?.instanceId],
    'attachment.attachment-id': (eni) => [eni.attachment?.attachmentId],
    'group-id': (eni) => eni.securityGroupIds,
    status: (eni) => [eni.status],
    'subnet-id': (eni) => [eni.subnetId],
    'vpc-id': (eni) => [eni.vpcId],
  },
  tagsOf: (eni) => eni.tags,
  toXml: eniXml,
};

const instances: Collection<Ec2Instance> = {
  setName: 'reservationSet',
  idParameter: 'InstanceId',
  idOf: (instance) => instance.instanceId,
  notFoundCode: 'InvalidInstanceID.NotFound',
  read: byIds<Ec2Instance, InstanceId>(
    (truth) => truth.instances().map((one) => one.instanceId),
    (ec2, ids) => ec2.describeInstances(ids),
  ),
  filters: {
    'instance-state-name': (instance) => [instance.state],
    'subnet-id': (instance) => [instance.primarySubnetId],
    'vpc-id': (instance) => [instance.vpcId],
  },
  toXml: instanceXml,
};

/** Of a subnet only those tags are told that were asked for: EC2 has found it by them. */
interface TaggedSubnet extends SubnetFacts {
  readonly tags?: Readonly<Record<string, string>>;
}

async function readSubnets(
  { ec2, truth }: ActionContext,
  { ids, filters }: Question,
): Promise<Ec2Outcome<readonly TaggedSubnet[]>> {
  const asked = [...filters].filter(([name]) => name.startsWith('tag:'));
  const wanted = (ids as readonly SubnetId[] | undefined) ?? truth.subnets().map((one) => one.subnetId);
  if (asked.length === 0) return ec2.describeSubnets(wanted);
  const vpcIds =
    (filters.get('vpc-id') as readonly VpcId[] | undefined) ?? truth.vpcs().map((one) => one.vpcId);
  const tags = Object.fromEntries(asked.map(([name, [value = '']]) => [name.slice('tag:'.length), value]));
  const found = await ec2.findSubnets({ vpcIds, tags });
  if (found.kind !== 'ok') return found;
  return done(found.value.filter((one) => wanted.includes(one.subnetId)).map((one) => ({ ...one, tags })));
}

const subnets: Collection<TaggedSubnet> = {
  setName: 'subnetSet',
  idParameter: 'SubnetId',
  idOf: (subnet) => subnet.subnetId,
  notFoundCode: 'InvalidSubnetID.NotFound',
  read: readSubnets,
  filters: { 'availability-zone': (subnet) => [subnet.zone], 'vpc-id': (subnet) => [subnet.vpcId] },
  tagsOf: ({ tags = {} }) => tags,
  toXml: subnetXml,
};

const groups: Collection<Ec2SecurityGroup> = {
  setName: 'securityGroupInfo',
  idParameter: 'GroupId',
  idOf: (group) => group.securityGroupId,
  notFoundCode: 'InvalidGroup.NotFound',
  read: byIds<Ec2SecurityGroup, SecurityGroupId>(
    (truth) => truth.securityGroups().map((one) => one.securityGroupId),
    (ec2, ids) => ec2.describeSecurityGroups(ids),
  ),
  filters: { 'vpc-id': (group) => [group.vpcId] },
  toXml: groupXml,
};

const vpcs: Collection<Ec2Vpc> = {
  setName: 'vpcSet',
  idParameter: 'VpcId',
  idOf: (vpc) => vpc.vpcId,
  notFoundCode: 'InvalidVpcID.NotFound',
  read: byIds<Ec2Vpc, VpcId>(
    (truth) => truth.vpcs().map((one) => one.vpcId),
    (ec2, ids) => ec2.describeVpcs(ids),
  ),
  filters: {},
  toXml: vpcXml,
};

const instanceTypes: Collection<InstanceLimits> = {
  setName: 'instanceTypeSet',
  idParameter: 'InstanceType',
  idOf: (limits) => limits.instanceType,
  notFoundCode: 'InvalidInstanceType',
  read: byIds<InstanceLimits, string>(
    (truth) => [...new Set(truth.instances().map((one) => one.instanceType))],
    (ec2, ids) => ec2.describeInstanceTypes(ids),
  ),
  filters: {},
  toXml: instanceTypeXml,
};

const listedRules = (truth: Ec2Truth): readonly ListedRule[] =>
  truth.securityGroups().flatMap(({ securityGroupId, ingress, egress }) =>
    [
      ...ingress.map((rule) => ({ rule, isEgress: false })),
      ...egress.map((rule) => ({ rule, isEgress: true })),
    ].map((one, n) => ({
      ...one,
      securityGroupId,
      ruleId: `sgr-${securityGroupId.slice('sg-'.length)}${n}`,
    })),
  );

/** The port has no call for rules: the tools' account reader asks for them, and no controller. */
const groupRules: Collection<ListedRule> = {
  setName: 'securityGroupRuleSet',
  idParameter: 'SecurityGroupRuleId',
  idOf: ({ ruleId }) => ruleId,
  notFoundCode: 'InvalidSecurityGroupRuleId.NotFound',
  read: ({ truth }) => Promise.resolve(done(listedRules(truth))),
  filters: { 'group-id': ({ securityGroupId }) => [securityGroupId] },
  toXml: groupRuleXml,
};

/** A VPC of the lab has no endpoints: nothing in it is reached by its name. */
const endpoints: Collection<never> = {
  setName: 'vpcEndpointSet',
  idParameter: 'VpcEndpointId',
  idOf: () => '',
  notFoundCode: 'InvalidVpcEndpointId.NotFound',
  read: () => Promise.resolve(done([])),
  filters: { 'vpc-id': () => [] },
  toXml: () => ({}),
};

/** Of type prefix alone: the lab has no other. */
const reservations: Action = {
  parameters: ['MaxResults', 'NextToken', 'SubnetId'],
  run: async (params, { truth, pages }) => {
    const subnet = truth.subnet(params.text('SubnetId') as SubnetId);
    if (subnet === undefined) return notFound(subnets, params.text('SubnetId') ?? '');
    const items = subnet.prefixReservations.map((cidr, n) => ({
      subnetCidrReservationId: `scr-${subnet.subnetId.slice('subnet-'.length)}${n}`,
      subnetId: subnet.subnetId,
      cidr,
      reservationType: 'prefix',
    }));
    const page = await pages.page(params, () => Promise.resolve(done(items)));
    if (page.kind !== 'ok') return page;
    return done({ subnetIpv4CidrReservationSet: page.value.items, nextToken: page.value.nextToken });
  },
};

export const describeActions: Readonly<Record<string, Action>> = {
  DescribeNetworkInterfaces: describe(enis),
  DescribeInstances: describe(instances),
  DescribeSubnets: describe(subnets),
  DescribeSecurityGroups: describe(groups),
  DescribeSecurityGroupRules: describe(groupRules),
  DescribeVpcEndpoints: describe(endpoints),
  GetSubnetCidrReservations: reservations,
  DescribeVpcs: describe(vpcs),
  DescribeInstanceTypes: describe(instanceTypes),
};
