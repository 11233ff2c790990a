// Sequences of calls that every EC2 is asked for, and what each step is told to have answered.

import { familyOf } from '../../src/domain/address/ip.ts';
import type { AttachmentId, EniId, SecurityGroupId } from '../../src/domain/ids.ts';
import { eniRequest } from '../../src/lab/ec2/testing.ts';
import type { CreateEniRequest, Ec2Eni, Ec2Outcome } from '../../src/ports/ec2.ts';
import {
  attach,
  freeCount,
  NO_ATTACHMENT,
  NO_ENI,
  NO_GROUP,
  NO_INSTANCE,
  NO_SUBNET,
  read,
  value,
} from '../../src/ports/ec2-world.contract.ts';
import type { Account } from './moto-account.ts';

/** Step -> its answer, in words that hold no ids. */
export type Answers = Map<string, unknown>;

export interface Sequence {
  readonly title: string;
  run(account: Account, answers: Answers): Promise<void>;
}

/** Another one than is read later: there are EC2s that make it up when it is asked for. */
const NO_GROUP_TO_USE = 'sg-0fedcba9876543210' as SecurityGroupId;

const SETTLE_POLLS_MAX = 50;

/** What was answered, or the failure's kind and code. */
function told<T>(outcome: Ec2Outcome<T>, show: (value: T) => unknown = () => 'ok'): unknown {
  if (outcome.kind === 'ok') return show(outcome.value);
  return outcome.kind === 'failed' ? `${outcome.failure.kind} ${outcome.failure.code}` : 'unknown';
}

let tokenCount = 0;

function creation(account: Account, change: Partial<CreateEniRequest> = {}): CreateEniRequest {
  tokenCount += 1;
  return eniRequest(account, {
    clientToken: `sequence-${tokenCount}`,
    securityGroupIds: [account.securityGroupId],
    secondaryAddressCount: 2,
    description: 'conformance & <more>',
    tags: { purpose: 'conformance' },
    ...change,
  });
}

const create = async (account: Account, change: Partial<CreateEniRequest> = {}): Promise<Ec2Eni> =>
  value(await account.ec2.createNetworkInterface(creation(account, change)));

/** The ENI once nothing is on its way on or off. */
async function settled(account: Account, eniId: EniId): Promise<Ec2Eni | undefined> {
  for (let poll = 0; poll < SETTLE_POLLS_MAX; poll++) {
    const eni = await read(account, eniId);
    if (eni?.status !== 'attaching' && eni?.status !== 'detaching') return eni;
    await account.clock.sleep(1000, 'poll');
  }
  throw new Error(`${eniId} does not settle`);
}

async function attached(account: Account, deviceIndex: number): Promise<Ec2Eni & { id: AttachmentId }> {
  const { eniId } = await create(account);
  const id = value(await attach(account, eniId, deviceIndex));
  const eni = await settled(account, eniId);
  if (eni === undefined) throw new Error(`${eniId} is gone`);
  return { ...eni, id };
}

const shape = (account: Account, eni: Ec2Eni | undefined): unknown =>
  eni && {
    status: eni.status,
    isAttached: eni.attachment !== undefined,
    inSubnet: eni.subnetId === account.subnetId && eni.vpcId === account.vpcId,
    groups: eni.securityGroupIds.map((id) => (id === account.securityGroupId ? 'asked for' : 'another')),
    addressCount: new Set([eni.primaryAddress, ...eni.addresses]).size,
    description: eni.description,
    tags: eni.tags,
    hasMac: /^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/.test(eni.mac),
  };

const creating: Sequence = {
  title: 'creating',
  run: async (account, answers) => {
    const { ec2 } = account;
    const refused = async (change: Partial<CreateEniRequest>): Promise<unknown> =>
      told(await ec2.createNetworkInterface(creation(account, change)));
    const eni = await create(account, { tags: { purpose: 'conformance', intent: 'one' } });
    answers.set('a new ENI', shape(account, eni));
    answers.set('read by id', shape(account, await read(account, eni.eniId)));
    const byTag = (key: string, text: string): Promise<Ec2Outcome<readonly Ec2Eni[]>> =>
      ec2.describeNetworkInterfaces({ eniIds: [eni.eniId], tag: { key, value: text } });
    answers.set(
      'read by tag',
      told(await byTag('intent', 'one'), (found) => found.length),
    );
    answers.set(
      "read by a tag's other value",
      told(await byTag('intent', 'two'), (found) => found.length),
    );
    const plain = await create(account, { securityGroupIds: [] });
    answers.set('without groups', (shape(account, plain) as { groups: unknown }).groups);
    answers.set('in no subnet', await refused({ subnetId: NO_SUBNET }));
    answers.set('with no group', await refused({ securityGroupIds: [NO_GROUP_TO_USE] }));
    answers.set(
      'with a group of another VPC',
      await refused({ securityGroupIds: [account.otherVpcSecurityGroupId] }),
    );
    answers.set(
      'with more addresses than the subnet has',
      await refused({ subnetId: account.smallSubnetId, secondaryAddressCount: 11 }),
    );
  },
};

const tokens: Sequence = {
  title: 'client tokens',
  run: async (account, answers) => {
    const { ec2 } = account;
    const request = creation(account);
    const first = value(await ec2.createNetworkInterface(request));
    const again = await ec2.createNetworkInterface(request);
    answers.set(
      'the same request again',
      told(again, (eni) => (eni.eniId === first.eniId ? 'the same' : 'another')),
    );
    const other = await ec2.createNetworkInterface({ ...request, secondaryAddressCount: 1 });
    answers.set('another request with the token', told(other));
  },
};

const attaching: Sequence = {
  title: 'attaching',
  run: async (account, answers) => {
    const { ec2, instanceId } = account;
    const { eniId } = await create(account);
    answers.set('attach', told(await attach(account, eniId, 1)));
    const eni = await settled(account, eniId);
    const { deviceIndex, networkCardIndex, deleteOnTermination, status } = eni?.attachment ?? {};
    answers.set('attached', {
      status: eni?.status,
      instance: eni?.attachment?.instanceId === instanceId,
      attachment: { deviceIndex, networkCardIndex, deleteOnTermination, status },
    });
    const byInstance = await ec2.describeNetworkInterfaces({ instanceIds: [instanceId] });
    answers.set(
      'ENIs of the instance',
      told(byInstance, (enis) => enis.length),
    );
    answers.set('delete while attached', told(await ec2.deleteNetworkInterface({ eniId })));
    // A refusal that does not come must not end the sequence: what follows asks with ENIs of its own.
    const spare = await attached(account, 2);
    const third = await create(account);
    answers.set('a device index that is taken', told(await attach(account, third.eniId, 2)));
    answers.set('an ENI that is attached', told(await attach(account, spare.eniId, 3)));
    const fourth = await create(account);
    answers.set('more ENIs than the type has', told(await attach(account, fourth.eniId, 3)));
    const elsewhere = await create(account, { subnetId: account.otherZoneSubnetId });
    answers.set('an ENI of another zone', told(await attach(account, elsewhere.eniId, 4)));
    answers.set('no ENI', told(await attach(account, NO_ENI, 5)));
    const fifth = await create(account);
    answers.set('no instance', told(await attach({ ...account, instanceId: NO_INSTANCE }, fifth.eniId, 1)));
  },
};

const modifying: Sequence = {
  title: 'delete-on-termination',
  run: async (account, answers) => {
    const { eniId, id } = await attached(account, 1);
    answers.set('set', told(await account.ec2.setDeleteOnTermination({ eniId, attachmentId: id })));
    answers.set('read', (await read(account, eniId))?.attachment?.deleteOnTermination);
    const wrong = await account.ec2.setDeleteOnTermination({ eniId, attachmentId: NO_ATTACHMENT });
    answers.set("of an attachment that is not the ENI's", told(wrong));
    const none = await account.ec2.setDeleteOnTermination({ eniId: NO_ENI, attachmentId: id });
    answers.set('of no ENI', told(none));
  },
};

const regrouping: Sequence = {
  title: 'security groups',
  run: async (account, answers) => {
    const { ec2, securityGroupId } = account;
    const { eniId } = await attached(account, 1);
    const [fallback] = (await create(account, { securityGroupIds: [] })).securityGroupIds;
    if (fallback === undefined) throw new Error('an ENI without groups gets one');
    const set = async (...securityGroupIds: SecurityGroupId[]): Promise<unknown> =>
      told(await ec2.setSecurityGroups({ eniId, securityGroupIds }));
    const groups = async (): Promise<unknown> =>
      (await read(account, eniId))?.securityGroupIds
        .map((id) => (id === securityGroupId ? 'asked for' : 'another'))
        .sort();
    answers.set('another', await set(fallback));
    answers.set('then it has', await groups());
    answers.set('two', await set(securityGroupId, fallback));
    answers.set('then it has both', await groups());
    answers.set('one that does not exist', await set(NO_GROUP_TO_USE));
    answers.set('one of another VPC', await set(account.otherVpcSecurityGroupId));
    const none = await ec2.setSecurityGroups({ eniId: NO_ENI, securityGroupIds: [securityGroupId] });
    answers.set('of no ENI', told(none));
  },
};

const leaving: Sequence = {
  title: 'detaching and deleting',
  run: async (account, answers) => {
    const { ec2 } = account;
    const { eniId, id } = await attached(account, 1);
    answers.set('detach', told(await ec2.detachNetworkInterface({ attachmentId: id })));
    const eni = await settled(account, eniId);
    answers.set('detached', { status: eni?.status, isAttached: eni?.attachment !== undefined });
    answers.set('detach again', told(await ec2.detachNetworkInterface({ attachmentId: id })));
    answers.set('delete', told(await ec2.deleteNetworkInterface({ eniId })));
    answers.set('deleted', (await read(account, eniId)) === undefined);
    answers.set('delete again', told(await ec2.deleteNetworkInterface({ eniId })));
    const [instance] = value(await ec2.describeInstances([account.instanceId]));
    const primary = instance && (await read(account, instance.primaryEniId));
    const attachmentId = primary?.attachment?.attachmentId ?? NO_ATTACHMENT;
    answers.set('detach the primary ENI', told(await ec2.detachNetworkInterface({ attachmentId })));
  },
};

const addressing: Sequence = {
  title: 'addresses',
  run: async (account, answers) => {
    const { ec2, smallSubnetId } = account;
    const { eniId, addresses, primaryAddress } = await attached(account, 1);
    const assigned = await ec2.assignPrivateIpAddresses({ eniId, count: 3 });
    answers.set(
      'assign three',
      told(assigned, (added) => new Set([...addresses, ...added]).size - addresses.length),
    );
    answers.set('assigned', (await read(account, eniId))?.addresses.length);
    answers.set('more than the type allows', told(await ec2.assignPrivateIpAddresses({ eniId, count: 20 })));
    answers.set('to no ENI', told(await ec2.assignPrivateIpAddresses({ eniId: NO_ENI, count: 1 })));
    const some = addresses.slice(0, 1);
    answers.set('unassign', told(await ec2.unassignPrivateIpAddresses({ eniId, addresses: some })));
    answers.set(
      'unassigned',
      (await read(account, eniId))?.addresses.some((one) => some.includes(one)),
    );
    answers.set('unassign again', told(await ec2.unassignPrivateIpAddresses({ eniId, addresses: some })));
    const primary = await ec2.unassignPrivateIpAddresses({ eniId, addresses: [primaryAddress] });
    answers.set('unassign the primary address', told(primary));
    answers.set('the primary address stays', (await read(account, eniId))?.primaryAddress === primaryAddress);
    const free = await freeCount(account, smallSubnetId);
    const small = await create(account, { subnetId: smallSubnetId });
    answers.set('free addresses of a /28', free);
    answers.set('and after an ENI of three', await freeCount(account, smallSubnetId));
    const over = await ec2.assignPrivateIpAddresses({ eniId: small.eniId, count: 9 });
    answers.set('more than the subnet has', told(over));
  },
};

const reading: Sequence = {
  title: 'reading',
  run: async (account, answers) => {
    const { ec2, vpcId, subnetId, securityGroupId, instanceId } = account;
    const none = [
      await ec2.describeSubnets([NO_SUBNET]),
      await ec2.describeSecurityGroups([NO_GROUP]),
      await ec2.describeInstances([NO_INSTANCE]),
      await ec2.describeNetworkInterfaces({ eniIds: [NO_ENI] }),
    ];
    answers.set(
      'what does not exist',
      none.map((outcome) => told<readonly unknown[]>(outcome, (found) => found.length)),
    );
    const types = await ec2.describeInstanceTypes(['m5.large']);
    answers.set(
      'the limits of m5.large',
      told(types, (found) => found),
    );
    answers.set(
      'no type',
      told(await ec2.describeInstanceTypes(['x0.none']), (found) => found.length),
    );
    answers.set(
      'the VPC',
      told(await ec2.describeVpcs([vpcId]), (found) =>
        // Of IPv6 blocks nobody chooses the address: AWS does, and moto.
        found.map(({ cidrs }) => cidrs.filter((cidr) => familyOf(cidr) === 4)),
      ),
    );
    const subnets = await ec2.describeSubnets([subnetId]);
    answers.set(
      'the subnet',
      told(subnets, (found) => found.map((one) => [one.cidr, one.vpcId === vpcId, one.freeAddressCount])),
    );
    const groups = await ec2.describeSecurityGroups([securityGroupId]);
    answers.set(
      'the group',
      told(groups, (found) => found.map((group) => group.vpcId === vpcId)),
    );
    const [instance] = value(await ec2.describeInstances([instanceId]));
    const eni = instance && (await read(account, instance.primaryEniId));
    answers.set('the instance', {
      type: instance?.instanceType,
      state: instance?.state,
      groups: instance?.primarySecurityGroupIds.map((id) => id === securityGroupId),
      primaryIsItsOwn: eni?.attachment?.instanceId === instanceId && eni.attachment.deviceIndex === 0,
      sameAddress: eni?.primaryAddress === instance?.primaryAddress,
    });
  },
};

export const sequences: readonly Sequence[] = [
  creating,
  tokens,
  attaching,
  modifying,
  regrouping,
  leaving,
  addressing,
  reading,
];
