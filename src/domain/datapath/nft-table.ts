// The text of the node's nftables table: which ENI a packet leaves by, SNAT, and the guard against spoofing.

import { compareCidrs, cidrContainsCidr, hostCidr } from '../address/cidr.ts';
import { type Cidr, familyOf, type Ip, type IpFamily } from '../address/ip.ts';
import { compareIps } from '../address/ip-number.ts';
import { assert } from '../result.ts';
import type { DatapathSettings } from './datapath-settings.ts';
import { type ApartPool, apartChains } from './nft-apart.ts';
import { MARK_MASK, NFT_TABLE, POD_LINK_GROUP } from './host-datapath.ts';

export interface NftEni {
  /** The ENI's ordinal, see `eniOrdinal`. */
  readonly mark: number;
  readonly primary: boolean;
  /** Absent while the link has not shown up. */
  readonly link?: string;
  /** Its security groups, as one text: pods under the same are of one kind. */
  readonly groups: string;
  /** Addresses (as /32 or /128) and prefixes that pods may hold. */
  readonly blocks: readonly Cidr[];
}

export interface NftTable {
  readonly settings: DatapathSettings;
  /** By ascending mark. */
  readonly enis: readonly NftEni[];
  /** Link of the primary ENI and the node's primary address; absent while the link is not there: no SNAT then. */
  readonly snat?: { readonly link: string; readonly address: Ip };
  /** Pod addresses that may reach instance metadata. */
  readonly imdsAllowed: readonly Ip[];
}

// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html
const IMDS_IPV4 = '169.254.169.254';
const IMDS_IPV6 = 'fd00:ec2::254';

const hex = (value: number): string => `0x${value.toString(16)}`;
/**
 * How long a pod's source passes after it was found to be routed back to its link, without being looked up again. Ten
 * seconds make the look-up free; a link that is replaced has another index, so that nothing is inherited.
 */
const KNOWN_SOURCE_SECONDS = 10;
/** No instance has as many pod addresses. Beyond it, sources are looked up for each packet. */
const KNOWN_SOURCE_COUNT_MAX = 4096;
/** All bits of a mark that belong to others, kube-proxy's "masquerade this" (0x4000) among them. */
const OTHERS_BITS = hex(~MARK_MASK >>> 0);

/**
 * The whole `table inet eniwhere { ... }`. Deterministic: equal inputs give equal text, so it can be compared.
 *
 * The maps hold verdicts, not marks: each leads to a chain that changes Eniwhere's bits of the mark and leaves the
 * others. Taking the mark straight from a map would overwrite them, and with them kube-proxy's order to masquerade a pod
 * that calls itself through a Service. (Only kernels from 6.13 can combine two looked-up values.)
 */
export function renderNftTable(table: NftTable): string {
  const families: readonly IpFamily[] = hasIpv6(table) ? [4, 6] : [4];
  const parts = [
    ...families.flatMap((family) => renderSets(table, family)),
    renderSet({
      head: 'map eni_of_interface',
      type: 'ifname : verdict',
      elements: linkedEnis(table).map(({ link, mark }) => `${ifname(link)} : goto connection_of_eni_${mark}`),
    }),
    ...table.enis.flatMap(({ mark }) => renderMarkChains(mark)),
    ...(areApart(table.enis) ? renderApart(table) : []),
    renderChain('from_outside', '', ['ct state new iifname vmap @eni_of_interface']),
    renderChain('guard', 'type filter hook prerouting priority raw; policy accept;', guardRules(table)),
    // After kube-proxy's DNAT, so that the real destination chooses the ENI; before routing, so that the mark counts.
    renderChain('prerouting', 'type filter hook prerouting priority dstnat + 10; policy accept;', [
      ...preroutingRules(table),
    ]),
    renderChain('output', 'type route hook output priority mangle; policy accept;', outputRules(table)),
    renderChain('postrouting', 'type nat hook postrouting priority srcnat; policy accept;', snatRules(table)),
  ];
  return `table inet ${NFT_TABLE} {\n${parts.join('\n')}}\n`;
}

const hasIpv6 = (table: NftTable): boolean =>
  table.enis.some((eni) => eni.blocks.some((block) => familyOf(block) === 6)) ||
  table.imdsAllowed.some((ip) => familyOf(ip) === 6);

const linkedEnis = (table: NftTable): readonly { readonly link: string; readonly mark: number }[] =>
  table.enis.flatMap(({ link, mark }) => (link === undefined ? [] : [{ link, mark }]));

/**
 * Holds for what is not the host end of a pod's link. The group, so that a link which another program renames stays a
 * pod's; the name, so that one whose group is changed does.
 */
const notPodLink = (table: NftTable): string =>
  `iifgroup != ${POD_LINK_GROUP} iifname != ${ifname(table.settings.vethPrefix, '*')}`;

/** A link name as an nft string. The kernel allows quotes in names, and a trailing star would match other links. */
function ifname(name: string, wildcard: '' | '*' = ''): string {
  assert(/^[\w.@-]{1,15}$/.test(name), `link name ${JSON.stringify(name)} can be written in nft`);
  return `"${name}${wildcard}"`;
}

const suffix = (family: IpFamily): '' | '6' => (family === 4 ? '' : '6');

function renderSets(table: NftTable, family: IpFamily): readonly string[] {
  const type = family === 4 ? 'ipv4_addr' : 'ipv6_addr';
  const pods = podBlocks(table.enis, family);
  const imds = [...table.imdsAllowed].filter((ip) => familyOf(ip) === family).sort(compareIps);
  const sets = [
    renderSet({
      head: `map eni_of_address${suffix(family)}`,
      type: `${type} : verdict`,
      properties: INTERVAL,
      elements: pods.map(({ block, mark }) => `${element(block)} : goto way_of_eni_${mark}`),
    }),
    // Filled by the packets themselves, so that adding a pod takes no write here.
    renderSet({
      head: `set known_sources${suffix(family)}`,
      type: `iface_index . ${type}`,
      properties: [
        `size ${KNOWN_SOURCE_COUNT_MAX}`,
        'flags dynamic,timeout',
        `timeout ${KNOWN_SOURCE_SECONDS}s`,
      ],
    }),
    renderSet({ head: `set imds_allowed${suffix(family)}`, type, elements: [...new Set(imds)] }),
  ];
  if (family === 6) return sets;
  const direct = disjoint(
    table.settings.directCidrs.filter((cidr) => familyOf(cidr) === 4).map((block) => ({ block })),
  );
  return [
    ...sets,
    podAddressSet(table, 4),
    renderSet({
      head: 'set direct',
      type,
      properties: INTERVAL,
      elements: direct.map(({ block }) => element(block)),
    }),
  ];
}

const podBlocks = (
  enis: readonly NftEni[],
  family: IpFamily,
): readonly { readonly block: Cidr; readonly mark: number }[] =>
  disjoint(
    enis.flatMap(({ blocks, mark }) =>
      blocks.filter((block) => familyOf(block) === family).map((block) => ({ block, mark })),
    ),
  );

/**
 * Sorted, without blocks that lie in another: nft refuses a whole table for two overlapping intervals. Of equal blocks
 * the first stays. (EC2 never has an address on two ENIs; a spec that says so is a view taken in mid-move.)
 */
function disjoint<T extends { readonly block: Cidr }>(items: readonly T[]): readonly T[] {
  const kept: T[] = [];
  for (const item of [...items].sort((a, b) => compareCidrs(a.block, b.block))) {
    const last = kept.at(-1);
    if (last === undefined || !cidrContainsCidr(last.block, item.block)) kept.push(item);
  }
  return kept;
}

/** A block as nft lists it: a single address without its length. */
function element(block: Cidr): string {
  const address = block.slice(0, block.indexOf('/')) as Ip;
  return hostCidr(address) === block ? address : block;
}

function renderMarkChains(mark: number): readonly string[] {
  const set = (key: string): string => `${key} mark set ${key} mark & ${OTHERS_BITS} | ${hex(mark)}`;
  return [
    renderChain(`eni_${mark}`, '', [set('meta')]),
    renderChain(`connection_of_eni_${mark}`, '', [set('ct')]),
    renderChain(`way_of_eni_${mark}`, '', [set('ct'), set('meta')]),
  ];
}

/**
 * Runs before everything else: what a pod may not send never reaches connection tracking or DNAT.
 *
 * That a source is routed back to its link is found out by a route look-up, which costs more than all else here together.
 * So what passed is remembered for a while, as a pair of link and address.
 */
function guardRules(table: NftTable): readonly string[] {
  const isIpv6 = hasIpv6(table);
  const imdsIpv6 = isIpv6 ? ' ip6 saddr != @imds_allowed6' : '';
  const known = (family: IpFamily): string => `iif . ${family === 4 ? 'ip' : 'ip6'} saddr`;
  return [
    `${notPodLink(table)} accept`,
    `ip daddr ${IMDS_IPV4} ip saddr != @imds_allowed counter drop`,
    `${known(4)} @known_sources accept`,
    `ip6 daddr ${IMDS_IPV6}${imdsIpv6} counter drop`,
    ...(isIpv6 ? [`${known(6)} @known_sources6 accept`] : []),
    // Duplicate address detection and neighbour discovery; neither source is ever forwarded.
    'ip6 saddr { ::, fe80::/10 } accept',
    'fib saddr . iif oif missing counter drop',
    `add @known_sources { ${known(4)} }`,
    ...(isIpv6 ? [`add @known_sources6 { ${known(6)} }`] : []),
  ];
}

/** Whether the ENIs of pods have different security groups: only then has anything to be kept apart. */
export const areApart = (enis: readonly NftEni[]): boolean =>
  new Set(enis.filter(({ primary }) => !primary).map(({ groups }) => groups)).size > 1;

/** Sets and chains that send what goes between pods under different security groups through the VPC. */
function renderApart(table: NftTable): readonly string[] {
  const byGroups = new Map<string, NftEni[]>();
  for (const eni of table.enis) {
    if (!eni.primary) byGroups.set(eni.groups, [...(byGroups.get(eni.groups) ?? []), eni]);
  }
  const families: readonly IpFamily[] = hasIpv6(table) ? [4, 6] : [4];
  const elementsOf = (enis: readonly NftEni[], family: IpFamily): readonly string[] =>
    podBlocks(enis, family).map(({ block }) => element(block));
  const pools = [...byGroups.values()].map(
    (enis): ApartPool => ({
      enis: enis.map(({ mark }) => mark),
      elements: { 4: elementsOf(enis, 4), 6: elementsOf(enis, 6) },
    }),
  );
  const { sets, chains } = apartChains(pools, { notPodLink: notPodLink(table), families });
  const pods = table.enis.filter(({ primary }) => !primary);
  return [
    ...sets.map(renderSet),
    ...families.map((family) =>
      renderSet({
        head: `map apart_of_address${suffix(family)}`,
        type: `${family === 4 ? 'ipv4_addr' : 'ipv6_addr'} : verdict`,
        properties: INTERVAL,
        elements: podBlocks(pods, family).map(
          ({ block, mark }) => `${element(block)} : goto apart_by_eni_${mark}`,
        ),
      }),
    ),
    ...(families.includes(6) ? [podAddressSet(table, 6)] : []),
    ...chains.map(({ name, base, rules }) => renderChain(name, base, rules)),
  ];
}

/** The same blocks as in eni_of_address: the kernel cannot ask a map whether it has a key. */
const podAddressSet = (table: NftTable, family: IpFamily): string =>
  renderSet({
    head: `set pod_addresses${suffix(family)}`,
    type: family === 4 ? 'ipv4_addr' : 'ipv6_addr',
    properties: INTERVAL,
    elements: podBlocks(table.enis, family).map(({ block }) => element(block)),
  });

/**
 * A connection's way is chosen by its first packet, and kept in the connection's mark: by the ENI that it came in, or, if
 * a pod began it, by the one that holds the pod's address. Its later packets, in both directions, take one look-up; and
 * no change of the settings breaks it.
 */
function preroutingRules(table: NftTable): readonly string[] {
  const rules = [`${notPodLink(table)} goto from_outside`];
  if (areApart(table.enis)) rules.push('jump apart', ...(hasIpv6(table) ? ['jump apart6'] : []));
  if (table.enis.length > 0) rules.push(byMarkOfConnection(table.enis));
  // Without a way of its own, and translated: it left by the primary ENI so far, and has that one's address.
  rules.push('ct status snat accept');
  const destination = table.settings.externalSnat ? '' : 'ip daddr @direct ';
  rules.push(`${destination}ip saddr vmap @eni_of_address`);
  // IPv6 is never translated: a pod's IPv6 address is reachable as it is, and the source check wants its own ENI.
  if (hasIpv6(table)) rules.push('ip6 saddr vmap @eni_of_address6');
  return rules;
}

const byMarkOfConnection = (enis: readonly NftEni[]): string =>
  `ct mark & ${hex(MARK_MASK)} vmap { ${enis.map(({ mark }) => `${hex(mark)} : goto eni_${mark}`).join(', ')} }`;

/**
 * What the node itself answers on a secondary ENI's address leaves by that ENI. The primary's own traffic stays with the
 * main table, whatever else is routed there.
 */
function outputRules({ enis }: NftTable): readonly string[] {
  const secondary = enis.filter(({ primary }) => !primary);
  return secondary.length === 0 ? [] : [`ct direction reply ${byMarkOfConnection(secondary)}`];
}

function snatRules({ settings, snat }: NftTable): readonly string[] {
  if (settings.externalSnat || snat === undefined) return [];
  return [
    `oifname ${ifname(snat.link)} ip saddr @pod_addresses ip daddr != @direct ` +
      `snat ip to ${snat.address}${portChoice(settings.randomizeSnat)}`,
  ];
}

function portChoice(randomize: DatapathSettings['randomizeSnat']): '' | ' random' | ' fully-random' {
  switch (randomize) {
    case 'prng':
      return ' fully-random';
    case 'hashrandom':
      return ' random';
    case 'none':
      return '';
  }
}

export interface SetText {
  readonly head: string;
  readonly type: string;
  /** Lines between the type and the elements. */
  readonly properties?: readonly string[];
  readonly elements?: readonly string[];
}

const INTERVAL = ['flags interval'];

function renderSet({ head, type, properties = [], elements = [] }: SetText): string {
  const lines = [`type ${type}`, ...properties];
  if (elements.length > 0) lines.push(`elements = {\n      ${elements.join(',\n      ')}\n    }`);
  return renderBlock(head, lines);
}

const renderChain = (name: string, base: string, rules: readonly string[]): string =>
  renderBlock(`chain ${name}`, base === '' ? rules : [base, ...rules]);

const renderBlock = (head: string, lines: readonly string[]): string =>
  `  ${head} {\n${lines.map((line) => `    ${line}\n`).join('')}  }\n`;
