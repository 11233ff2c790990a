// Where the simulated EC2 and moto answer differently, and which of them AWS's documentation says is right.

export interface Difference {
  readonly sequence: string;
  readonly step: string;
  readonly simulated: unknown;
  readonly moto: unknown;
  readonly right: 'simulated' | 'moto';
  /** What the documentation has to say, in short. */
  readonly why: string;
  readonly source: string;
}

const REFERENCE = 'https://docs.aws.amazon.com/AWSEC2/latest/APIReference';
const GUIDE = 'https://docs.aws.amazon.com/AWSEC2/latest/UserGuide';
const ERRORS = `${REFERENCE}/errors-overview.html`;

export const knownDifferences: readonly Difference[] = [
  {
    sequence: 'creating',
    step: 'with no group',
    simulated: 'not-found InvalidGroup.NotFound',
    moto: 'ok',
    right: 'simulated',
    why: 'InvalidGroup.NotFound: the specified security group does not exist. moto makes the group up.',
    source: ERRORS,
  },
  {
    sequence: 'creating',
    step: 'with a group of another VPC',
    simulated: 'invalid InvalidParameter',
    moto: 'ok',
    right: 'simulated',
    why: 'InvalidParameter: you cannot specify a security group and a subnet that are in different VPCs.',
    source: ERRORS,
  },
  {
    sequence: 'creating',
    step: 'with more addresses than the subnet has',
    simulated: 'subnet-full InsufficientFreeAddressesInSubnet',
    moto: 'ok',
    right: 'simulated',
    why: 'InsufficientFreeAddressesInSubnet: the subnet has too few free private addresses for the request.',
    source: ERRORS,
  },
  {
    sequence: 'client tokens',
    step: 'the same request again',
    simulated: 'the same',
    moto: 'another',
    right: 'simulated',
    why: 'ClientToken makes the request idempotent: repeated, it answers with the first result. moto ignores it.',
    source: `${REFERENCE}/API_CreateNetworkInterface.html`,
  },
  {
    sequence: 'client tokens',
    step: 'another request with the token',
    simulated: 'invalid IdempotentParameterMismatch',
    moto: 'ok',
    right: 'simulated',
    why: 'IdempotentParameterMismatch: the token was used before for a request that was not identical.',
    source: ERRORS,
  },
  {
    sequence: 'attaching',
    step: 'delete while attached',
    simulated: 'in-use InvalidParameterValue',
    moto: 'ok',
    right: 'simulated',
    why: 'You must detach the network interface before you can delete it; in use, InvalidParameterValue may be the code.',
    source: `${REFERENCE}/API_DeleteNetworkInterface.html`,
  },
  {
    sequence: 'attaching',
    step: 'a device index that is taken',
    simulated: 'device-index-taken InvalidParameterValue',
    moto: 'ok',
    right: 'simulated',
    why: 'InvalidParameterValue: a value that cannot be used; its text says that the index has an interface attached.',
    source: ERRORS,
  },
  {
    sequence: 'attaching',
    step: 'an ENI that is attached',
    simulated: 'in-use InvalidNetworkInterface.InUse',
    moto: 'ok',
    right: 'simulated',
    why: 'InvalidNetworkInterface.InUse: an interface in use cannot be attached to another instance.',
    source: ERRORS,
  },
  {
    sequence: 'attaching',
    step: 'more ENIs than the type has',
    simulated: 'instance-full AttachmentLimitExceeded',
    moto: 'ok',
    right: 'simulated',
    why: 'The instance type determines how many network interfaces can be attached.',
    source: `${GUIDE}/network-interface-attachments.html`,
  },
  {
    sequence: 'attaching',
    step: 'an ENI of another zone',
    simulated: 'invalid InvalidParameterCombination',
    moto: 'ok',
    right: 'simulated',
    why: 'Instance and network interface must be in the same Availability Zone.',
    source: `${GUIDE}/network-interface-attachments.html`,
  },
  {
    sequence: 'delete-on-termination',
    step: 'read',
    simulated: true,
    moto: false,
    right: 'simulated',
    why: 'Attachment.DeleteOnTermination is what the request sets. moto ignores it.',
    source: `${REFERENCE}/API_ModifyNetworkInterfaceAttribute.html`,
  },
  {
    sequence: 'delete-on-termination',
    step: "of an attachment that is not the ENI's",
    simulated: 'not-found InvalidAttachmentID.NotFound',
    moto: 'ok',
    right: 'simulated',
    why: 'InvalidAttachmentID.NotFound: the specified network interface attachment does not exist.',
    source: ERRORS,
  },
  {
    sequence: 'security groups',
    step: 'then it has',
    simulated: ['another'],
    moto: ['another', 'asked for'],
    right: 'simulated',
    why: 'The list of groups that is given replaces the ones that the interface has. moto adds to them.',
    source: `${REFERENCE}/API_ModifyNetworkInterfaceAttribute.html`,
  },
  {
    sequence: 'security groups',
    step: 'one that does not exist',
    simulated: 'not-found InvalidGroup.NotFound',
    moto: 'ok',
    right: 'simulated',
    why: 'InvalidGroup.NotFound: the specified security group does not exist.',
    source: ERRORS,
  },
  {
    sequence: 'security groups',
    step: 'one of another VPC',
    simulated: 'invalid InvalidParameter',
    moto: 'ok',
    right: 'simulated',
    why: 'InvalidParameter, among others for a security group that is not in the VPC of the interface.',
    source: ERRORS,
  },
  {
    sequence: 'addresses',
    step: 'assign three',
    simulated: 3,
    // The adapter does not take an answer without the addresses for one that assigned none.
    moto: 'unknown',
    right: 'simulated',
    why: 'The answer holds assignedPrivateIpAddressesSet. moto leaves it out.',
    source: `${REFERENCE}/API_AssignPrivateIpAddresses.html`,
  },
  {
    sequence: 'addresses',
    step: 'more than the type allows',
    simulated: 'eni-full PrivateIpAddressLimitExceeded',
    moto: 'unknown',
    right: 'simulated',
    why: 'PrivateIpAddressLimitExceeded: the limit of private addresses per interface for that instance type.',
    source: ERRORS,
  },
  {
    sequence: 'addresses',
    step: 'more than the subnet has',
    simulated: 'subnet-full InsufficientFreeAddressesInSubnet',
    moto: 'unknown',
    right: 'simulated',
    why: 'InsufficientFreeAddressesInSubnet: the subnet has too few free private addresses for the request.',
    source: ERRORS,
  },
  {
    sequence: 'addresses',
    step: 'unassign again',
    simulated: 'not-found InvalidParameterValue',
    moto: 'ok',
    right: 'simulated',
    why: 'InvalidParameterValue: a value that cannot be used; its text says that the address is not assigned.',
    source: ERRORS,
  },
  {
    sequence: 'addresses',
    step: 'unassign the primary address',
    simulated: 'invalid InvalidParameterValue',
    moto: 'ok',
    right: 'simulated',
    why: 'The action is for secondary addresses: a primary private address cannot be taken off its interface.',
    source: `${REFERENCE}/API_UnassignPrivateIpAddresses.html`,
  },
];
