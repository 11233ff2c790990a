// Finding, and on request removing, what the AWS VPC CNI left in a host namespace.

import { existsSync, readFileSync } from 'node:fs';
import type { Cidr } from '../../domain/address/ip.ts';
import {
  type AwsCniLeftovers,
  findAwsCniLeftovers,
  type RouteEntry,
  type RuleEntry,
} from '../../domain/datapath/aws-cni-leftovers.ts';
import type { AwsCniReport } from '../../ports/aws-cni.ts';
import type { HostNamespace } from './host-namespace.ts';
import { ipOfBytes } from './ip-bytes.ts';
import { unless } from './kernel-refusal.ts';
import { listLinks } from './link.ts';
import { insideNamespace } from './namespace.ts';
import { type Attributes, attributesOf, textOf } from './netlink-message.ts';
import { request } from './netlink-socket.ts';
import { listIpRuleset, runNft } from './nftables.ts';
import { deleteRoute, type ListedRoute, listRoutes } from './route.ts';
import { deleteRule, type ListedRule, listRules } from './rule.ts';

type Rule = RuleEntry & { readonly listed: ListedRule };
type Route = RouteEntry & { readonly listed: ListedRoute };

const FIB_RULE_HEADER_LENGTH = 12;
const FRA_DST = 1;
const FRA_SRC = 2;
const FRA_IIFNAME = 3;
const LEGACY_TABLES_FILE = '/proc/thread-self/net/ip_tables_names';

/** Looks, and changes nothing. */
export function reportAwsCni(host: HostNamespace, vethPrefix: string): AwsCniReport {
  return reportOf(look(host, vethPrefix));
}

/** Removes what is left over. Answers what that was; what has gone by itself meanwhile counts as removed. */
export function cleanAwsCni(host: HostNamespace, vethPrefix: string): AwsCniReport {
  const found = look(host, vethPrefix);
  const commands = found.leftovers.flatMap(({ thing }) => (thing.kind === 'nft' ? thing.commands : []));
  for (const { thing } of found.leftovers) {
    if (thing.kind === 'nft') continue;
    const message =
      thing.kind === 'rule'
        ? deleteRule(thing.rule.listed)
        : deleteRoute(thing.route.listed, thing.route.link);
    unless(['ESRCH', 'ENOENT', 'ENODEV'], () => request(host.netlink, [message]));
  }
  // One transaction: half of its firewall rules would be worse than all or none.
  if (commands.length > 0) {
    insideNamespace(host.namespace, () =>
      runNft('remove the AWS CNI’s iptables rules', `${commands.join('\n')}\n`),
    );
  }
  return reportOf(found);
}

const reportOf = ({ leftovers, livePods, notes }: AwsCniLeftovers<Rule, Route>): AwsCniReport => ({
  leftovers: leftovers.map(({ sentence }) => sentence),
  livePods,
  notes,
});

function look(host: HostNamespace, vethPrefix: string): AwsCniLeftovers<Rule, Route> {
  const links = listLinks(host.netlink);
  const nameOf = new Map(links.map(({ index, name }) => [index, name]));
  const families = [4, 6] as const;
  return findAwsCniLeftovers({
    rules: families.flatMap((family) => listRules(host.netlink, family)).map(ruleEntry),
    routes: families
      .flatMap((family) => listRoutes(host.netlink, family, {}))
      .map((listed) => ({
        family: listed.family,
        table: listed.table,
        destination: listed.destination,
        link: nameOf.get(listed.linkIndex) ?? '',
        protocol: listed.protocol,
        listed,
      })),
    linkNames: links.map(({ name }) => name),
    nftRuleset: insideNamespace(host.namespace, listIpRuleset),
    legacyTables: insideNamespace(host.namespace, legacyTables),
    vethPrefix,
  });
}

function ruleEntry(listed: ListedRule): Rule {
  const attributes = attributesOf(listed.body, FIB_RULE_HEADER_LENGTH);
  const to = blockOf(attributes, FRA_DST, listed.body[1] ?? 0);
  const from = blockOf(attributes, FRA_SRC, listed.body[2] ?? 0);
  const iif = textOf(attributes, FRA_IIFNAME);
  return {
    family: listed.family,
    priority: listed.priority,
    table: listed.table,
    fwmark: listed.fwmark,
    protocol: listed.protocol,
    ...(to === undefined ? {} : { to }),
    ...(from === undefined ? {} : { from }),
    ...(iif === undefined ? {} : { iif }),
    listed,
  };
}

function blockOf(attributes: Attributes, type: number, length: number): Cidr | undefined {
  const bytes = attributes.get(type);
  return bytes === undefined ? undefined : (`${ipOfBytes(bytes)}/${length}` as Cidr);
}

/** The file is there only where the legacy iptables' module is. */
const legacyTables = (): readonly string[] =>
  existsSync(LEGACY_TABLES_FILE)
    ? readFileSync(LEGACY_TABLES_FILE, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
    : [];
