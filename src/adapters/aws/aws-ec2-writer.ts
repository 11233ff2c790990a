// The writing half of the port: one request per call, never repeated here.

import {
  AssignIpv6AddressesCommand,
  AssignPrivateIpAddressesCommand,
  AttachNetworkInterfaceCommand,
  CreateNetworkInterfaceCommand,
  DeleteNetworkInterfaceCommand,
  DetachNetworkInterfaceCommand,
  type EC2Client,
  ModifyNetworkInterfaceAttributeCommand,
  UnassignIpv6AddressesCommand,
  UnassignPrivateIpAddressesCommand,
} from '@aws-sdk/client-ec2';
import { parseCidr } from '../../domain/address/cidr.ts';
import { type Cidr, familyOf, type Ip } from '../../domain/address/ip.ts';
import { parseIp } from '../../domain/address/parse-ip.ts';
import type { AttachmentId } from '../../domain/ids.ts';
import type {
  AssignPrefixesRequest,
  CreateEniRequest,
  Ec2Eni,
  Ec2Outcome,
  Ec2Writer,
  UnassignPrefixesRequest,
} from '../../ports/ec2.ts';
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
    assignPrefixes: (request) => assignPrefixes(client, request),
    unassignPrefixes: (request) => unassignPrefixes(client, request),
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
        ...(request.prefixCount === 0 ? {} : { Ipv4PrefixCount: request.prefixCount }),
        ...(request.ipv6PrefixCount === 0 ? {} : { Ipv6PrefixCount: request.ipv6PrefixCount }),
        ...(Tags.length === 0
          ? {}
          : { TagSpecifications: [{ ResourceType: 'network-interface' as const, Tags }] }),
      }),
    );
    if (answer.NetworkInterface === undefined) throw new UnreadableAnswer('no network interface');
    return readEni(answer.NetworkInterface);
  });

async function assignPrefixes(
  client: EC2Client,
  { eniId, family, count }: AssignPrefixesRequest,
): Promise<Ec2Outcome<readonly Cidr[]>> {
  const told = (prefixes: readonly (string | undefined)[]): readonly Cidr[] => {
    if (prefixes.length !== count) {
      throw new UnreadableAnswer(`${prefixes.length} of ${count} assigned prefixes are told for ${eniId}`);
    }
    return prefixes.map(block);
  };
  const NetworkInterfaceId = eniId;
  if (family === 6) {
    return write('AssignIpv6Addresses', async () => {
      const request = new AssignIpv6AddressesCommand({ NetworkInterfaceId, Ipv6PrefixCount: count });
      return told((await client.send(request)).AssignedIpv6Prefixes ?? []);
    });
  }
  return write('AssignPrivateIpAddresses', async () => {
    const request = new AssignPrivateIpAddressesCommand({ NetworkInterfaceId, Ipv4PrefixCount: count });
    return told(((await client.send(request)).AssignedIpv4Prefixes ?? []).map((one) => one.Ipv4Prefix));
  });
}

function unassignPrefixes(
  client: EC2Client,
  { eniId, prefixes }: UnassignPrefixesRequest,
): Promise<Ec2Outcome<void>> {
  const NetworkInterfaceId = eniId;
  if (prefixes.every((prefix) => familyOf(prefix) === 6)) {
    return write('UnassignIpv6Addresses', async () => {
      const request = { NetworkInterfaceId, Ipv6Prefixes: [...prefixes] };
      await client.send(new UnassignIpv6AddressesCommand(request));
    });
  }
  return write('UnassignPrivateIpAddresses', async () => {
    const request = { NetworkInterfaceId, Ipv4Prefixes: [...prefixes] };
    await client.send(new UnassignPrivateIpAddressesCommand(request));
  });
}

function block(text: string | undefined): Cidr {
  const parsed = parseCidr(text ?? '');
  if (!parsed.ok) throw new UnreadableAnswer(parsed.error);
  return parsed.value;
}

function address(text: string | undefined): Ip {
  const parsed = parseIp(text ?? '');
  if (!parsed.ok) throw new UnreadableAnswer(parsed.error);
  return parsed.value;
}
