// Pods of one node under different security groups: what goes between them leaves by one ENI and comes back by another.

import { assert } from '../result.ts';
import { APART_BIT, MARK_MASK } from './host-datapath.ts';

/** The ENIs under one set of security groups. */
export interface ApartPool {
  /** Their numbers. */
  readonly enis: readonly number[];
  /** Addresses of their pods, as nft lists them. */
  readonly elements: readonly string[];
}

interface ApartSet {
  readonly head: string;
  readonly type: string;
  readonly properties: readonly string[];
  readonly elements?: readonly string[];
}

export interface ApartChains {
  readonly sets: readonly ApartSet[];
  readonly chains: readonly {
    readonly name: string;
    readonly base: string;
    readonly rules: readonly string[];
  }[];
}

const hex = (value: number): string => `0x${value.toString(16)}`;
const OTHERS_BITS = hex(~MARK_MASK >>> 0);
/** As long as kube-proxy lets an idle connection live (conntrack-tcp-timeout-established). */
const TRANSLATED_HOURS = 24;
const TRANSLATED_COUNT_MAX = 65_536;
/** Before connection tracking, and before the guard, which needs nothing of it. */
const BASE = 'type filter hook prerouting priority raw - 10; policy accept;';

/**
 * EC2 enforces security groups where a packet passes an ENI. Handed over within the node, it passes none, so packets
 * between pods under different groups take the way through the VPC.
 *
 * Such a packet is in this network namespace twice. Connection tracking would take the second time for another connection
 * and, if kube-proxy has translated the first, for one that clashes with it. So it does not see those packets at all;
 * except the answers of a translated connection, when they come back to the pod that began it: they have to be translated
 * back. Those are known by the packets that began it (`translated`).
 */
export function apartChains(pools: readonly ApartPool[], notPodLink: string): ApartChains {
  const sameGroups = pools.map((_, n) => `ip saddr @groups_${n} ip daddr @groups_${n}`);
  return {
    sets: [
      ...pools.map(({ elements }, n) => ({
        head: `set groups_${n}`,
        type: 'ipv4_addr',
        properties: ['flags interval'],
        elements,
      })),
      {
        head: 'set translated',
        type: 'ipv4_addr . ipv4_addr . inet_proto . inet_service . inet_service',
        properties: [`size ${TRANSLATED_COUNT_MAX}`, 'flags dynamic,timeout', `timeout ${TRANSLATED_HOURS}h`],
      },
    ],
    chains: [
      ...pools.flatMap(({ enis }) => enis).map(apartByEni),
      {
        name: 'apart',
        base: '',
        rules: [
          'ip saddr != @pod_addresses return',
          'ip daddr != @pod_addresses return',
          ...sameGroups.map((pair) => `${pair} return`),
          'ct status dnat update @translated { ip daddr . ip saddr . meta l4proto . th dport . th sport }',
          'ip saddr vmap @apart_of_address',
        ],
      },
      {
        name: 'untracked',
        base: BASE,
        rules: [
          'ip saddr != @pod_addresses accept',
          'ip daddr != @pod_addresses accept',
          ...sameGroups.map((pair) => `${pair} accept`),
          `${notPodLink} ip saddr . ip daddr . meta l4proto . th sport . th dport @translated accept`,
          'notrack',
        ],
      },
    ],
  };
}

function apartByEni(ordinal: number): ApartChains['chains'][number] {
  assert(ordinal < APART_BIT, `an ENI that serves pods has a number below ${APART_BIT}, got ${ordinal}`);
  return {
    name: `apart_by_eni_${ordinal}`,
    base: '',
    rules: [`meta mark set mark & ${OTHERS_BITS} | ${hex(ordinal | APART_BIT)}`, 'accept'],
  };
}
