// The account in which every Ec2 is tried, and what its rules have in common.

import assert from 'node:assert/strict';
import type { AttachmentId, EniId, InstanceId, SecurityGroupId, SubnetId, VpcId } from '../domain/ids.ts';
import type { InstanceLimits } from '../domain/instance/instance-limits.ts';
import type { Clock } from './clock.ts';
import type { CreateEniRequest, Ec2, Ec2Eni, Ec2Failure, Ec2Outcome } from './ec2.ts';

export interface Ec2ContractWorld {
  readonly ec2: Ec2;
  readonly clock: Clock;
  /** Runs work to its end; a simulated world moves its time meanwhile. */
  run<T>(work: () => Promise<T>): Promise<T>;
  readonly vpcId: VpcId;
  /** With room, in the instance's zone. It alone has an IPv6 block. */
  readonly subnetId: SubnetId;
  readonly otherZoneSubnetId: SubnetId;
  /** A /28 with nothing in it: 11 addresses. It alone carries the tags `purpose=pods` and `team=a*`. */
  readonly smallSubnetId: SubnetId;
  readonly securityGroupId: SecurityGroupId;
  readonly otherVpcSecurityGroupId: SecurityGroupId;
  /** Running, with its primary ENI alone; of a type with one network card. */
  readonly instanceId: InstanceId;
  readonly limits: InstanceLimits;
}

export const NO_ENI: EniId = 'eni-0123456789abcdef0' as EniId;
export const NO_SUBNET: SubnetId = 'subnet-0123456789abcdef0' as SubnetId;
export const NO_VPC: VpcId = 'vpc-0123456789abcdef0' as VpcId;
export const NO_GROUP: SecurityGroupId = 'sg-0123456789abcdef0' as SecurityGroupId;
export const NO_INSTANCE: InstanceId = 'i-0123456789abcdef0' as InstanceId;
export const NO_ATTACHMENT: AttachmentId = 'eni-attach-0123456789abcdef0' as AttachmentId;

const POLL_MS = 1000;
const POLL_MAX = 120;

export function value<T>(outcome: Ec2Outcome<T>): T {
  if (outcome.kind !== 'ok') assert.fail(`expected an answer, got ${JSON.stringify(outcome)}`);
  return outcome.value;
}

export function failsWith(outcome: Ec2Outcome<unknown>, kind: Ec2Failure['kind'], code: string): void {
  assert.equal(outcome.kind, 'failed', JSON.stringify(outcome));
  if (outcome.kind !== 'failed') return;
  assert.deepEqual({ kind: outcome.failure.kind, code: outcome.failure.code }, { kind, code });
  assert.notEqual(outcome.failure.message, '');
}

/** Describes are eventually consistent, so what must be seen is waited for. */
export async function eventually(
  world: Ec2ContractWorld,
  what: string,
  holds: () => Promise<boolean>,
): Promise<void> {
  for (let poll = 0; poll < POLL_MAX; poll++) {
    if (await holds()) return;
    await world.clock.sleep(POLL_MS, 'poll');
  }
  assert.fail(`never: ${what}`);
}

let tokenCount = 0;

export const creation = (
  world: Ec2ContractWorld,
  change: Partial<CreateEniRequest> = {},
): CreateEniRequest => {
  tokenCount += 1;
  return {
    clientToken: `contract-${world.clock.now()}-${tokenCount}`,
    subnetId: world.subnetId,
    securityGroupIds: [world.securityGroupId],
    secondaryAddressCount: 2,
    prefixCount: 0,
    ipv6PrefixCount: 0,
    description: 'contract',
    tags: { purpose: 'contract' },
    ...change,
  };
};

export const create = async (
  world: Ec2ContractWorld,
  change: Partial<CreateEniRequest> = {},
): Promise<Ec2Eni> => value(await world.ec2.createNetworkInterface(creation(world, change)));

type WithEc2 = Pick<Ec2ContractWorld, 'ec2'>;

export const read = async (world: WithEc2, eniId: EniId): Promise<Ec2Eni | undefined> =>
  value(await world.ec2.describeNetworkInterfaces({ eniIds: [eniId] }))[0];

export const freeCount = async (world: WithEc2, subnetId: SubnetId): Promise<number | undefined> =>
  value(await world.ec2.describeSubnets([subnetId]))[0]?.freeAddressCount;

export const attach = (
  world: Pick<Ec2ContractWorld, 'ec2' | 'instanceId'>,
  eniId: EniId,
  deviceIndex: number,
): Promise<Ec2Outcome<AttachmentId>> =>
  world.ec2.attachNetworkInterface({
    eniId,
    instanceId: world.instanceId,
    deviceIndex,
    networkCardIndex: 0,
  });

export async function createAttached(world: Ec2ContractWorld, deviceIndex: number): Promise<Ec2Eni> {
  const { eniId } = await create(world);
  value(await attach(world, eniId, deviceIndex));
  await eventually(world, `${eniId} is in use`, async () => (await read(world, eniId))?.status === 'in-use');
  const eni = await read(world, eniId);
  assert.ok(eni);
  return eni;
}

export type Ec2Rule = (title: string, body: (world: Ec2ContractWorld) => Promise<void>) => void;
