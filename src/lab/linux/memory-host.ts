// The host's own state in the memory kernel, brought to the desired one: the same changes, lines and refusals as on Linux.

import { bitsOf, familyOf, type Ip } from '../../domain/address/ip.ts';
import {
  type DesiredEniLink,
  type DesiredPod,
  type DesiredRoute,
  type DesiredRule,
  type DesiredSysctl,
  APART_RULE_PRIORITY,
  ENI_RULE_PRIORITY,
  type HostDatapath,
  NFT_TABLE,
  PODS_RULE_PRIORITY,
  PODS_TABLE,
  ROUTE_PROTOCOL,
} from '../../domain/datapath/host-datapath.ts';
import type { StackFailure, StackOutcome } from '../../ports/network-stack.ts';
import { done, failed } from '../../ports/outcome.ts';
import type { MemoryHost, MemoryKernel, MemoryLink } from './memory-kernel.ts';
import { podRoute, refusal } from './memory-pod.ts';

interface Changes {
  readonly lines: string[];
  readonly refusals: StackFailure[];
}

/** Applies all it can, then reports what was refused. */
export function applyHost(kernel: MemoryKernel, desired: HostDatapath): StackOutcome<readonly string[]> {
  const changes: Changes = { lines: [], refusals: [] };
  const { host } = kernel;
  for (const eni of desired.eniLinks) applyEniLink(host, eni, changes);
  for (const sysctl of desired.sysctls) applySysctl(host, sysctl, changes);
  applyRoutes(host, desired.routes, changes);
  applyRules(host, desired.rules, changes);
  applyPods(host, desired.pods, changes);
  applyNftTable(host, desired.nftTable, changes);
  // Only after a change: a notification without one would make the agent apply for ever.
  if (changes.lines.length > 0) kernel.edit(() => {});
  const [first, ...others] = changes.refusals;
  if (first === undefined) return done(changes.lines);
  const also = others.map(({ message }) => `; also ${message}`).join('');
  const changed = changes.lines.length === 0 ? '' : `; changed before that: ${changes.lines.join(', ')}`;
  return failed({ ...first, message: `${first.message}${also}${changed}` });
}

function applyEniLink(host: MemoryHost, eni: DesiredEniLink, changes: Changes): void {
  const step = `set up ENI link ${eni.link}`;
  const link = host.links.find(({ name }) => name === eni.link);
  if (link === undefined) {
    changes.refusals.push(refusal(step, 'ENODEV', `no link ${eni.link} (for MAC ${eni.mac})`));
    return;
  }
  if (link.mac !== eni.mac.toLowerCase()) {
    const detail = `${eni.link} has MAC ${link.mac}, not ${eni.mac}: renamed meanwhile?`;
    changes.refusals.push(refusal(step, 'ENODEV', detail));
    return;
  }
  if (link.mtu !== eni.mtu) {
    link.mtu = eni.mtu;
    changes.lines.push(`ip link set ${eni.link} mtu ${eni.mtu}`);
  }
  if (!link.up) {
    link.up = true;
    changes.lines.push(`ip link set ${eni.link} up`);
  }
  if (!eni.primary) for (const ip of eni.addresses) applyEniAddress(link, ip, changes);
}

/** The ENI's address as /32 or /128; the same address with another length makes way. */
function applyEniAddress(link: MemoryLink, own: Ip, changes: Changes): void {
  const length = bitsOf(familyOf(own));
  const isOwn = (address: MemoryLink['addresses'][number]): boolean => address.ip === own;
  if (!link.addresses.some((address) => isOwn(address) && address.prefixLength === length)) {
    link.addresses.push({ ip: own, prefixLength: length });
    changes.lines.push(`ip addr add ${own}/${length} dev ${link.name}`);
  }
  for (const { ip, prefixLength } of link.addresses.filter(
    (address) => isOwn(address) && address.prefixLength !== length,
  )) {
    changes.lines.push(`ip addr del ${ip}/${prefixLength} dev ${link.name}`);
  }
  link.addresses = link.addresses.filter((address) => !isOwn(address) || address.prefixLength === length);
}

function applySysctl(host: MemoryHost, { path, value }: DesiredSysctl, changes: Changes): void {
  const link = /^net\/ipv[46]\/(?:conf|neigh)\/([^/]+)\//.exec(path)?.[1];
  const isKnown =
    path.startsWith('net/') &&
    (link === undefined ||
      link === 'all' ||
      link === 'default' ||
      host.links.some(({ name }) => name === link));
  if (!isKnown) {
    changes.refusals.push(refusal(`read sysctl ${path}`, 'ENOENT'));
    return;
  }
  if (host.sysctls.get(path) === value) return;
  host.sysctls.set(path, value);
  changes.lines.push(`sysctl -w ${path}=${value}`);
}

function applyRoutes(host: MemoryHost, desired: readonly DesiredRoute[], changes: Changes): void {
  const isOurs = ({ protocol, table }: MemoryHost['routes'][number]): boolean =>
    protocol === ROUTE_PROTOCOL && table > PODS_TABLE;
  const wanted: DesiredRoute[] = [];
  for (const route of desired) {
    const step = `${ipCommand(route.family)} route replace ${routeText(route)}`;
    const link = host.links.find(({ name }) => name === route.link);
    if (link === undefined) {
      changes.refusals.push(refusal(step, 'ENODEV', `no link ${route.link}`));
      continue;
    }
    if (route.table <= PODS_TABLE) {
      changes.refusals.push(
        refusal(step, 'EINVAL', `tables of ours for the host begin at ${PODS_TABLE + 1}`),
      );
      continue;
    }
    wanted.push(route);
    if (host.routes.some((present) => isOurs(present) && isSameRoute(present, route))) continue;
    if (!link.up) {
      changes.refusals.push(refusal(step, 'ENETDOWN'));
      continue;
    }
    host.routes = host.routes.filter((present) => !hasSameDestination(present, route));
    host.routes.push({ ...route, protocol: ROUTE_PROTOCOL });
    changes.lines.push(step);
  }
  const stale = host.routes.filter(
    (present) => isOurs(present) && !wanted.some((route) => hasSameDestination(present, route)),
  );
  host.routes = host.routes.filter((present) => !stale.includes(present));
  for (const route of stale) {
    changes.lines.push(`${ipCommand(route.family)} route del ${routeText(route)}`);
  }
}

const hasSameDestination = (a: DesiredRoute, b: DesiredRoute): boolean =>
  a.family === b.family && a.table === b.table && a.destination === b.destination;

const isSameRoute = (a: DesiredRoute, b: DesiredRoute): boolean =>
  hasSameDestination(a, b) &&
  a.via === b.via &&
  a.link === b.link &&
  (a.family === 6 || (a.onlink === b.onlink && a.scopeLink === b.scopeLink));

function applyRules(host: MemoryHost, desired: readonly DesiredRule[], changes: Changes): void {
  const isOurs = ({ protocol, priority }: MemoryHost['rules'][number]): boolean =>
    protocol === ROUTE_PROTOCOL &&
    [APART_RULE_PRIORITY, PODS_RULE_PRIORITY, ENI_RULE_PRIORITY].includes(priority);
  for (const rule of desired) {
    if (host.rules.some((present) => isOurs(present) && isSameRule(present, rule))) continue;
    host.rules.push({ ...rule, protocol: ROUTE_PROTOCOL });
    changes.lines.push(`${ipCommand(rule.family)} rule add ${ruleText(rule)}`);
  }
  const stale = host.rules.filter(
    (present) => isOurs(present) && !desired.some((rule) => isSameRule(present, rule)),
  );
  host.rules = host.rules.filter((present) => !stale.includes(present));
  for (const rule of stale) {
    changes.lines.push(`${ipCommand(rule.family)} rule del ${ruleText(rule)}`);
  }
}

const isSameRule = (a: DesiredRule, b: DesiredRule): boolean =>
  a.family === b.family &&
  a.priority === b.priority &&
  a.table === b.table &&
  a.fwmark?.mark === b.fwmark?.mark &&
  a.fwmark?.mask === b.fwmark?.mask;

/** Adds what is missing of pods whose links are there; deletes nothing. */
function applyPods(host: MemoryHost, pods: readonly DesiredPod[], changes: Changes): void {
  for (const { hostLink, addresses } of pods) {
    const link = host.links.find(({ name, kind }) => name === hostLink && kind === 'veth');
    if (link === undefined) continue;
    if (!link.up) {
      link.up = true;
      changes.lines.push(`ip link set ${hostLink} up`);
    }
    for (const route of addresses.map((ip) => podRoute(ip, hostLink))) {
      const present = host.routes.find((candidate) => hasSameDestination(candidate, route));
      if (present?.link === hostLink) continue;
      host.routes = host.routes.filter((candidate) => candidate !== present);
      host.routes.push(route);
      changes.lines.push(`${ipCommand(route.family)} route replace ${routeText(route)}`);
    }
  }
}

function applyNftTable(host: MemoryHost, content: string, changes: Changes): void {
  if (host.nftTables.get(NFT_TABLE) === content) return;
  const step = `nft replace table inet ${NFT_TABLE}`;
  if (!isNftTable(content)) {
    changes.refusals.push(refusal(step, 'EINVAL', `not a whole "table inet ${NFT_TABLE} { ... }"`));
    return;
  }
  host.nftTables.set(NFT_TABLE, content);
  changes.lines.push(step);
}

/** As much of nft's grammar as a datapath could plausibly get wrong. */
const isNftTable = (content: string): boolean =>
  content.trimStart().startsWith(`table inet ${NFT_TABLE} {`) &&
  content.trimEnd().endsWith('}') &&
  content.split('{').length === content.split('}').length;

const ipCommand = (family: 4 | 6): string => (family === 4 ? 'ip' : 'ip -6');

function routeText(route: DesiredRoute): string {
  const via = route.via === undefined ? '' : ` via ${route.via}`;
  const scope = route.scopeLink ? ' scope link' : '';
  const onlink = route.onlink ? ' onlink' : '';
  return `${route.destination}${via} dev ${route.link} table ${route.table}${scope}${onlink}`;
}

function ruleText({ priority, table, fwmark }: DesiredRule): string {
  const mark =
    fwmark === undefined ? '' : ` fwmark 0x${fwmark.mark.toString(16)}/0x${fwmark.mask.toString(16)}`;
  return `prio ${priority}${mark} lookup ${table}`;
}
