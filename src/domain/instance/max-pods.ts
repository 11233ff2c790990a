// How many pods a node can really hold: the addresses that its ENIs can carry, and the ceiling that AWS advises.

import { LISTED_IPV6_ADDRESS_COUNT } from '../address/ipv6-prefix.ts';
import type { InstanceLimits } from './instance-limits.ts';
import { ADDRESSES_PER_PREFIX, hasPrefixes, slotsPerEni } from './slots.ts';

export interface MaxPodsInput {
  readonly limits: InstanceLimits;
  /** On: the primary ENI serves no pods. */
  readonly customNetworking: boolean;
  /** Whether slots hold prefixes (/28) instead of single addresses. Has no effect on types that cannot have prefixes. */
  readonly prefix: boolean;
  /** Whether pods have IPv6 alone: then a /80 of one ENI is enough for more pods than any node runs. */
  readonly ipv6Only?: boolean;
  /** ENIs that serve no pods besides the primary one, such as a trunk; 0 when absent. */
  readonly furtherReservedEniCount?: number;
}

export interface MaxPods {
  /** Pods that can get an address, plus those on the host's network. */
  readonly addressSum: number;
  /** The ceiling for the instance's size. */
  readonly cap: number;
  /** What kubelet should be told: the smaller of the two. */
  readonly maxPods: number;
  /** The sum written out, for people. */
  readonly explanation: string;
}

/** Pods that every node runs on the host's network, which need no address: the network agent and kube-proxy. */
const HOST_NETWORK_POD_COUNT = 2;
// https://docs.aws.amazon.com/eks/latest/userguide/choosing-instance-type.html: kubelet's tested limits.
const LARGE_VCPU_COUNT = 30;
const SMALL_CAP = 110;
const LARGE_CAP = 250;

/**
 * (ENIs - reserved) x (addresses per ENI - 1) [x 16 with prefixes] + 2, capped at 110 below 30 vCPUs and at 250 from
 * there up. Without IPv4 an ENI has the listed addresses of its /80. The same rule for every operating system and every way to start a node (ec2.md, max pods).
 */
export function maxPods(input: MaxPodsInput): MaxPods {
  const { limits, customNetworking, prefix, ipv6Only = false, furtherReservedEniCount = 0 } = input;
  const reserved = (customNetworking ? 1 : 0) + furtherReservedEniCount;
  const eniCount = Math.max(0, limits.eniMax - reserved);
  const isByPrefix = prefix && !ipv6Only && hasPrefixes(limits);
  const perSlot = isByPrefix ? ADDRESSES_PER_PREFIX : 1;
  const perEni = ipv6Only ? LISTED_IPV6_ADDRESS_COUNT : slotsPerEni(limits) * perSlot;
  const addressSum = eniCount * perEni + HOST_NETWORK_POD_COUNT;
  const cap = limits.vcpuCount < LARGE_VCPU_COUNT ? SMALL_CAP : LARGE_CAP;
  const capped = Math.min(addressSum, cap);
  const enis = `${limits.eniMax} ENIs${limits.networkCardCount > 1 ? ' of network card 0' : ''}`;
  const sum =
    `${reserved === 0 ? enis : `(${enis} - ${reserved} reserved)`} x ` +
    `${ipv6Only ? `${perEni} addresses of an IPv6 prefix` : slotText(limits, isByPrefix)} + ` +
    `${HOST_NETWORK_POD_COUNT} on the host network = ${addressSum}`;
  const noPrefixes = prefix && !ipv6Only && !isByPrefix ? '; its hypervisor (xen) has no prefixes' : '';
  const ceiling = `the ceiling for ${limits.vcpuCount} vCPUs is ${cap}`;
  return {
    addressSum,
    cap,
    maxPods: capped,
    explanation: `${limits.instanceType}: ${sum}${noPrefixes}; ${ceiling}; so ${capped}`,
  };
}

const slotText = ({ ipv4PerEniMax }: InstanceLimits, isByPrefix: boolean): string =>
  `(${ipv4PerEniMax} addresses - 1)${isByPrefix ? ` x ${ADDRESSES_PER_PREFIX}` : ''}`;
