// All checks as a table, and their findings in order of weight.

import type { Picture } from '../explain/picture.ts';
import type { AccountPicture } from './account-picture.ts';
import {
  checkAgents,
  checkAwsCni,
  checkLabels,
  checkMaxPods,
  checkPublished,
  checkRefusals,
  checkSelection,
  checkStartupTaint,
  checkWaiting,
} from './cluster-checks.ts';
import { type Finding, SEVERITIES } from './finding.ts';
import { checkEndpointGroups, checkEndpoints, checkGatewayEndpoints } from './endpoint-checks.ts';
import {
  checkApiServerGroups,
  checkDnsGroups,
  checkWebhookGroups,
  knowsControlPlaneGroups,
  knowsDnsGroups,
} from './group-checks.ts';
import { checkIpv6Blocks } from './ipv6-checks.ts';
import {
  checkEniConfigs,
  checkFreeAddresses,
  checkFreeBlocks,
  checkHopLimit,
  checkOtherRoles,
  checkRoles,
  checkRoutes,
  checkSnat,
  checkZones,
  knowsOtherRoles,
} from './network-checks.ts';
import { checkBranchEnis, checkDnsEnis, checkKernels, knowsKernels } from './node-checks.ts';
import { type ActionGroup, canTellPermissions, checkPermissions } from './permission-checks.ts';

const PERMISSION_CHECKS: readonly (readonly [id: string, group: ActionGroup, holds: string])[] = [
  ['read-permissions', 'Read', 'the AWS credentials may read what the controller reads'],
  ['create-permissions', 'Create', "the AWS credentials may create this cluster's ENIs"],
  [
    'change-permissions',
    'Change',
    "the AWS credentials may attach, change, detach and delete this cluster's ENIs",
  ],
];

interface Check {
  readonly id: string;
  /** What is in order when there is no finding. */
  readonly holds: string;
  readonly run: (picture: Picture, account: AccountPicture) => readonly Omit<Finding, 'check'>[];
  /** Whether what the check looks at is known; always, when absent. */
  readonly canTell?: (picture: Picture, account: AccountPicture) => boolean;
}

export const CHECKS: readonly Check[] = [
  { id: 'published', holds: 'every node has its NodeNetwork', run: checkPublished },
  { id: 'eniconfigs', holds: 'every ENIConfig can be used', run: checkEniConfigs },
  { id: 'families', holds: 'subnets of pods with IPv6 have a block of it', run: checkIpv6Blocks },
  { id: 'zones', holds: 'every zone with nodes has a subnet for pods', run: checkZones },
  { id: 'selection', holds: 'an ENIConfig applies to every node', run: checkSelection },
  { id: 'labels', holds: 'nodes have the label that selection goes by', run: checkLabels },
  { id: 'agents', holds: 'every agent serves', run: checkAgents },
  { id: 'refusals', holds: 'EC2 refuses nothing to the controller', run: checkRefusals },
  { id: 'waiting', holds: 'no pod waits for an address', run: checkWaiting },
  {
    id: 'max-pods',
    holds: 'no kubelet takes more pods than there are addresses for',
    run: checkMaxPods,
    canTell: (picture) => picture.nodes.some((node) => node.podCapacity !== undefined),
  },
  { id: 'free-addresses', holds: "pods' subnets have room", run: checkFreeAddresses },
  {
    id: 'free-blocks',
    holds: "pods' subnets have whole /28 blocks",
    run: checkFreeBlocks,
    canTell: (_, account) => account.used !== undefined,
  },
  { id: 'roles', holds: 'no subnet is for nodes and pods at once', run: checkRoles },
  {
    id: 'other-roles',
    holds: "pods' subnets are not those of the control plane or of load balancers",
    run: checkOtherRoles,
    canTell: knowsOtherRoles,
  },
  { id: 'snat', holds: "pods' subnets are reached without SNAT", run: checkSnat },
  {
    id: 'routes',
    holds: 'routes of pods lead out',
    run: checkRoutes,
    canTell: (_, account) => account.defaultRoutes !== undefined,
  },
  {
    id: 'endpoints',
    holds: 'nodes without a way out reach the services of AWS by endpoints',
    run: checkEndpoints,
    canTell: (_, account) => account.endpoints !== undefined && account.defaultRoutes !== undefined,
  },
  {
    id: 'gateway-endpoints',
    holds: "pods' own routes lead to the gateway endpoints of their nodes",
    run: checkGatewayEndpoints,
    canTell: (_, account) => account.gatewayEndpoints !== undefined,
  },
  {
    id: 'endpoint-groups',
    holds: "security groups let pods reach the VPC's endpoints",
    run: checkEndpointGroups,
    canTell: (_, account) => account.endpoints !== undefined && account.groupRules !== undefined,
  },
  {
    id: 'dns-groups',
    holds: 'security groups let pods reach DNS',
    run: checkDnsGroups,
    canTell: knowsDnsGroups,
  },
  {
    id: 'api-groups',
    holds: 'security groups let pods reach the API server',
    run: checkApiServerGroups,
    canTell: knowsControlPlaneGroups,
  },
  {
    id: 'webhook-groups',
    holds: 'security groups let the API server reach pods',
    run: checkWebhookGroups,
    canTell: knowsControlPlaneGroups,
  },
  { id: 'dns-enis', holds: 'no two DNS servers share an ENI', run: checkDnsEnis },
  { id: 'branch-enis', holds: 'no pod asks for a branch ENI', run: checkBranchEnis },
  {
    id: 'kernels',
    holds: "nodes' kernels are new enough",
    run: checkKernels,
    canTell: (picture) => knowsKernels(picture),
  },
  {
    id: 'metadata',
    holds: 'pods that may read instance metadata can',
    run: checkHopLimit,
    canTell: (_, account) => account.hopLimits !== undefined,
  },
  { id: 'startup-taint', holds: 'no node that serves is kept from pods', run: checkStartupTaint },
  { id: 'aws-cni', holds: 'the AWS VPC CNI does not run beside', run: checkAwsCni },
  ...PERMISSION_CHECKS.map(
    ([id, group, holds]): Check => ({
      id,
      holds,
      run: (_, account) => checkPermissions(account, group),
      canTell: (_, account) => canTellPermissions(account, group),
    }),
  ),
];

export interface Examination {
  readonly findings: readonly Finding[];
  /** Checks that found nothing. */
  readonly passed: readonly { readonly check: string; readonly holds: string }[];
  /** Checks that could not be made. */
  readonly skipped: readonly { readonly check: string; readonly holds: string }[];
}

/** Pure; errors first, and among equals in the order of the table. */
export function examine(picture: Picture, account: AccountPicture): Examination {
  const findings: Finding[] = [];
  const passed: { check: string; holds: string }[] = [];
  const skipped: { check: string; holds: string }[] = [];
  for (const { id, holds, run, canTell } of CHECKS) {
    if (canTell?.(picture, account) === false) {
      skipped.push({ check: id, holds });
      continue;
    }
    const found = run(picture, account);
    if (found.length === 0) passed.push({ check: id, holds });
    findings.push(...found.map((one) => ({ check: id, ...one })));
  }
  const rank = (one: Finding): number => SEVERITIES.indexOf(one.severity);
  return { findings: findings.sort((a, b) => rank(a) - rank(b)), passed, skipped };
}
