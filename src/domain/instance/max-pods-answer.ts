// What `eniwhere max-pods` answers for one instance type: the figure with its sum, or a named refusal. Never a guess.

import { LISTED_IPV6_ADDRESS_COUNT } from '../address/ipv6-prefix.ts';
import type { InstanceLimits } from './instance-limits.ts';
import { type MaxPods, maxPods } from './max-pods.ts';
import { ADDRESSES_PER_PREFIX, hasPrefixes, podEniMax, slotsPerEni } from './slots.ts';

export interface MaxPodsQuestion {
  readonly instanceType: string;
  readonly customNetworking: boolean;
  readonly prefix: boolean;
  /** Pods have IPv6 alone. */
  readonly ipv6Only?: boolean;
  readonly furtherReservedEniCount: number;
  /** ENIConfigs whose pools the node holds side by side; the first is the node's own. Empty: one pool. */
  readonly eniConfigs: readonly string[];
}

export interface MaxPodsFigures extends MaxPods {
  readonly kind: 'MaxPods';
  readonly instanceType: string;
  /** Memory that kubelet keeps for itself at this number of pods, MiB. */
  readonly reservedMemoryMib: number;
  /** What each ENIConfig's pods can have at most while every other one holds a single ENI. Empty for one pool. */
  readonly shares: readonly EniConfigShare[];
  /** What a person may not expect, in sentences. */
  readonly notes: readonly string[];
}

export interface EniConfigShare {
  readonly eniConfig: string;
  readonly eniMax: number;
  readonly addressMax: number;
}

export interface MaxPodsRefusal {
  readonly kind: 'Refused';
  readonly instanceType: string;
  readonly code: 'UnknownInstanceType' | 'NoEniForPods' | 'TooManyEniConfigs' | 'NoIpv6Prefixes';
  readonly message: string;
  readonly fix: string;
}

export type MaxPodsAnswer = MaxPodsFigures | MaxPodsRefusal;

// https://github.com/awslabs/amazon-eks-ami: kubeReserved memory by the number of pods, the effective one.
const RESERVED_BASE_MIB = 255;
const RESERVED_PER_POD_MIB = 11;

/** `limits` undefined means that neither EC2 nor the table knows the type. */
export function answerMaxPods(question: MaxPodsQuestion, limits: InstanceLimits | undefined): MaxPodsAnswer {
  const { instanceType, customNetworking, prefix, furtherReservedEniCount, eniConfigs } = question;
  const { ipv6Only = false } = question;
  if (limits === undefined) return unknownType(instanceType);
  if (ipv6Only && !hasPrefixes(limits)) return noIpv6Prefixes(instanceType);
  const found = maxPods({ limits, customNetworking, prefix, ipv6Only, furtherReservedEniCount });
  const forPods = (customNetworking ? podEniMax(limits) : limits.eniMax) - furtherReservedEniCount;
  if (forPods < 1) return noEniForPods(question, limits);
  if (eniConfigs.length > forPods)
    return {
      kind: 'Refused',
      instanceType,
      code: 'TooManyEniConfigs',
      message: `${instanceType} has ${forPods} ENIs for pods and cannot hold pools of ${eniConfigs.length} ENIConfigs: an ENI belongs to one`,
      fix: `name at most ${forPods} ENIConfigs for the pods of one node, or take a larger instance type`,
    };
  const notes = notesOf(question, limits);
  return {
    kind: 'MaxPods',
    instanceType,
    ...found,
    reservedMemoryMib: RESERVED_BASE_MIB + RESERVED_PER_POD_MIB * found.maxPods,
    shares: eniConfigs.length < 2 ? [] : sharesOf(question, limits, forPods),
    notes,
  };
}

function sharesOf(
  { eniConfigs, prefix, ipv6Only = false }: MaxPodsQuestion,
  limits: InstanceLimits,
  forPods: number,
): readonly EniConfigShare[] {
  const eniMax = forPods - (eniConfigs.length - 1);
  const perSlot = prefix && hasPrefixes(limits) ? ADDRESSES_PER_PREFIX : 1;
  const perEni = ipv6Only ? LISTED_IPV6_ADDRESS_COUNT : slotsPerEni(limits) * perSlot;
  return eniConfigs.map((eniConfig) => ({
    eniConfig,
    eniMax,
    addressMax: eniMax * perEni,
  }));
}

function notesOf({ prefix, customNetworking }: MaxPodsQuestion, limits: InstanceLimits): readonly string[] {
  const { instanceType, networkCardCount } = limits;
  return [
    ...(customNetworking
      ? []
      : [
          'this is the figure of the AWS VPC CNI, whose primary ENI serves pods; with Eniwhere it never does: use --custom-networking',
        ]),
    ...(networkCardCount > 1
      ? [`${instanceType} has ${networkCardCount} network cards; only the ENIs of card 0 serve pods`]
      : []),
    ...(prefix && !hasPrefixes(limits)
      ? [`${instanceType} is not built on Nitro, so EC2 gives it no prefixes: it counts single addresses`]
      : []),
  ];
}

const unknownType = (instanceType: string): MaxPodsRefusal => ({
  kind: 'Refused',
  instanceType,
  code: 'UnknownInstanceType',
  message: `instance type "${instanceType}" is not known`,
  fix: 'check its spelling; for a type newer than the table, let EC2 be asked: set AWS credentials and --region',
});

const noIpv6Prefixes = (instanceType: string): MaxPodsRefusal => ({
  kind: 'Refused',
  instanceType,
  code: 'NoIpv6Prefixes',
  message: `${instanceType} is not built on Nitro: EC2 gives it no IPv6 prefixes, and its pods no IPv6 addresses`,
  fix: 'take a Nitro instance type, or give pods IPv4',
});

const noEniForPods = (
  { instanceType, customNetworking, furtherReservedEniCount }: MaxPodsQuestion,
  { eniMax }: InstanceLimits,
): MaxPodsRefusal => ({
  kind: 'Refused',
  instanceType,
  code: 'NoEniForPods',
  message:
    `${instanceType} has ${eniMax === 1 ? '1 ENI' : `${eniMax} ENIs`}` +
    (customNetworking ? ', the primary one serves no pods under custom networking' : '') +
    `${furtherReservedEniCount > 0 ? `, and ${furtherReservedEniCount} more are reserved` : ''}: none is left for pods`,
  fix: 'take an instance type with more ENIs on network card 0, or reserve fewer',
});
