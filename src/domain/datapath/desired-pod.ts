// The desired wiring of one pod: names and MACs that follow from the pod alone.

import type { Ip } from '../address/ip.ts';
import { assert } from '../result.ts';
import type { DatapathSettings } from './datapath-settings.ts';
import type { PodDatapath } from './pod-datapath.ts';
import { sha1Hex } from './sha1.ts';

export interface DesiredPodInput {
  readonly pod: { readonly namespace: string; readonly name: string };
  /** CNI_NETNS. */
  readonly netnsPath: string;
  /** CNI_IFNAME. */
  readonly ifName: string;
  /** One IPv4 and/or one IPv6 address. */
  readonly addresses: readonly Ip[];
  readonly settings: Pick<DatapathSettings, 'mtu' | 'vethPrefix'>;
}

const HASH_DIGITS = 11;
const PREFIX_CHARACTERS_MAX = 4;

/**
 * Name of the pod's host link: prefix + first 11 hex digits of sha1("namespace.name"). Tools that know the AWS CNI find
 * a pod's link by this rule. With the longest prefix it has 15 characters, the kernel's limit (IFNAMSIZ - 1).
 */
export function hostLinkName(
  prefix: string,
  pod: { readonly namespace: string; readonly name: string },
): string {
  assert(
    prefix.length >= 1 && prefix.length <= PREFIX_CHARACTERS_MAX,
    `a link prefix has 1 to ${PREFIX_CHARACTERS_MAX} characters, got ${JSON.stringify(prefix)}`,
  );
  return `${prefix}${sha1Hex(`${pod.namespace}.${pod.name}`).slice(0, HASH_DIGITS)}`;
}

/**
 * The wiring of the pod. Both MACs are derived, so that CHECK can tell them without a record, and so that udev's
 * MACAddressPolicy, which rewrites random ones, leaves them alone.
 */
export function desiredPod({ pod, netnsPath, ifName, addresses, settings }: DesiredPodInput): PodDatapath {
  const hostLink = hostLinkName(settings.vethPrefix, pod);
  return {
    hostLink,
    hostMac: hostLinkMac(pod),
    podMac: derivedMac(`pod ${pod.namespace}.${pod.name} ${ifName}`),
    netnsPath,
    podLink: ifName,
    addresses,
    mtu: settings.mtu,
  };
}

/** MAC of the pod's host link. */
export const hostLinkMac = (pod: { readonly namespace: string; readonly name: string }): string =>
  derivedMac(`host ${pod.namespace}.${pod.name}`);

/** A MAC that belongs to no vendor: locally administered (bit 1 of the first byte) and unicast (bit 0 clear), IEEE 802. */
function derivedMac(seed: string): string {
  const bytes = sha1Hex(seed).match(/../g) ?? [];
  const [first = '0', ...rest] = bytes.slice(0, 6);
  const firstByte = (Number.parseInt(first, 16) & 0xfc) | 0x02;
  return [firstByte.toString(16).padStart(2, '0'), ...rest].join(':');
}
