// Builders for the tests of checks: an account in order, and one thing wrong.

import { cidr, ip } from '../address/testing.ts';
import {
  GROUP,
  instance,
  node,
  NODE_SUBNET,
  picture,
  type PictureOptions,
  pod,
  POD_SUBNET,
  VPC,
} from '../explain/testing.ts';
import type { EniId, SecurityGroupId } from '../ids.ts';
import type { AccountPicture } from './account-picture.ts';
import type { Finding } from './finding.ts';
import type { PermissionFinding } from './permission-finding.ts';
import { examine } from './run-checks.ts';
import type { SecurityGroupRule } from './security-group-rule.ts';

const ACTIONS = [
  'DescribeVpcs',
  'DescribeSubnets',
  'CreateNetworkInterface',
  'AttachNetworkInterface',
  'AssignPrivateIpAddresses',
  'DeleteNetworkInterface',
];

/** All is allowed, but for what has no dry run and what `not` says otherwise of. */
const tried = (
  not: Readonly<Record<string, PermissionFinding['verdict']>> = {},
): readonly PermissionFinding[] =>
  ACTIONS.map((action) => ({
    action,
    verdict: not[action] ?? (action === 'AssignPrivateIpAddresses' ? 'Unknown' : 'Allowed'),
    message: `UnauthorizedOperation: no ${action}. Encoded authorization failure message: 9f3k`,
  }));

type Permissions = NonNullable<AccountPicture['permissions']>;

export const permitted = (
  of: Permissions['of'],
  not?: Readonly<Record<string, PermissionFinding['verdict']>>,
): { readonly permissions: Permissions } => ({ permissions: { of, tried: tried(not) } });

export const ALL: SecurityGroupRule['peer'] = { kind: 'Cidr', cidr: cidr('0.0.0.0/0') };
export const OUT: SecurityGroupRule = { direction: 'Egress', protocol: 'all', peer: ALL };
export const IN: SecurityGroupRule = { direction: 'Ingress', protocol: 'all', peer: ALL };
export const CONTROL_PLANE_GROUP = 'sg-0000000c' as SecurityGroupId;

/** What every check can be made of. */
export const IN_ORDER: PictureOptions = {
  nodes: [node({ podCapacity: 20, kernelVersion: '6.1.155-176.282.amzn2023.x86_64' })],
  pods: [
    pod('web'),
    pod('coredns-1', { namespace: 'kube-system', labels: { 'k8s-app': 'kube-dns' }, hostNetwork: true }),
  ],
};

export const ACCOUNT: AccountPicture = {
  gatewayEndpoints: new Map([
    [NODE_SUBNET, []],
    [POD_SUBNET, []],
  ]),
  subnetTags: new Map([[POD_SUBNET, {}]]),
  groupRules: new Map([
    [GROUP, [IN, OUT]],
    [CONTROL_PLANE_GROUP, [IN, OUT]],
  ]),
  endpoints: [],
  controlPlane: [
    {
      eniId: 'eni-0000000c' as EniId,
      subnetId: NODE_SUBNET,
      address: ip('10.0.0.200'),
      securityGroupIds: [CONTROL_PLANE_GROUP],
    },
  ],
  vpcCidrs: new Map([[VPC, [cidr('10.0.0.0/16'), cidr('100.64.0.0/16')]]]),
  used: new Map(),
  defaultRoutes: new Map([[POD_SUBNET, 'nat-gateway']]),
  hopLimits: new Map([[instance.instanceId, 1]]),
  ...permitted('Controller'),
  unread: [],
};

export const find = (options: PictureOptions, account: Partial<AccountPicture> = {}): readonly Finding[] =>
  examine(picture(options), { ...ACCOUNT, ...account }).findings;

/** One thing that is wrong, and what is said of it. */
export interface Case {
  readonly title: string;
  readonly check: string;
  readonly severity: Finding['severity'];
  readonly picture: PictureOptions;
  readonly account?: Partial<AccountPicture>;
  readonly says: RegExp;
}
