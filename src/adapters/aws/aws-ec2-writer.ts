// The writing half of the port: one request per call, never repeated here.

import {
  AssignPrivateIpAddressesCommand,
  AttachNetworkInterfaceCommand,
  CreateNetworkInterfaceCommand,
  DeleteNetworkInterfaceCommand,
  DetachNetworkInterfaceCommand,
  type EC2Client,
  ModifyNetworkInterfaceAttributeCommand,
  UnassignPrivateIpAddressesCommand,
} from '@aws-sdk/client-ec2';
import type { Ip } from '../../domain/address/ip.ts';
import { parseIp } from '../../domain/address/parse-ip.ts';
import type { AttachmentId } from '../../domain/ids.ts';
import type { CreateEniRequest, Ec2Eni, Ec2Outcome, Ec2Writer } from '../../ports/ec2.ts';
import { awsCall } from './aws-call.ts';
import { readEni, UnreadableAnswer } from './read-answer.ts';

const write = <T>(action: string, send: () => Promise<T>): Promise<Ec2Outcome<T>> =>
  awsCall({ action, effect: 'write' }, send);

export function createAwsEc2Writer(client: EC2Client): Ec2Writer {
  return {
    createNetworkInterface: (request) => createNetworkInterface(client, request),
    attachNetworkInterface: ({ eniId, instanceId, deviceIndex, networkCardIndex }) =>
      write('AttachNetworkInterface', async () => {
        const answer = await client.send(
          new AttachNetworkInterfaceCommand({
            NetworkInterfaceId: eniId,
            InstanceId: instanceId,
            DeviceIndex: deviceIndex,
            // Also when it is 0: left out, EC2 has taken the same index of another card for a clash.
            NetworkCardIndex: networkCardIndex,
          }),
        );
        if (answer.AttachmentId === undefined) throw new UnreadableAnswer(`no AttachmentId for ${eniId}`);
        return answer.AttachmentId as AttachmentId;
      }),
    setDeleteOnTermination: ({ eniId, attachmentId }) =>
      write('ModifyNetworkInterfaceAttribute', async () => {
        await client.send(
          new ModifyNetworkInterfaceAttributeCommand({
            NetworkInterfaceId: eniId,
            Attachment: { AttachmentId: attachmentId, DeleteOnTermination: true },
          }),
        );
      }),
    setSecurityGroups: ({ eniId, securityGroupIds }) =>
      write('ModifyNetworkInterfaceAttribute', async () => {
        await client.send(
          new ModifyNetworkInterfaceAttributeCommand({
            NetworkInterfaceId: eniId,
            Groups: [...securityGroupIds],
          }),
        );
      }),
    assignPrivateIpAddresses: ({ eniId, count }) =>
      write('AssignPrivateIpAddresses', async () => {
        const answer = await client.send(
          new AssignPrivateIpAddressesCommand({
            NetworkInterfaceId: eniId,
            SecondaryPrivateIpAddressCount: count,
          }),
        );
        const added = (answer.AssignedPrivateIpAddresses ?? []).map((one) => address(one.PrivateIpAddress));
        if (added.length !== count) {
          throw new UnreadableAnswer(`${added.length} of ${count} assigned addresses are told for ${eniId}`);
        }
        return added;
      }),
    unassignPrivateIpAddresses: ({ eniId, addresses }) =>
      write('UnassignPrivateIpAddresses', async () => {
        await client.send(
          new UnassignPrivateIpAddressesCommand({
            NetworkInterfaceId: eniId,
            PrivateIpAddresses: [...addresses],
          }),
        );
      }),
    detachNetworkInterface: ({ attachmentId }) =>
      write('DetachNetworkInterface', async () => {
        await client.send(new DetachNetworkInterfaceCommand({ AttachmentId: attachmentId }));
      }),
    deleteNetworkInterface: ({ eniId }) =>
      write('DeleteNetworkInterface', async () => {
        await client.send(new DeleteNetworkInterfaceCommand({ NetworkInterfaceId: eniId }));
      }),
  };
}

const createNetworkInterface = (client: EC2Client, request: CreateEniRequest): Promise<Ec2Outcome<Ec2Eni>> =>
  write('CreateNetworkInterface', async () => {
    const Tags = Object.entries(request.tags).map(([Key, Value]) => ({ Key, Value }));
    const answer = await client.send(
      new CreateNetworkInterfaceCommand({
        ClientToken: request.clientToken,
        SubnetId: request.subnetId,
        Description: request.description,
        ...(request.securityGroupIds.length === 0 ? {} : { Groups: [...request.securityGroupIds] }),
        ...(request.secondaryAddressCount === 0
          ? {}
          : { SecondaryPrivateIpAddressCount: request.secondaryAddressCount }),
        ...(Tags.length === 0
          ? {}
          : { TagSpecifications: [{ ResourceType: 'network-interface' as const, Tags }] }),
      }),
    );
    if (answer.NetworkInterface === undefined) throw new UnreadableAnswer('no network interface');
    return readEni(answer.NetworkInterface);
  });

function address(text: string | undefined): Ip {
  const parsed = parseIp(text ?? '');
  if (!parsed.ok) throw new UnreadableAnswer(parsed.error);
  return parsed.value;
}
