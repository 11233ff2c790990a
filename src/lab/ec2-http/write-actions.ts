// The actions that change something, over the port.

import type { Cidr, Ip } from '../../domain/address/ip.ts';
import type { AttachmentId, EniId, InstanceId, SecurityGroupId, SubnetId } from '../../domain/ids.ts';
import type { Ec2Outcome } from '../../ports/ec2.ts';
import { done } from '../../ports/outcome.ts';
import type { Action } from './action.ts';
import type { Params } from './form.ts';
import { eniXml } from './objects-xml.ts';
import { badCombination, missing, unsupported } from './refusals.ts';
import type { XmlFields } from './xml.ts';

const answered = <T>(outcome: Ec2Outcome<T>, toXml: (value: T) => XmlFields): Ec2Outcome<XmlFields> =>
  outcome.kind === 'ok' ? done(toXml(outcome.value)) : outcome;

/** What actions answer that only say that they were done. */
const returnTrue = (): XmlFields => ({ return: true });

function tagsOf(params: Params): Readonly<Record<string, string>> {
  return Object.fromEntries(
    params
      .structures('TagSpecification')
      .flatMap((specification) => specification.structures('Tag'))
      .map((tag) => [tag.text('Key') ?? '', tag.text('Value') ?? '']),
  );
}

const createNetworkInterface: Action = {
  parameters: [
    'ClientToken',
    'Description',
    'Ipv4PrefixCount',
    'Ipv6PrefixCount',
    'SecondaryPrivateIpAddressCount',
    'SecurityGroupId',
    'SubnetId',
    'TagSpecification',
  ],
  run: async (params, { ec2 }) => {
    const subnetId = params.text('SubnetId');
    if (subnetId === undefined) return missing('subnetId');
    const clientToken = params.text('ClientToken') ?? '';
    const outcome = await ec2.createNetworkInterface({
      clientToken,
      subnetId: subnetId as SubnetId,
      securityGroupIds: params.texts('SecurityGroupId') as readonly SecurityGroupId[],
      secondaryAddressCount: params.integer('SecondaryPrivateIpAddressCount') ?? 0,
      prefixCount: params.integer('Ipv4PrefixCount') ?? 0,
      ipv6PrefixCount: params.integer('Ipv6PrefixCount') ?? 0,
      description: params.text('Description') ?? '',
      tags: tagsOf(params),
    });
    // EC2 answers while the ENI is still being made, which nobody has to wait for.
    return answered(outcome, (eni) => ({
      networkInterface: { ...eniXml(eni), status: eni.status === 'available' ? 'pending' : eni.status },
      clientToken,
    }));
  },
};

const attachNetworkInterface: Action = {
  parameters: ['DeviceIndex', 'InstanceId', 'NetworkCardIndex', 'NetworkInterfaceId'],
  run: async (params, { ec2 }) => {
    const eniId = params.text('NetworkInterfaceId');
    const instanceId = params.text('InstanceId');
    const deviceIndex = params.integer('DeviceIndex');
    if (eniId === undefined) return missing('networkInterfaceId');
    if (instanceId === undefined) return missing('instanceId');
    if (deviceIndex === undefined) return missing('deviceIndex');
    const outcome = await ec2.attachNetworkInterface({
      eniId: eniId as EniId,
      instanceId: instanceId as InstanceId,
      deviceIndex,
      networkCardIndex: params.integer('NetworkCardIndex') ?? 0,
    });
    return answered(outcome, (attachmentId) => ({ attachmentId }));
  },
};

const modifyNetworkInterfaceAttribute: Action = {
  parameters: ['Attachment', 'NetworkInterfaceId', 'SecurityGroupId'],
  run: async (params, { ec2 }) => {
    const eniId = params.text('NetworkInterfaceId') as EniId | undefined;
    if (eniId === undefined) return missing('networkInterfaceId');
    const securityGroupIds = params.texts('SecurityGroupId') as readonly SecurityGroupId[];
    const attachmentId = params.text('Attachment.AttachmentId') as AttachmentId | undefined;
    if (securityGroupIds.length > 0 && params.names.includes('Attachment')) {
      return badCombination('A request may change one attribute of a network interface.');
    }
    if (securityGroupIds.length > 0) {
      return answered(await ec2.setSecurityGroups({ eniId, securityGroupIds }), returnTrue);
    }
    if (attachmentId === undefined) return missing('attachment.attachmentId');
    if (params.text('Attachment.DeleteOnTermination') !== 'true') {
      return unsupported('The simulated EC2 only sets Attachment.DeleteOnTermination to true');
    }
    return answered(await ec2.setDeleteOnTermination({ eniId, attachmentId }), returnTrue);
  },
};

const assignPrivateIpAddresses: Action = {
  parameters: ['Ipv4PrefixCount', 'NetworkInterfaceId', 'SecondaryPrivateIpAddressCount'],
  run: async (params, { ec2 }) => {
    const eniId = params.text('NetworkInterfaceId');
    const count = params.integer('SecondaryPrivateIpAddressCount');
    if (eniId === undefined) return missing('networkInterfaceId');
    const prefixCount = params.integer('Ipv4PrefixCount');
    if (prefixCount !== undefined && count !== undefined) {
      return badCombination('A count of private addresses and a count of IPv4 prefixes exclude each other.');
    }
    if (prefixCount !== undefined) {
      const prefixes = await ec2.assignPrefixes({ eniId: eniId as EniId, family: 4, count: prefixCount });
      return answered(prefixes, (added) => ({
        networkInterfaceId: eniId,
        assignedIpv4PrefixSet: added.map((ipv4Prefix) => ({ ipv4Prefix })),
        return: true,
      }));
    }
    if (count === undefined) return missing('secondaryPrivateIpAddressCount');
    const outcome = await ec2.assignPrivateIpAddresses({ eniId: eniId as EniId, count });
    return answered(outcome, (added) => ({
      networkInterfaceId: eniId,
      assignedPrivateIpAddressesSet: added.map((privateIpAddress) => ({ privateIpAddress })),
      return: true,
    }));
  },
};

const unassignPrivateIpAddresses: Action = {
  parameters: ['Ipv4Prefix', 'NetworkInterfaceId', 'PrivateIpAddress'],
  run: async (params, { ec2 }) => {
    const eniId = params.text('NetworkInterfaceId');
    const addresses = params.texts('PrivateIpAddress');
    if (eniId === undefined) return missing('networkInterfaceId');
    const prefixes = params.texts('Ipv4Prefix') as readonly Cidr[];
    if (prefixes.length > 0 && addresses.length > 0) {
      return unsupported('The simulated EC2 unassigns addresses and prefixes in two requests');
    }
    if (prefixes.length > 0) {
      return answered(await ec2.unassignPrefixes({ eniId: eniId as EniId, prefixes }), returnTrue);
    }
    if (addresses.length === 0) return missing('privateIpAddress');
    const outcome = await ec2.unassignPrivateIpAddresses({
      eniId: eniId as EniId,
      // Text that is no address is none of the ENI's, and EC2 says so.
      addresses: addresses as readonly Ip[],
    });
    return answered(outcome, returnTrue);
  },
};

const assignIpv6Addresses: Action = {
  parameters: ['Ipv6PrefixCount', 'NetworkInterfaceId'],
  run: async (params, { ec2 }) => {
    const eniId = params.text('NetworkInterfaceId');
    const count = params.integer('Ipv6PrefixCount');
    if (eniId === undefined) return missing('networkInterfaceId');
    if (count === undefined) return missing('ipv6PrefixCount');
    const outcome = await ec2.assignPrefixes({ eniId: eniId as EniId, family: 6, count });
    return answered(outcome, (added) => ({ networkInterfaceId: eniId, assignedIpv6PrefixSet: added }));
  },
};

const unassignIpv6Addresses: Action = {
  parameters: ['Ipv6Prefix', 'NetworkInterfaceId'],
  run: async (params, { ec2 }) => {
    const eniId = params.text('NetworkInterfaceId');
    const prefixes = params.texts('Ipv6Prefix') as readonly Cidr[];
    if (eniId === undefined) return missing('networkInterfaceId');
    if (prefixes.length === 0) return missing('ipv6Prefix');
    const outcome = await ec2.unassignPrefixes({ eniId: eniId as EniId, prefixes });
    return answered(outcome, () => ({ networkInterfaceId: eniId, unassignedIpv6PrefixSet: prefixes }));
  },
};

const detachNetworkInterface: Action = {
  parameters: ['AttachmentId'],
  run: async (params, { ec2 }) => {
    const attachmentId = params.text('AttachmentId');
    if (attachmentId === undefined) return missing('attachmentId');
    return answered(
      await ec2.detachNetworkInterface({ attachmentId: attachmentId as AttachmentId }),
      returnTrue,
    );
  },
};

const deleteNetworkInterface: Action = {
  parameters: ['NetworkInterfaceId'],
  run: async (params, { ec2 }) => {
    const eniId = params.text('NetworkInterfaceId');
    if (eniId === undefined) return missing('networkInterfaceId');
    return answered(await ec2.deleteNetworkInterface({ eniId: eniId as EniId }), returnTrue);
  },
};

export const writeActions: Readonly<Record<string, Action>> = {
  CreateNetworkInterface: createNetworkInterface,
  AttachNetworkInterface: attachNetworkInterface,
  ModifyNetworkInterfaceAttribute: modifyNetworkInterfaceAttribute,
  AssignPrivateIpAddresses: assignPrivateIpAddresses,
  UnassignPrivateIpAddresses: unassignPrivateIpAddresses,
  AssignIpv6Addresses: assignIpv6Addresses,
  UnassignIpv6Addresses: unassignIpv6Addresses,
  DetachNetworkInterface: detachNetworkInterface,
  DeleteNetworkInterface: deleteNetworkInterface,
};
