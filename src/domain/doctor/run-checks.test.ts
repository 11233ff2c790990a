// Each check: a cluster in order has no finding, and one thing that is wrong has the right one.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { nthAddress } from '../address/cidr.ts';
import { cidr } from '../address/testing.ts';
import {
  eniConfig,
  instance,
  network,
  node,
  NODE_SUBNET,
  picture,
  type PictureOptions,
  pod,
  POD_SUBNET,
  subnet,
  VPC,
} from '../explain/testing.ts';
import type { InstanceId, NodeName, SubnetId } from '../ids.ts';
import type { AccountPicture } from './account-picture.ts';
import { exitCodeOf, type Finding } from './finding.ts';
import type { PermissionFinding } from './permission-finding.ts';
import { CHECKS, examine } from './run-checks.ts';

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

const permitted = (
  of: Permissions['of'],
  not?: Readonly<Record<string, PermissionFinding['verdict']>>,
): { readonly permissions: Permissions } => ({ permissions: { of, tried: tried(not) } });

const ACCOUNT: AccountPicture = {
  vpcCidrs: new Map([[VPC, [cidr('10.0.0.0/16'), cidr('100.64.0.0/16')]]]),
  used: new Map(),
  defaultRoutes: new Map([[POD_SUBNET, 'nat-gateway']]),
  hopLimits: new Map([[instance.instanceId, 1]]),
  ...permitted('Controller'),
  unread: [],
};

const find = (options: PictureOptions, account: Partial<AccountPicture> = {}): readonly Finding[] =>
  examine(picture(options), { ...ACCOUNT, ...account }).findings;

interface Case {
  readonly title: string;
  readonly check: string;
  readonly severity: Finding['severity'];
  readonly picture: PictureOptions;
  readonly account?: Partial<AccountPicture>;
  readonly says: RegExp;
}

const serving = network();
const external = network({ settings: { ...serving.spec.settings, externalSnat: true } });

const cases: readonly Case[] = [
  {
    title: 'no node has a NodeNetwork: nothing is installed',
    check: 'published',
    severity: 'error',
    picture: { networks: [], pods: [] },
    says: /1 of 1 nodes have no NodeNetwork: n1/,
  },
  {
    title: 'an ENIConfig whose subnet does not exist',
    check: 'eniconfigs',
    severity: 'error',
    picture: {
      eniConfigs: [eniConfig(), eniConfig({ name: 'other', subnetId: 'subnet-0000000f' as SubnetId })],
    },
    says: /"other": spec\.subnet subnet-0000000f does not exist/,
  },
  {
    title: 'U48 nodes in a zone without a subnet for pods',
    check: 'zones',
    severity: 'error',
    picture: { subnets: [subnet({ zone: 'eu-west-1b' })] },
    says: /NoPodSubnetInZone: no usable ENIConfig has its subnet in zone eu-west-1a, where n1 run/,
  },
  {
    title: 'U46 a node that names an ENIConfig which is not there',
    check: 'selection',
    severity: 'error',
    picture: { nodes: [node({ annotations: { 'k8s.amazonaws.com/eniConfig': 'nowhere' } })] },
    says: /names "nowhere", but no ENIConfig has that name/,
  },
  {
    title: 'U46 the label that selection goes by is not on a node',
    check: 'labels',
    severity: 'warning',
    picture: {
      settings: {
        ...picture().settings,
        selection: {
          customNetworking: true,
          annotationKey: 'k8s.amazonaws.com/eniConfig',
          labelKey: 'topology.kubernetes.io/zone',
        },
      },
    },
    says: /1 nodes have no label topology\.kubernetes\.io\/zone/,
  },
  {
    title: 'an agent that does not serve',
    check: 'agents',
    severity: 'error',
    picture: { networks: [{ ...serving, status: { ...serving.status, conditions: [] } }] },
    says: /the agent of node n1 does not serve: it has never reported/,
  },
  {
    title: 'U14 pods that wait in a full subnet',
    check: 'waiting',
    severity: 'error',
    picture: {
      subnets: [subnet({ freeAddressCount: 0 })],
      pods: ['web', 'b', 'c', 'd', 'e'].map((name) => pod(name)),
      networks: [
        {
          ...serving,
          status: {
            ...serving.status,
            used: serving.spec.enis
              .flatMap((one) => one.addresses)
              .map((ip, n) => ({ ip, pod: pod(['web', 'b', 'c', 'd'][n] ?? '').key })),
          },
        },
      ],
    },
    says: /1 pods wait for an address on node n1: shop\/e/,
  },
  {
    title: 'U01 kubelet takes more pods than there are addresses for',
    check: 'max-pods',
    severity: 'warning',
    picture: { nodes: [node({ podCapacity: 29 })] },
    says: /kubelet on node n1 takes 29 pods, and m5\.large has addresses for 20/,
  },
  {
    title: 'U07 a subnet that is nearly full',
    check: 'free-addresses',
    severity: 'warning',
    picture: { subnets: [subnet({ freeAddressCount: 20 })] },
    says: /has 20 of 251 addresses free/,
  },
  {
    title: 'U08 237 free addresses and no free /28',
    check: 'free-blocks',
    severity: 'info',
    picture: { subnets: [subnet({ freeAddressCount: 237 })] },
    account: {
      used: new Map([
        [
          POD_SUBNET,
          {
            addresses: Array.from({ length: 14 }, (_, n) =>
              nthAddress(cidr('100.64.0.0/24'), 16 * (n + 1) + 3),
            ),
            prefixes: [],
          },
        ],
      ]),
    },
    says: /has 237 free addresses and no free \/28/,
  },
  {
    title: 'U101 a subnet for nodes and pods at once',
    check: 'roles',
    severity: 'warning',
    picture: { eniConfigs: [eniConfig({ subnetId: NODE_SUBNET })] },
    says: /subnet-0000000a .* is named by ENIConfig eu-west-1a and is also the node subnet of n1/,
  },
  {
    title: 'a block of pods that nodes reach by SNAT',
    check: 'snat',
    severity: 'warning',
    picture: {
      networks: [network({ settings: { ...serving.spec.settings, directCidrs: [cidr('10.0.0.0/16')] } })],
    },
    says: /100\.64\.0\.0\/24 of ENIConfig eu-west-1a is not among the CIDRs that 1 nodes reach without SNAT/,
  },
  {
    title: 'external SNAT and no default route',
    check: 'routes',
    severity: 'error',
    picture: { networks: [external] },
    account: { defaultRoutes: new Map([[POD_SUBNET, 'none']]) },
    says: /subnet-0000000b of ENIConfig eu-west-1a has no default route/,
  },
  {
    title: 'external SNAT and an internet gateway',
    check: 'routes',
    severity: 'error',
    picture: { networks: [external] },
    account: { defaultRoutes: new Map([[POD_SUBNET, 'internet-gateway']]) },
    says: /is an internet gateway/,
  },
  {
    title: 'a pod that may read instance metadata, one hop too far',
    check: 'metadata',
    severity: 'warning',
    picture: { pods: [pod('web', { annotations: { 'eniwhere.io/allow-imds': 'true' } })] },
    says: /the metadata hop limit of node n1 is 1, and shop\/web may read instance metadata/,
  },
  {
    title: 'a node that serves and still has its startup taint',
    check: 'startup-taint',
    severity: 'warning',
    picture: { nodes: [node({ taints: [{ key: 'eniwhere.io/network-not-ready', effect: 'NoSchedule' }] })] },
    says: /node n1 serves and still has the startup taint/,
  },
  {
    title: 'the AWS VPC CNI beside Eniwhere',
    check: 'aws-cni',
    severity: 'error',
    picture: { pods: [pod('web'), pod('aws-node-x2k4f', { namespace: 'kube-system', hostNetwork: true })] },
    says: /the AWS VPC CNI runs on 1 nodes/,
  },
  {
    title: 'a controller that may not read',
    check: 'read-permissions',
    severity: 'error',
    picture: {},
    account: permitted('Controller', { DescribeVpcs: 'Denied', DescribeSubnets: 'Denied' }),
    says: /do not allow ec2:DescribeVpcs, ec2:DescribeSubnets; EC2 says: UnauthorizedOperation: no DescribeVpcs$/,
  },
  {
    title: 'a controller that may not create ENIs',
    check: 'create-permissions',
    severity: 'error',
    picture: {},
    account: permitted('Controller', { CreateNetworkInterface: 'Denied' }),
    says: /do not allow ec2:CreateNetworkInterface;/,
  },
  {
    title: 'a controller that may attach ENIs and not delete them',
    check: 'change-permissions',
    severity: 'error',
    picture: {},
    account: permitted('Controller', { DeleteNetworkInterface: 'Denied' }),
    says: /do not allow ec2:DeleteNetworkInterface;/,
  },
  {
    title: 'a person who may not create ENIs, which is no fault',
    check: 'create-permissions',
    severity: 'info',
    picture: {},
    account: permitted('Caller', { CreateNetworkInterface: 'Denied' }),
    says: /do not allow ec2:CreateNetworkInterface;/,
  },
];

suite('doctor', () => {
  test('a cluster in order has no finding, and every check is made', () => {
    const { findings, passed, skipped } = examine(picture({ nodes: [node({ podCapacity: 20 })] }), ACCOUNT);
    assert.deepEqual(findings, []);
    assert.equal(passed.length, CHECKS.length);
    assert.deepEqual(skipped, []);
  });

  for (const one of cases)
    test(`finds: ${one.title}`, () => {
      const findings = find(one.picture, one.account);
      const found = findings.find(({ check }) => check === one.check);
      assert.ok(found !== undefined, JSON.stringify(findings, null, 2));
      assert.equal(found.severity, one.severity);
      assert.match(found.what, one.says);
      assert.ok(found.why.length > 20 && found.fix.length > 5);
    });

  test('every check has a case that it finds', () => {
    const found = new Set(cases.map(({ check }) => check));
    assert.deepEqual(
      CHECKS.map(({ id }) => id).filter((id) => !found.has(id)),
      [],
    );
  });

  test('[TOOL-5] what cannot be told is skipped, not called in order', () => {
    const { skipped } = examine(picture(), { unread: [] });
    assert.deepEqual(
      skipped.map(({ check }) => check),
      [
        'max-pods',
        'free-blocks',
        'routes',
        'metadata',
        'read-permissions',
        'create-permissions',
        'change-permissions',
      ],
    );
  });

  test('[TOOL-5] a permission without an answer leaves its check unmade, unless another of it is denied', () => {
    const unmade = (not: Readonly<Record<string, PermissionFinding['verdict']>>): readonly string[] =>
      examine(picture({ nodes: [node({ podCapacity: 20 })] }), {
        ...ACCOUNT,
        ...permitted('Controller', not),
      }).skipped.map(({ check }) => check);
    assert.deepEqual(unmade({ AttachNetworkInterface: 'Unknown' }), ['change-permissions']);
    assert.deepEqual(unmade({ AttachNetworkInterface: 'Unknown', DeleteNetworkInterface: 'Denied' }), []);
    const { skipped } = examine(picture({ nodes: [node({ podCapacity: 20 })] }), {
      ...ACCOUNT,
      permissions: {
        of: 'Controller',
        tried: [{ action: 'DescribeVpcs', verdict: 'Unknown', message: 'this EC2 ignores DryRun' }],
      },
    });
    assert.equal(skipped.length, 3);
  });

  test('before an installation the AWS VPC CNI is only mentioned', () => {
    const pods = [pod('aws-node-x2k4f', { namespace: 'kube-system', hostNetwork: true })];
    const found = find({ networks: [], pods }).find(({ check }) => check === 'aws-cni');
    assert.equal(found?.severity, 'info');
  });

  test('errors come first, and the exit code is that of the worst', () => {
    const findings = find({
      nodes: [
        node({ podCapacity: 29 }),
        node({ name: 'n2' as NodeName, instanceId: 'i-00000002' as InstanceId }),
      ],
    });
    assert.deepEqual(
      findings.map(({ severity }) => severity),
      ['error', 'warning'],
    );
    assert.equal(exitCodeOf(findings), 2);
    assert.equal(exitCodeOf(findings.slice(1)), 1);
    assert.equal(exitCodeOf([]), 0);
  });
});
