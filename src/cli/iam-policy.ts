// `eniwhere iam-policy`: the least that the controller's IAM role needs, as a policy document.
// https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonec2.html

import { type Command, InvalidArgumentError } from 'commander';
import { OWNER_TAG } from '../domain/ipam/tags.ts';
import type { CliContext } from './context.ts';

/** What of EC2 an action is allowed on. */
type Scope =
  /** Describes, which know no resources. */
  | 'everything'
  /** An ENI that the request itself tags as this cluster's. */
  | 'new ENIs'
  /** ENIs that carry this cluster's tag. */
  | 'own ENIs'
  /** What the same request names beside the ENI. Alone it allows nothing: EC2 asks for all resources of a request. */
  | 'their surroundings';

interface Permission {
  readonly action: string;
  readonly why: string;
  readonly on: readonly Scope[];
}

export const PERMISSIONS: readonly Permission[] = [
  { action: 'DescribeInstanceTypes', why: 'how many ENIs and addresses a node can hold', on: ['everything'] },
  { action: 'DescribeInstances', why: "a node's zone, VPC and primary ENI", on: ['everything'] },
  { action: 'DescribeNetworkInterfaces', why: 'which ENIs and addresses there are', on: ['everything'] },
  { action: 'DescribeSecurityGroups', why: "whether an ENIConfig's groups exist", on: ['everything'] },
  { action: 'DescribeSubnets', why: "an ENIConfig's zone and free addresses", on: ['everything'] },
  { action: 'DescribeVpcs', why: 'which destinations are inside the VPC', on: ['everything'] },
  { action: 'CreateNetworkInterface', why: 'a new ENI for pods', on: ['new ENIs', 'their surroundings'] },
  { action: 'CreateTags', why: 'tags of a new ENI, in the request that creates it', on: ['new ENIs'] },
  {
    action: 'AttachNetworkInterface',
    why: 'the ENI becomes part of its node',
    on: ['own ENIs', 'their surroundings'],
  },
  {
    action: 'ModifyNetworkInterfaceAttribute',
    why: 'the ENI is deleted with its node, and has the security groups that its ENIConfig has now',
    on: ['own ENIs', 'their surroundings'],
  },
  { action: 'AssignPrivateIpAddresses', why: 'more addresses or prefixes for pods', on: ['own ENIs'] },
  {
    action: 'UnassignPrivateIpAddresses',
    why: 'addresses that no pod needs go back to the subnet',
    on: ['own ENIs'],
  },
  { action: 'AssignIpv6Addresses', why: "an ENI's IPv6 prefix", on: ['own ENIs'] },
  { action: 'UnassignIpv6Addresses', why: 'an IPv6 prefix that no pod needs goes back', on: ['own ENIs'] },
  {
    action: 'DetachNetworkInterface',
    why: 'an ENI that no pod needs leaves its node',
    on: ['own ENIs', 'their surroundings'],
  },
  { action: 'DeleteNetworkInterface', why: 'and goes', on: ['own ENIs'] },
];

/** For each action that names more than the ENI: the types of resource. */
const SURROUNDINGS: Readonly<Record<string, readonly string[]>> = {
  CreateNetworkInterface: ['security-group', 'subnet'],
  AttachNetworkInterface: ['instance'],
  DetachNetworkInterface: ['instance'],
  ModifyNetworkInterfaceAttribute: ['instance', 'security-group'],
};

export interface PolicyStatement {
  readonly Sid: string;
  readonly Effect: 'Allow';
  readonly Action: readonly string[];
  readonly Resource: string | readonly string[];
  readonly Condition?: { readonly StringEquals: Readonly<Record<string, string>> };
}

export interface PolicyDocument {
  readonly Version: '2012-10-17';
  readonly Statement: readonly PolicyStatement[];
}

export interface PolicyRequest {
  /** Value of the tag by which the cluster's ENIs are known. */
  readonly clusterName: string;
  /** `aws`, `aws-cn` or `aws-us-gov`. */
  readonly partition: string;
}

/** Pure: allows to create ENIs with this cluster's tag, and to change and delete those alone that carry it. */
export function iamPolicy({ clusterName, partition }: PolicyRequest): PolicyDocument {
  const arn = (type: string): string => `arn:${partition}:ec2:*:*:${type}/*`;
  const actions = (scope: Scope): readonly string[] =>
    PERMISSIONS.filter((one) => one.on.includes(scope)).map((one) => `ec2:${one.action}`);
  const isNew = { [`aws:RequestTag/${OWNER_TAG}`]: clusterName };
  const isOwn = { [`aws:ResourceTag/${OWNER_TAG}`]: clusterName };
  const allow = (Sid: string, rest: Omit<PolicyStatement, 'Sid' | 'Effect'>): PolicyStatement => ({
    Sid,
    Effect: 'Allow',
    ...rest,
  });
  return {
    Version: '2012-10-17',
    Statement: [
      allow('Read', { Action: actions('everything'), Resource: '*' }),
      allow('CreateOwnNetworkInterfaces', {
        Action: ['ec2:CreateNetworkInterface'],
        Resource: arn('network-interface'),
        Condition: { StringEquals: isNew },
      }),
      // Without the first condition the role could put the tag on any ENI, and so make it its own.
      allow('TagOwnNetworkInterfacesOnCreate', {
        Action: ['ec2:CreateTags'],
        Resource: arn('network-interface'),
        Condition: { StringEquals: { 'ec2:CreateAction': 'CreateNetworkInterface', ...isNew } },
      }),
      allow('ChangeOwnNetworkInterfaces', {
        Action: actions('own ENIs'),
        Resource: arn('network-interface'),
        Condition: { StringEquals: isOwn },
      }),
      ...surroundings(actions('their surroundings'), arn),
    ],
  };
}

/** One statement per action, so that none is allowed on a type that it does not name. */
function surroundings(actions: readonly string[], arn: (type: string) => string): readonly PolicyStatement[] {
  return actions.map((action) => {
    const name = action.slice('ec2:'.length);
    return {
      Sid: `${name}Surroundings`,
      Effect: 'Allow',
      Action: [action],
      Resource: (SURROUNDINGS[name] ?? []).map(arn),
    };
  });
}

const PARTITIONS = ['aws', 'aws-cn', 'aws-us-gov'];

/** Refuses what a tag cannot hold, and `$`, which begins a variable in a policy. */
function clusterName(text: string): string {
  if (/^[\p{L}\p{N}_.:/=+@-]{1,256}$/u.test(text)) return text;
  throw new InvalidArgumentError('A cluster name has letters, digits and _ . : / = + - @, at most 256.');
}

function partition(text: string): string {
  if (PARTITIONS.includes(text)) return text;
  throw new InvalidArgumentError(`The partitions are ${PARTITIONS.join(', ')}.`);
}

export function addIamPolicy(program: Command, context: CliContext): void {
  program
    .command('iam-policy')
    .summary("print the IAM policy that the controller's role needs")
    .description(
      "Prints the least that the controller's IAM role needs, as a policy document: it may create network interfaces " +
        "with the cluster's tag, and change and delete those alone. Nodes need no permission.",
    )
    .requiredOption(
      '--cluster <name>',
      'name of the cluster, as in the settings of the controller',
      clusterName,
    )
    .option('--partition <name>', `AWS partition: ${PARTITIONS.join(', ')}`, partition, 'aws')
    .addHelpText(
      'after',
      `
Examples:
  eniwhere iam-policy --cluster prod > policy.json
  aws iam create-policy --policy-name eniwhere-prod --policy-document file://policy.json`,
    )
    .action((options: { readonly cluster: string; readonly partition: string }) => {
      const policy = iamPolicy({ clusterName: options.cluster, partition: options.partition });
      context.write(`${JSON.stringify(policy, null, 2)}\n`);
    });
}
