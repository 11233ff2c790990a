// The router's nftables table as text: source checks, security groups, instance metadata, the internet gateway.

import { type Cidr, familyOf, type IpFamily } from '../../domain/address/ip.ts';
import type { SecurityGroupId } from '../../domain/ids.ts';
import type { GroupRule } from '../ec2/security-group.ts';
import { routerLink } from './namespace-names.ts';
import { publicBlocks } from './public-addresses.ts';
import { type EniTruth, hasIpv6, heldBy, type VpcView } from './vpc-truth.ts';

/** The router's links that lead out of the VPC. */
export const INTERNET_LINK = 'internet';
export const ON_PREM_LINK = 'onprem';

/** https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html */
export const METADATA_ADDRESS: Readonly<Record<IpFamily, string>> = {
  4: '169.254.169.254',
  6: 'fd00:ec2::254',
};
export const METADATA_PORT = 80;

type Direction = 'ingress' | 'egress';

const membersOf = (id: SecurityGroupId): string => `members_${id}`;
const groupChain = (direction: Direction, id: SecurityGroupId): string => `${direction}_${id}`;
const eniChain = (direction: Direction, eni: EniTruth): string => `${direction}_${routerLink(eni.eniId)}`;

/**
 * The whole table, and one of IPv6 when the VPC has it, to be loaded in one transaction in place of those before; connections that are established keep
 * their tracking, as in EC2. Security groups are checked twice, leaving the source ENI and entering the destination
 * ENI: https://docs.aws.amazon.com/vpc/latest/userguide/vpc-security-groups.html
 */
export function routerRules(view: VpcView): string {
  const lines = [...table(view, 4), ...(hasIpv6(view) ? table(view, 6) : [])];
  return `${lines.join('\n')}\n`;
}

/** What is one and the same in nft but for the family. */
const WORDS = {
  4: { table: 'ip vpc', address: 'ip', type: 'ipv4_addr', all: '0.0.0.0/0', icmp: 'icmp' },
  6: { table: 'ip6 vpc', address: 'ip6', type: 'ipv6_addr', all: '::/0', icmp: 'icmpv6' },
} as const;

function table(view: VpcView, family: IpFamily): readonly string[] {
  const attached = view.enis.filter(({ attachment }) => attachment?.status === 'attached');
  const name = WORDS[family].table;
  return [
    `add table ${name}`,
    `delete table ${name}`,
    `table ${name} {`,
    ...memberSets(view, family),
    ...view.securityGroups.flatMap(({ securityGroupId, ingress, egress }) => [
      ...chain(groupChain('ingress', securityGroupId), ingress.flatMap(ruleText('saddr', family))),
      ...chain(groupChain('egress', securityGroupId), egress.flatMap(ruleText('daddr', family))),
    ]),
    ...attached.flatMap((eni) => [...eniGroups('ingress', eni, view), ...eniGroups('egress', eni, view)]),
    ...sourceCheck,
    ...forwarding(attached),
    ...routerAccess(family),
    // IPv6 addresses are seen as they are: an egress-only internet gateway translates nothing.
    ...(family === 4 ? internetGateway(view.cidrs) : []),
    '}',
  ];
}

const chain = (name: string, rules: readonly string[]): readonly string[] => [
  `  chain ${name} {`,
  ...rules.map((rule) => `    ${rule}`),
  '  }',
];

/** One set per group that exists or that a rule names: the addresses of all ENIs that have the group. */
function memberSets(view: VpcView, family: IpFamily): readonly string[] {
  const ids = new Set(view.securityGroups.map(({ securityGroupId }) => securityGroupId));
  for (const { ingress, egress } of view.securityGroups) {
    for (const { peer } of [...ingress, ...egress]) if (peer.kind === 'Group') ids.add(peer.securityGroupId);
  }
  return [...ids].flatMap((id) => {
    const held = view.enis
      .filter((eni) => eni.securityGroupIds.includes(id))
      .flatMap((eni) => heldBy(eni, family));
    return [
      `  set ${membersOf(id)} {`,
      `    type ${WORDS[family].type}; flags interval; auto-merge`,
      ...(held.length === 0 ? [] : [`    elements = { ${held.join(', ')} }`]),
      '  }',
    ];
  });
}

/** The nft rule of a security group's rule; none for a rule about the other family. */
const ruleText =
  (peerField: 'saddr' | 'daddr', family: IpFamily) =>
  ({ protocol, ports, peer }: GroupRule): readonly string[] => {
    const { address, all, icmp } = WORDS[family];
    const matches: string[] = [];
    if (peer.kind === 'Group') matches.push(`${address} ${peerField} @${membersOf(peer.securityGroupId)}`);
    else if (familyOf(peer.cidr) !== family) return [];
    else if (peer.cidr !== all) matches.push(`${address} ${peerField} ${peer.cidr}`);
    // ICMP and ICMPv6 are two protocols, and a rule is of one.
    if ((protocol === 'icmp' || protocol === 'icmpv6') && protocol !== icmp) return [];
    if (protocol !== 'all') matches.push(protocolMatch(protocol, ports));
    return [[...matches, 'accept'].join(' ')];
  };

function protocolMatch(protocol: Exclude<GroupRule['protocol'], 'all'>, ports: GroupRule['ports']): string {
  if (protocol === 'icmpv6') return 'meta l4proto ipv6-icmp';
  if (protocol === 'icmp' || ports === undefined) return `meta l4proto ${protocol}`;
  const range = ports.from === ports.to ? `${ports.from}` : `${ports.from}-${ports.to}`;
  return `${protocol} dport ${range}`;
}

/** What the ENI's groups allow, together; the caller's policy drops the rest. */
function eniGroups(direction: Direction, eni: EniTruth, view: VpcView): readonly string[] {
  const existing = new Set(view.securityGroups.map(({ securityGroupId }) => securityGroupId));
  const jumps = eni.securityGroupIds
    .filter((id) => existing.has(id))
    .map((id) => `jump ${groupChain(direction, id)}`);
  return chain(eniChain(direction, eni), jumps);
}

/**
 * Source/destination check: an ENI may only send as an address it holds. What it holds is what is routed to it, so the
 * routes are the check's only list; the hosts outside are held to their own address the same way.
 */
const sourceCheck = chain('source_check', [
  'type filter hook prerouting priority raw; policy accept;',
  'iifname != "lo" fib saddr . iif oif missing drop',
]);

function forwarding(attached: readonly EniTruth[]): readonly string[] {
  const verdicts = (direction: Direction, outside: readonly string[]): string =>
    [
      ...attached.map((eni) => `"${routerLink(eni.eniId)}" : jump ${eniChain(direction, eni)}`),
      ...outside,
    ].join(', ');
  return [
    // From the internet come only answers: the addresses that it sees are not routed to the VPC by themselves.
    ...chain('leave_source', [
      'type filter hook forward priority filter; policy drop;',
      'ct state vmap { established : accept, related : accept, invalid : drop }',
      `iifname "${ON_PREM_LINK}" oifname "${INTERNET_LINK}" drop`,
      `iifname vmap { ${verdicts('egress', [`"${ON_PREM_LINK}" : accept`])} }`,
    ]),
    // A verdict of accept above ends only the chain above: every packet must pass this one too.
    ...chain('enter_destination', [
      'type filter hook forward priority filter + 10; policy drop;',
      'ct state vmap { established : accept, related : accept, invalid : drop }',
      `oifname vmap { ${verdicts('ingress', [`"${INTERNET_LINK}" : accept`, `"${ON_PREM_LINK}" : accept`])} }`,
    ]),
  ];
}

/** The router itself answers as instance metadata, to ENIs, and to nothing else. Security groups have no say there. */
const routerAccess = (family: IpFamily): readonly string[] =>
  chain('to_router', [
    'type filter hook input priority filter; policy drop;',
    'iifname "lo" accept',
    'ct state established,related accept',
    // What ARP is to IPv4.
    ...(family === 6 ? ['icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept'] : []),
    `iifname "eni*" ${WORDS[family].address} daddr ${METADATA_ADDRESS[family]} tcp dport ${METADATA_PORT} accept`,
  ]);

function internetGateway(cidrs: readonly Cidr[]): readonly string[] {
  const blocks = publicBlocks(cidrs).map(({ vpc, seenAs }) => `${vpc} : ${seenAs}`);
  return chain('internet_gateway', [
    'type nat hook postrouting priority srcnat; policy accept;',
    ...(blocks.length === 0
      ? []
      : [`oifname "${INTERNET_LINK}" snat ip prefix to ip saddr map { ${blocks.join(', ')} }`]),
  ]);
}
