// Pods of one node under different security groups: what goes between them leaves by one ENI and comes back by another.

import type { IpFamily } from '../address/ip.ts';
import { assert } from '../result.ts';
import { APART_BIT, MARK_MASK } from './host-datapath.ts';

/** The ENIs under one set of security groups. */
export interface ApartPool {
  /** Their numbers. */
  readonly enis: readonly number[];
  /** Addresses of their pods, as nft lists them. */
  readonly elements: Readonly<Record<IpFamily, readonly string[]>>;
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
export function apartChains(
  pools: readonly ApartPool[],
  { notPodLink, families }: { readonly notPodLink: string; readonly families: readonly IpFamily[] },
): ApartChains {
  const parts = families.map((family) => familyChains(pools, { notPodLink, family }));
  const byFamily = families.map((family) => `ipv${family} : goto untracked${suffix(family)}`);
  return {
    sets: parts.flatMap(({ sets }) => sets),
    chains: [
      ...pools.flatMap(({ enis }) => enis).map(apartByEni),
      ...parts.flatMap(({ chains }) => chains),
      // What is of a family that no pod has is the node's own, and tracked.
      { name: 'before_tracking', base: BASE, rules: [`meta nfproto vmap { ${byFamily.join(', ')} }`] },
    ],
  };
}

const suffix = (family: IpFamily): '' | '6' => (family === 4 ? '' : '6');

function familyChains(
  pools: readonly ApartPool[],
  { notPodLink, family }: { readonly notPodLink: string; readonly family: IpFamily },
): ApartChains {
  const ip = family === 4 ? 'ip' : 'ip6';
  const address = family === 4 ? 'ipv4_addr' : 'ipv6_addr';
  const of = (name: string): string => `${name}${suffix(family)}`;
  const groups = (n: number): string => `groups${suffix(family)}_${n}`;
  const sameGroups = pools.map((_, n) => `${ip} saddr @${groups(n)} ${ip} daddr @${groups(n)}`);
  const ends = `meta l4proto . th dport . th sport`;
  return {
    sets: [
      ...pools.map(({ elements }, n) => ({
        head: `set ${groups(n)}`,
        type: address,
        properties: ['flags interval'],
        elements: elements[family],
      })),
      {
        head: `set ${of('translated')}`,
        type: `${address} . ${address} . inet_proto . inet_service . inet_service`,
        properties: [`size ${TRANSLATED_COUNT_MAX}`, 'flags dynamic,timeout', `timeout ${TRANSLATED_HOURS}h`],
      },
    ],
    chains: [
      {
        name: of('apart'),
        base: '',
        rules: [
          `${ip} saddr != @${of('pod_addresses')} return`,
          `${ip} daddr != @${of('pod_addresses')} return`,
          ...sameGroups.map((pair) => `${pair} return`),
          `ct status dnat update @${of('translated')} { ${ip} daddr . ${ip} saddr . ${ends} }`,
          `${ip} saddr vmap @${of('apart_of_address')}`,
        ],
      },
      {
        name: of('untracked'),
        base: '',
        rules: [
          `${ip} saddr != @${of('pod_addresses')} accept`,
          `${ip} daddr != @${of('pod_addresses')} accept`,
          ...sameGroups.map((pair) => `${pair} accept`),
          `${notPodLink} ${ip} saddr . ${ip} daddr . meta l4proto . th sport . th dport @${of('translated')} accept`,
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
