// What the AWS VPC CNI left on a node: its rules, routes and firewall rules, told from what its living pods still need.

import type { Cidr, Ip, IpFamily } from '../address/ip.ts';
import { ROUTE_PROTOCOL } from './host-datapath.ts';
import { type NftChain, parseNftChains } from './nft-listing.ts';

export interface RuleEntry {
  readonly family: IpFamily;
  readonly priority: number;
  readonly table: number;
  readonly from?: Cidr;
  readonly to?: Cidr;
  readonly iif?: string;
  readonly fwmark: { readonly mark: number; readonly mask: number } | undefined;
  readonly protocol: number;
}

export interface RouteEntry {
  readonly family: IpFamily;
  readonly table: number;
  readonly destination: Cidr | 'default';
  /** Name of the link; `''` without one. */
  readonly link: string;
  readonly protocol: number;
}

/** A node as it is. `R` and `T` are the caller's own kinds of rule and route, which it gets back. */
export interface NodeSnapshot<R extends RuleEntry, T extends RouteEntry> {
  readonly rules: readonly R[];
  readonly routes: readonly T[];
  readonly linkNames: readonly string[];
  /** What `nft -a -s list ruleset ip` prints. Rules written by iptables-nft are among them. */
  readonly nftRuleset: string;
  /** Tables of the legacy iptables (/proc/net/ip_tables_names), whose rules nftables does not list. */
  readonly legacyTables: readonly string[];
  /** AWS_VPC_K8S_CNI_VETHPREFIX of the AWS CNI. */
  readonly vethPrefix: string;
}

export type LeftoverThing<R, T> =
  | { readonly kind: 'rule'; readonly rule: R }
  | { readonly kind: 'route'; readonly route: T }
  /** Deleted by these nft commands. */
  | { readonly kind: 'nft'; readonly commands: readonly string[] };

export interface Leftover<R, T> {
  /** For people: what it is, and what it did. */
  readonly sentence: string;
  readonly thing: LeftoverThing<R, T>;
}

export interface AwsCniLeftovers<R, T> {
  /** May be removed, in this order. */
  readonly leftovers: readonly Leftover<R, T>[];
  /** The AWS CNI's pods that still run here. What they need is not among the leftovers. */
  readonly livePods: readonly { readonly address: Ip; readonly hostLink: string }[];
  /** What is kept for living pods, or cannot be seen: sentences. */
  readonly notes: readonly string[];
}

const MAIN_TABLE = 254;
/** Rule priorities of the AWS CNI. */
const BRANCH_ENI = 10;
const TO_POD = 512;
const MARKED_TO_MAIN = 1024;
const FROM_POD = 1536;
const FROM_ENI = 32_765;
/** Its default connection mark (AWS_VPC_K8S_CNI_CONNMARK); another one goes unrecognised. */
const CONNMARK = 0x80;
/** Tables of ENIs on network card 0: device index + 1. No type takes more than 16 ENIs on a card. */
const CARD_0_TABLES = { first: 2, last: 17 };

/**
 * Finds them by the AWS CNI's fixed priorities, tables and names. A rule or table that something living needs is left
 * out, and said in the notes.
 */
export function findAwsCniLeftovers<R extends RuleEntry, T extends RouteEntry>(
  snapshot: NodeSnapshot<R, T>,
): AwsCniLeftovers<R, T> {
  const livePods = findLivePods(snapshot);
  const live = new Set<string>(livePods.map(({ address }) => address));
  const claimed = snapshot.rules.flatMap((rule) => {
    const claim = claimRule(rule, snapshot);
    return claim === undefined ? [] : [{ rule, ...claim }];
  });
  const isNeeded = ({ pod, shared }: RuleClaim): boolean =>
    (pod !== undefined && live.has(pod)) || (shared && live.size > 0);
  const stale = claimed.filter((claim) => !isNeeded(claim));
  const staleRules = new Set<RuleEntry>(stale.map(({ rule }) => rule));
  // By whomever: a rule that stays may lead there.
  const neededTables = new Set(snapshot.rules.filter((rule) => !staleRules.has(rule)).map(tableKey));
  const staleTables = new Set(
    claimed
      .filter(({ rule }) => rule.priority === FROM_POD || rule.priority === FROM_ENI)
      .map(({ rule }) => tableKey(rule))
      .filter((key) => !neededTables.has(key)),
  );
  const firewall = live.size > 0 ? [] : firewallLeftovers(parseNftChains(snapshot.nftRuleset));
  return {
    leftovers: [
      ...stale.map(({ rule, sentence }): Leftover<R, T> => ({ sentence, thing: { kind: 'rule', rule } })),
      ...snapshot.routes
        .filter((route) => staleTables.has(tableKey(route)) && route.protocol !== ROUTE_PROTOCOL)
        .map(
          (route): Leftover<R, T> => ({ sentence: routeSentence(route), thing: { kind: 'route', route } }),
        ),
      ...firewall,
    ],
    livePods,
    notes: notesOf(snapshot, livePods.length, claimed.length - stale.length),
  };
}

const tableKey = ({ family, table }: { readonly family: IpFamily; readonly table: number }): string =>
  `${family} ${table}`;

const isHost = (cidr: Cidr | 'default' | undefined): cidr is Cidr =>
  cidr !== undefined && (cidr.endsWith('/32') || cidr.endsWith('/128'));

const addressOf = (cidr: Cidr): Ip => cidr.slice(0, cidr.indexOf('/')) as Ip;

/** A pod of the AWS CNI lives as long as table main routes its address to its link: with the link, the route goes. */
const findLivePods = ({
  routes,
  vethPrefix,
}: Pick<NodeSnapshot<RuleEntry, RouteEntry>, 'routes' | 'vethPrefix'>): AwsCniLeftovers<
  never,
  never
>['livePods'] =>
  routes.flatMap(({ table, destination, link }) =>
    table === MAIN_TABLE && isHost(destination) && link.startsWith(vethPrefix)
      ? [{ address: addressOf(destination), hostLink: link }]
      : [],
  );

interface RuleClaim {
  readonly sentence: string;
  /** The pod that it serves. */
  readonly pod: Ip | undefined;
  /** Serves all pods. */
  readonly shared: boolean;
}

function claimRule(
  rule: RuleEntry,
  { linkNames, vethPrefix }: NodeSnapshot<RuleEntry, RouteEntry>,
): RuleClaim | undefined {
  const { priority, table, from, to, iif, fwmark, protocol } = rule;
  if (protocol === ROUTE_PROTOCOL) return undefined;
  const said = (why: string): string => `${ruleText(rule)}: ${why}`;
  switch (priority) {
    case TO_POD:
      if (!isHost(to) || from !== undefined || table !== MAIN_TABLE) return undefined;
      return { sentence: said('led to a pod of the AWS CNI'), pod: addressOf(to), shared: false };
    case FROM_POD:
      if (!isHost(from) || to !== undefined || table === MAIN_TABLE) return undefined;
      return {
        sentence: said('chose the ENI of a pod of the AWS CNI'),
        pod: addressOf(from),
        shared: false,
      };
    case MARKED_TO_MAIN:
      if (table !== MAIN_TABLE || fwmark?.mark !== CONNMARK || fwmark.mask !== CONNMARK) return undefined;
      return { sentence: said('led the AWS CNI’s marked packets to eth0'), pod: undefined, shared: true };
    case FROM_ENI:
      if (!isHost(from) || table < CARD_0_TABLES.first || table > CARD_0_TABLES.last) return undefined;
      return { sentence: said('chose the ENI that holds this address'), pod: undefined, shared: true };
    case BRANCH_ENI: {
      // Rules of branch ENIs name a link of the pod; with the link there, the pod lives.
      const isPodLink = iif?.startsWith('vlan') === true || iif?.startsWith(vethPrefix) === true;
      if (!isPodLink || iif === undefined || linkNames.includes(iif)) return undefined;
      return {
        sentence: said('led a pod with security groups of its own, which is gone'),
        pod: undefined,
        shared: false,
      };
    }
    default:
      return undefined;
  }
}

/** As `ip rule` prints it. */
function ruleText({ family, priority, table, from, to, iif, fwmark }: RuleEntry): string {
  const parts = [
    `${family === 6 ? 'IPv6 rule' : 'rule'} ${priority}: from ${from ?? 'all'}`,
    ...(to === undefined ? [] : [`to ${to}`]),
    ...(fwmark === undefined ? [] : [`fwmark 0x${fwmark.mark.toString(16)}/0x${fwmark.mask.toString(16)}`]),
    ...(iif === undefined ? [] : [`iif ${iif}`]),
  ];
  return `${parts.join(' ')} lookup ${table === MAIN_TABLE ? 'main' : table}`;
}

const routeSentence = ({ family, table, destination, link }: RouteEntry): string =>
  `${family === 6 ? 'IPv6 route' : 'route'} ${destination} dev ${link} table ${table}: in an ENI table of the AWS CNI`;

const OWN_TABLE = 'aws-cni';
const OWN_CHAIN = /^AWS-(?:SNAT|CONNMARK)-CHAIN-\d+$/;
const IPTABLES_TABLES = ['nat', 'mangle'];

/** References to its chains first: a chain that is jumped to cannot be deleted. */
function firewallLeftovers(chains: readonly NftChain[]): readonly Leftover<never, never>[] {
  const iptables = chains.filter(({ family, table }) => family === 'ip' && IPTABLES_TABLES.includes(table));
  const references = iptables
    .filter(({ chain }) => !OWN_CHAIN.test(chain))
    .flatMap(({ table, chain, rules }) =>
      rules
        .filter(({ text }) => /\b(?:jump|goto) AWS-(?:SNAT|CONNMARK)-CHAIN-\d+\b/.test(text) || isMark(text))
        .filter(({ text }) => chain === 'PREROUTING' || !isMark(text))
        .map(({ text, handle }) =>
          nftLeftover(`iptables rule in ${table} ${chain}: ${text}`, [
            `delete rule ip ${table} ${chain} handle ${handle}`,
          ]),
        ),
    );
  const own = iptables
    .filter(({ chain }) => OWN_CHAIN.test(chain))
    .map(({ table, chain, rules }) =>
      nftLeftover(`iptables chain ${chain} in ${table}, with ${rules.length} rules`, [
        `flush chain ip ${table} ${chain}`,
        `delete chain ip ${table} ${chain}`,
      ]),
    );
  const hasTable = chains.some(({ family, table }) => family === 'ip' && table === OWN_TABLE);
  const table = nftLeftover(`nftables table ip ${OWN_TABLE}`, [`delete table ip ${OWN_TABLE}`]);
  return [...references, ...own, ...(hasTable ? [table] : [])];
}

const nftLeftover = (sentence: string, commands: readonly string[]): Leftover<never, never> => ({
  sentence,
  thing: { kind: 'nft', commands },
});

/** Sets or restores the connection mark 0x80: in nft's words, or as the iptables target that nft could not translate. */
const isMark = (text: string): boolean =>
  (/\bct mark\b/.test(text) && /\b0x0*80\b/.test(text)) ||
  (/xt target "CONNMARK"/.test(text) && /iifname "(?:eni|vlan)/.test(text));

function notesOf(
  { legacyTables }: Pick<NodeSnapshot<RuleEntry, RouteEntry>, 'legacyTables'>,
  livePodCount: number,
  keptRuleCount: number,
): readonly string[] {
  const notes: string[] = [];
  if (livePodCount > 0) {
    notes.push(
      `pods of the AWS CNI still run on this node (${livePodCount}): rules (${keptRuleCount}), tables and firewall rules are kept for them. Drain the node, or delete the pods, and look again`,
    );
  }
  const legacy = legacyTables.filter((table) => IPTABLES_TABLES.includes(table));
  if (legacy.length > 0) {
    notes.push(
      `the legacy iptables has rules in ${legacy.join(' and ')} that cannot be seen from here: look for AWS- in what iptables-legacy-save prints`,
    );
  }
  return notes;
}
