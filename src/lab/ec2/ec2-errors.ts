// EC2's refusals: code, text and kind, each in one place.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html

import { err } from '../../domain/result.ts';
import type { Ec2Failure } from '../../ports/ec2.ts';

export interface Refusal {
  readonly ok: false;
  readonly error: Ec2Failure;
}

const refuse = (kind: Ec2Failure['kind'], code: string, message: string): Refusal =>
  err({ kind, code, message });

export const eniNotFound = (eniId: string): Refusal =>
  refuse(
    'not-found',
    'InvalidNetworkInterfaceID.NotFound',
    `The networkInterface ID '${eniId}' does not exist`,
  );

export const subnetNotFound = (subnetId: string): Refusal =>
  refuse('not-found', 'InvalidSubnetID.NotFound', `The subnet ID '${subnetId}' does not exist`);

export const groupNotFound = (groupId: string): Refusal =>
  refuse('not-found', 'InvalidGroup.NotFound', `The security group '${groupId}' does not exist`);

export const vpcNotFound = (vpcId: string): Refusal =>
  refuse('not-found', 'InvalidVpcID.NotFound', `The vpc ID '${vpcId}' does not exist`);

export const instanceNotFound = (instanceId: string): Refusal =>
  refuse('not-found', 'InvalidInstanceID.NotFound', `The instance ID '${instanceId}' does not exist`);

export const attachmentNotFound = (attachmentId: string): Refusal =>
  refuse('not-found', 'InvalidAttachmentID.NotFound', `The attachment ID '${attachmentId}' does not exist`);

/** The instance is on its way out: for a caller it is as good as gone. */
export const instanceNotUsable = (instanceId: string, state: string): Refusal =>
  refuse(
    'not-found',
    'IncorrectInstanceState',
    `Instance '${instanceId}' is in state '${state}' and cannot take a network interface.`,
  );

export const subnetFull = (subnetId: string): Refusal =>
  refuse(
    'subnet-full',
    'InsufficientFreeAddressesInSubnet',
    `The specified subnet does not have enough free addresses to satisfy the request: ${subnetId}.`,
  );

/** Addresses may be free by the thousand: what is missing is an aligned block that is free as a whole. */
export const noFreeBlock = (subnetId: string): Refusal =>
  refuse(
    'no-free-block',
    'InsufficientCidrBlocks',
    `The specified subnet does not have enough free cidr blocks to satisfy the request: ${subnetId}.`,
  );

export const noIpv6Block = (subnetId: string): Refusal =>
  refuse('invalid', 'InvalidParameterValue', `The subnet ${subnetId} has no associated IPv6 CIDR block.`);

/** AWS documents that prefixes need a Nitro instance, not how it refuses others. */
export const noPrefixesOnXen = (instanceType: string): Refusal =>
  refuse('invalid', 'InvalidParameterValue', `Instance type ${instanceType} does not support prefixes.`);

export const eniFull = (eniId: string, addressMax: number): Refusal =>
  refuse(
    'eni-full',
    'PrivateIpAddressLimitExceeded',
    `Number of private addresses will exceed limit: ${eniId} may hold ${addressMax}.`,
  );

export const instanceFull = (instanceId: string, eniMax: number, instanceType: string): Refusal =>
  refuse(
    'instance-full',
    'AttachmentLimitExceeded',
    `Interface count ${eniMax + 1} exceeds the limit for ${instanceType} (instance ${instanceId}).`,
  );

export const deviceIndexTaken = (instanceId: string, deviceIndex: number): Refusal =>
  refuse(
    'device-index-taken',
    'InvalidParameterValue',
    `Instance '${instanceId}' already has an interface attached at device index '${deviceIndex}'.`,
  );

export const eniInUse = (eniId: string): Refusal =>
  refuse('in-use', 'InvalidParameterValue', `Network interface '${eniId}' is currently in use.`);

export const eniNotAvailable = (eniId: string): Refusal =>
  refuse('in-use', 'InvalidNetworkInterface.InUse', `Interface: [${eniId}] in use.`);

export const attachmentNotSettled = (attachmentId: string, status: string): Refusal =>
  refuse('in-use', 'IncorrectState', `Attachment '${attachmentId}' is in state '${status}', not 'attached'.`);

/** What the caller wants gone is gone, so this is no `invalid`: re-read and go on. */
export const addressesNotAssigned = (eniId: string, addresses: readonly string[]): Refusal =>
  refuse(
    'not-found',
    'InvalidParameterValue',
    `Some of the specified addresses are not assigned to interface ${eniId}: ${addresses.join(', ')}`,
  );

export const primaryAddressFixed = (eniId: string, address: string): Refusal =>
  refuse(
    'invalid',
    'InvalidParameterValue',
    `Address ${address} is the primary address of interface ${eniId} and cannot be unassigned.`,
  );

export const deviceIndexZero = (attachmentId: string): Refusal =>
  refuse(
    'invalid',
    'OperationNotPermitted',
    `The network interface at device index 0 cannot be detached: ${attachmentId}.`,
  );

export const tooManyGroups = (groupMax: number): Refusal =>
  refuse(
    'invalid',
    'SecurityGroupsPerInterfaceLimitExceeded',
    `The maximum number of security groups per interface has been reached: ${groupMax}.`,
  );

export const otherVpc = (first: string, second: string): Refusal =>
  refuse(
    'invalid',
    'InvalidParameter',
    `You have specified two resources that belong to different networks: ${first} and ${second}.`,
  );

export const otherZone = (eniId: string, instanceId: string): Refusal =>
  refuse(
    'invalid',
    'InvalidParameterCombination',
    `You may not attach a network interface to an instance if they are not in the same availability zone: ${eniId}, ${instanceId}.`,
  );

export const tokenReused = (clientToken: string): Refusal =>
  refuse(
    'invalid',
    'IdempotentParameterMismatch',
    `The client token '${clientToken}' was used before with different parameters.`,
  );

export const inUseByOthers = (what: string, users: string): Refusal =>
  refuse('in-use', 'DependencyViolation', `${what} has dependent objects and cannot be deleted: ${users}.`);

export const badCombination = (message: string): Refusal =>
  refuse('invalid', 'InvalidParameterCombination', message);

export const badValue = (message: string): Refusal => refuse('invalid', 'InvalidParameterValue', message);

export const badRange = (message: string): Refusal => refuse('invalid', 'InvalidSubnet.Range', message);

export const alreadyThere = (id: string): Refusal =>
  refuse('invalid', 'AlreadyExists', `'${id}' exists already.`);

export const throttled = (action: string): Refusal =>
  refuse('throttled', 'RequestLimitExceeded', `Request limit exceeded: ${action}.`);

/** The real text carries an encoded message in which only an administrator can read what is denied. */
export const unauthorized = (action: string, encoded: string): Refusal =>
  refuse(
    'unauthorized',
    'UnauthorizedOperation',
    `You are not authorized to perform this operation: ec2:${action}. Encoded authorization failure message: ${encoded}`,
  );

/** EC2's code -> the kind that the product takes it for. A code that is not here is the request's own fault. */
const KIND_BY_CODE: Readonly<Record<string, Ec2Failure['kind']>> = {
  RequestLimitExceeded: 'throttled',
  InsufficientFreeAddressesInSubnet: 'subnet-full',
  InsufficientCidrBlocks: 'no-free-block',
  PrivateIpAddressLimitExceeded: 'eni-full',
  AttachmentLimitExceeded: 'instance-full',
  'InvalidNetworkInterface.InUse': 'in-use',
  DependencyViolation: 'in-use',
  IncorrectState: 'in-use',
  UnauthorizedOperation: 'unauthorized',
  AuthFailure: 'unauthorized',
  InternalError: 'server-error',
  ServiceUnavailable: 'server-error',
};

/** A refusal that is no consequence of the world's state: somebody wants to see what comes of it. */
export const askedFor = (code: string, action: string): Refusal =>
  refuse(
    KIND_BY_CODE[code] ?? (code.endsWith('.NotFound') ? 'not-found' : 'invalid'),
    code,
    `The simulated EC2 was told to refuse ${action} with ${code}.`,
  );

export const serverError = (action: string): Refusal =>
  refuse('server-error', 'InternalError', `An internal error has occurred: ${action}.`);
