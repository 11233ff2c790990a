// The Ec2 port over the simulated EC2.

import { familyOf } from '../../domain/address/ip.ts';
import type { EniId } from '../../domain/ids.ts';
import type { Result } from '../../domain/result.ts';
import type { Ec2, Ec2Failure, Ec2Reader, Ec2Writer } from '../../ports/ec2.ts';
import type { Random } from '../../ports/random.ts';
import { chance } from '../kernel/draw.ts';
import { type Api, type Caller, reading } from './api.ts';
import { attachEni, detachEni } from './attachment-operations.ts';
import {
  describeEnis,
  describeInstances,
  describeSubnets,
  drawMoment,
  findSubnets,
  type Moment,
  seen,
} from './describe.ts';
import { eniNotFound } from './ec2-errors.ts';
import {
  assignAddresses,
  createEniOnce,
  deleteEni,
  setDeleteOnTermination,
  setEniGroups,
  unassignAddresses,
} from './eni-operations.ts';
import { assignPrefixes, unassignPrefixes } from './prefix-operations.ts';
import type { Region } from './region.ts';

export interface ClientContext {
  readonly api: Api;
  readonly region: Region;
  readonly random: Random;
  readonly caller: Caller;
}

export const createSimEc2Client = (context: ClientContext): Ec2 => ({
  ...readerOf(context),
  ...writerOf(context),
});

function readerOf({ api, region, random, caller }: ClientContext): Ec2Reader {
  const view = (staleMs: number): { moment: Moment; random: Random } => ({
    moment: drawMoment(region, random, staleMs),
    random,
  });
  return {
    describeInstances: (ids) =>
      api.call(caller, {
        action: 'DescribeInstances',
        subject: '',
        effect: reading((staleMs) => describeInstances(region, ids, view(staleMs))),
      }),
    describeNetworkInterfaces: (filter) =>
      api.call(caller, {
        action: 'DescribeNetworkInterfaces',
        ...(Object.values(filter).every((part) => part === undefined)
          ? { bucket: 'DescribeNetworkInterfaces (unfiltered)' }
          : {}),
        subject: '',
        effect: reading((staleMs) => describeEnis(region, filter, view(staleMs))),
      }),
    describeSubnets: (ids) =>
      api.call(caller, {
        action: 'DescribeSubnets',
        subject: '',
        effect: reading((staleMs) => describeSubnets(region, ids, view(staleMs))),
      }),
    findSubnets: (filter) =>
      api.call(caller, {
        action: 'DescribeSubnets',
        subject: '',
        effect: reading((staleMs) => findSubnets(region, filter, view(staleMs))),
      }),
    describeSecurityGroups: (ids) =>
      api.call(caller, {
        action: 'DescribeSecurityGroups',
        subject: '',
        effect: reading((staleMs) =>
          seen(region.securityGroups, ids, view(staleMs)).map(({ securityGroupId, vpcId }) => ({
            securityGroupId,
            vpcId,
          })),
        ),
      }),
    describeVpcs: (ids) =>
      api.call(caller, {
        action: 'DescribeVpcs',
        subject: '',
        effect: reading((staleMs) =>
          seen(region.vpcs, ids, view(staleMs)).map(({ vpcId, cidrs }) => ({ vpcId, cidrs })),
        ),
      }),
    describeInstanceTypes: (types) =>
      api.call(caller, {
        action: 'DescribeInstanceTypes',
        subject: '',
        effect: reading(() =>
          types.flatMap((type) => {
            const limits = region.instanceLimits.get(type);
            return limits === undefined ? [] : [limits];
          }),
        ),
      }),
  };
}

function writerOf(context: ClientContext): Ec2Writer {
  const { api, region, caller } = context;
  const onEni = untilKnown(context);
  return {
    createNetworkInterface: (request) =>
      api.call(caller, {
        action: 'CreateNetworkInterface',
        subject: request.subnetId,
        effect: () => createEniOnce(region, request),
      }),
    attachNetworkInterface: (request) =>
      api.call(caller, {
        action: 'AttachNetworkInterface',
        subject: request.eniId,
        effect: onEni(request.eniId, () => attachEni(region, request)),
      }),
    setDeleteOnTermination: (request) =>
      api.call(caller, {
        action: 'ModifyNetworkInterfaceAttribute',
        subject: request.eniId,
        effect: onEni(request.eniId, () => setDeleteOnTermination(region, request)),
      }),
    setSecurityGroups: (request) =>
      api.call(caller, {
        action: 'ModifyNetworkInterfaceAttribute',
        subject: request.eniId,
        effect: onEni(request.eniId, () => setEniGroups(region, request)),
      }),
    ...addressWriterOf(context),
    detachNetworkInterface: ({ attachmentId }) =>
      api.call(caller, {
        action: 'DetachNetworkInterface',
        subject: attachmentId,
        effect: () => detachEni(region, attachmentId),
      }),
    deleteNetworkInterface: ({ eniId }) =>
      api.call(caller, {
        action: 'DeleteNetworkInterface',
        subject: eniId,
        effect: onEni(eniId, () => deleteEni(region, eniId)),
      }),
  };
}

type AddressWriter = Pick<
  Ec2Writer,
  'assignPrivateIpAddresses' | 'unassignPrivateIpAddresses' | 'assignPrefixes' | 'unassignPrefixes'
>;

function addressWriterOf(context: ClientContext): AddressWriter {
  const { api, region, caller } = context;
  const onEni = untilKnown(context);
  return {
    assignPrivateIpAddresses: (request) =>
      api.call(caller, {
        action: 'AssignPrivateIpAddresses',
        subject: request.eniId,
        effect: onEni(request.eniId, () => assignAddresses(region, request)),
      }),
    unassignPrivateIpAddresses: (request) =>
      api.call(caller, {
        action: 'UnassignPrivateIpAddresses',
        subject: request.eniId,
        effect: onEni(request.eniId, () => unassignAddresses(region, request)),
      }),
    assignPrefixes: (request) =>
      api.call(caller, {
        action: request.family === 6 ? 'AssignIpv6Addresses' : 'AssignPrivateIpAddresses',
        subject: request.eniId,
        effect: onEni(request.eniId, () => assignPrefixes(region, request)),
      }),
    unassignPrefixes: (request) =>
      api.call(caller, {
        action: request.prefixes.some((prefix) => familyOf(prefix) === 6)
          ? 'UnassignIpv6Addresses'
          : 'UnassignPrivateIpAddresses',
        subject: request.eniId,
        effect: onEni(request.eniId, () => unassignPrefixes(region, request)),
      }),
  };
}

/** An ENI that was just made may not be known yet where a call arrives. */
const untilKnown =
  ({ region, random }: ClientContext) =>
  <T>(eniId: EniId, effect: () => Result<T, Ec2Failure>): (() => Result<T, Ec2Failure>) =>
  () => {
    const { notFoundMs, notFoundOdds } = region.profile();
    const createdAt = region.createdAt.get(eniId);
    const isYoung = createdAt !== undefined && region.clock.now() - createdAt < notFoundMs;
    if (!isYoung || !chance(random, notFoundOdds)) return effect();
    region.struck('notFoundOdds');
    return eniNotFound(eniId);
  };
