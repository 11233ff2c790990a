// Each permission that the controller needs, tried by a dry run: EC2 checks the request and does nothing.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/CommonParameters.html (DryRun)

import {
  AttachNetworkInterfaceCommand,
  CreateNetworkInterfaceCommand,
  DeleteNetworkInterfaceCommand,
  DescribeInstancesCommand,
  DescribeInstanceTypesCommand,
  DescribeNetworkInterfacesCommand,
  DescribeSecurityGroupsCommand,
  DescribeSubnetsCommand,
  DescribeVpcsCommand,
  DetachNetworkInterfaceCommand,
  EC2Client,
  ModifyNetworkInterfaceAttributeCommand,
} from '@aws-sdk/client-ec2';
import type { PermissionFinding } from '../../domain/doctor/permission-finding.ts';
import { OWNER_TAG } from '../../domain/ipam/tags.ts';
import type { PermissionChecker, PermissionTarget } from '../../ports/permissions.ts';
import { classifyError } from './classify-error.ts';
import { type AwsEc2Options, clientConfig } from './create-aws-ec2.ts';

interface Try {
  readonly action: string;
  /** Absent: the target has nothing to try it on. */
  readonly send?: () => Promise<unknown>;
  readonly lacks?: string;
}

/** Nothing of it changes anything: an EC2 that does not know dry runs is found out by a describe first. */
export function createAwsPermissionChecker(options: AwsEc2Options): PermissionChecker {
  const client = new EC2Client(clientConfig(options));
  return {
    checkPermissions: async (target) => {
      const [first, ...reads] = readTries(client);
      const findings: PermissionFinding[] = [];
      if (first !== undefined) findings.push(await findingOf(first));
      if (findings.some(({ message }) => message === IGNORES_DRY_RUN)) return findings;
      for (const one of [...reads, ...writeTries(client, target)]) findings.push(await findingOf(one));
      return findings;
    },
  };
}

const IGNORES_DRY_RUN = 'this EC2 ignores DryRun, so nothing else is tried';

async function findingOf({ action, send, lacks }: Try): Promise<PermissionFinding> {
  if (send === undefined) return { action, verdict: 'Unknown', message: `not tried: ${lacks ?? ''}` };
  try {
    await send();
    return { action, verdict: 'Unknown', message: IGNORES_DRY_RUN };
  } catch (error) {
    const outcome = classifyError(error, { action, effect: 'read' });
    if (outcome.kind !== 'failed') {
      const message = outcome.kind === 'unknown' ? outcome.cause : IGNORES_DRY_RUN;
      return { action, verdict: 'Unknown', message };
    }
    const { code, kind, message } = outcome.failure;
    const verdict = code === 'DryRunOperation' ? 'Allowed' : kind === 'unauthorized' ? 'Denied' : 'Unknown';
    return { action, verdict, message: `${code}: ${message}` };
  }
}

const DryRun = true;

function readTries(client: EC2Client): readonly Try[] {
  return [
    { action: 'DescribeVpcs', send: () => client.send(new DescribeVpcsCommand({ DryRun })) },
    { action: 'DescribeSubnets', send: () => client.send(new DescribeSubnetsCommand({ DryRun })) },
    {
      action: 'DescribeSecurityGroups',
      send: () => client.send(new DescribeSecurityGroupsCommand({ DryRun })),
    },
    { action: 'DescribeInstances', send: () => client.send(new DescribeInstancesCommand({ DryRun })) },
    {
      action: 'DescribeInstanceTypes',
      send: () => client.send(new DescribeInstanceTypesCommand({ DryRun })),
    },
    {
      action: 'DescribeNetworkInterfaces',
      send: () => client.send(new DescribeNetworkInterfacesCommand({ DryRun })),
    },
  ];
}

const NO_CLUSTER_NAME = "the cluster's name is not known";

function writeTries(client: EC2Client, target: PermissionTarget): readonly Try[] {
  const { clusterName, subnetId, securityGroupIds = [], ownEni } = target;
  const create: Try =
    subnetId === undefined || clusterName === undefined
      ? {
          action: 'CreateNetworkInterface',
          lacks: clusterName === undefined ? NO_CLUSTER_NAME : 'no subnet is known',
        }
      : {
          action: 'CreateNetworkInterface',
          send: () =>
            client.send(
              new CreateNetworkInterfaceCommand({
                DryRun,
                SubnetId: subnetId,
                ...(securityGroupIds.length === 0 ? {} : { Groups: [...securityGroupIds] }),
                TagSpecifications: [
                  { ResourceType: 'network-interface', Tags: [{ Key: OWNER_TAG, Value: clusterName }] },
                ],
              }),
            ),
        };
  if (ownEni === undefined) {
    const lacks = clusterName === undefined ? NO_CLUSTER_NAME : "no ENI with this cluster's tag exists yet";
    return [create, ...OWN_ENI_ACTIONS.map((action) => ({ action, lacks }))];
  }
  return [create, ...ownEniTries(client, target, ownEni)];
}

/** https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_AssignPrivateIpAddresses.html knows no DryRun. */
const NO_DRY_RUN: ReadonlySet<string> = new Set([
  'AssignPrivateIpAddresses',
  'UnassignPrivateIpAddresses',
  'AssignIpv6Addresses',
  'UnassignIpv6Addresses',
]);

const OWN_ENI_ACTIONS = [
  'AttachNetworkInterface',
  'ModifyNetworkInterfaceAttribute',
  'AssignPrivateIpAddresses',
  'UnassignPrivateIpAddresses',
  'AssignIpv6Addresses',
  'UnassignIpv6Addresses',
  'DetachNetworkInterface',
  'DeleteNetworkInterface',
] as const;

function ownEniTries(
  client: EC2Client,
  { instanceId }: PermissionTarget,
  eni: NonNullable<PermissionTarget['ownEni']>,
): readonly Try[] {
  const NetworkInterfaceId = eni.eniId;
  const InstanceId = instanceId ?? eni.attachment?.instanceId;
  const AttachmentId = eni.attachment?.attachmentId;
  const sends: Readonly<Record<(typeof OWN_ENI_ACTIONS)[number], Try['send']>> = {
    AttachNetworkInterface:
      InstanceId &&
      (() =>
        client.send(
          new AttachNetworkInterfaceCommand({ DryRun, NetworkInterfaceId, InstanceId, DeviceIndex: 1 }),
        )),
    ModifyNetworkInterfaceAttribute: () =>
      client.send(
        new ModifyNetworkInterfaceAttributeCommand({
          DryRun,
          NetworkInterfaceId,
          Groups: [...eni.securityGroupIds],
        }),
      ),
    AssignPrivateIpAddresses: undefined,
    UnassignPrivateIpAddresses: undefined,
    AssignIpv6Addresses: undefined,
    UnassignIpv6Addresses: undefined,
    DetachNetworkInterface:
      AttachmentId && (() => client.send(new DetachNetworkInterfaceCommand({ DryRun, AttachmentId }))),
    DeleteNetworkInterface: () =>
      client.send(new DeleteNetworkInterfaceCommand({ DryRun, NetworkInterfaceId })),
  };
  return OWN_ENI_ACTIONS.map((action) => {
    const send = sends[action];
    if (send) return { action, send };
    return {
      action,
      lacks: NO_DRY_RUN.has(action) ? 'EC2 has no dry run of it' : `${eni.eniId} is not attached`,
    };
  });
}
