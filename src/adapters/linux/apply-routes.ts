// Our routes and rules: what is missing is added first, then what is ours and not desired is deleted.

import type { DesiredRoute, DesiredRule, HostDatapath } from '../../domain/datapath/host-datapath.ts';
import {
  APART_RULE_PRIORITY,
  ENI_RULE_PRIORITY,
  PODS_RULE_PRIORITY,
  PODS_TABLE,
  ROUTE_PROTOCOL,
} from '../../domain/datapath/host-datapath.ts';
import { attempt, type Changes, change, changeIfThere } from './changes.ts';
import type { HostNamespace } from './host-namespace.ts';
import { KernelRefusal } from './kernel-refusal.ts';
import {
  deleteRoute,
  ipCommand,
  type ListedRoute,
  listRoutes,
  replaceRoute,
  type Route,
  RTN_UNICAST,
} from './route.ts';
import { addRule, deleteRule, type ListedRule, listRules, type Rule } from './rule.ts';
import type { Sight } from './sight.ts';

/** Tables below are not ours, whatever protocol their routes carry. */
const OWN_TABLE_FIRST = PODS_TABLE;
const OWN_RULE_PRIORITIES = [APART_RULE_PRIORITY, PODS_RULE_PRIORITY, ENI_RULE_PRIORITY];
const FAMILIES = [4, 6] as const;

export function applyRoutes(host: HostNamespace, { desired, links }: Sight, changes: Changes): void {
  const nameOf = new Map(links.map(({ index, name }) => [index, name]));
  const indexOf = new Map(links.map(({ index, name }) => [name, index]));
  const present = FAMILIES.flatMap((family) =>
    listRoutes(host.netlink, family, { protocol: ROUTE_PROTOCOL }),
  ).filter(({ table }) => table > OWN_TABLE_FIRST);
  const wanted: Route[] = [];
  for (const route of desired.routes) {
    attempt(changes, () => {
      const resolved = resolveRoute(route, indexOf);
      wanted.push(resolved);
      if (present.some((candidate) => isSameRoute(candidate, resolved))) return;
      change(host, [replaceRoute(resolved, route.link)], changes);
    });
  }
  for (const route of present) {
    // A route to a wanted destination in the same table has been replaced just now, or is the wanted one.
    if (wanted.some((other) => hasSameDestination(route, other))) continue;
    const message = deleteRoute(route, nameOf.get(route.linkIndex) ?? `link ${route.linkIndex}`);
    attempt(changes, () => {
      changeIfThere(host, message, changes);
    });
  }
}

function resolveRoute(route: DesiredRoute, indexOf: ReadonlyMap<string, number>): Route {
  const linkIndex = indexOf.get(route.link);
  const step = `${ipCommand(route.family)} route replace ${route.destination} dev ${route.link} table ${route.table}`;
  if (linkIndex === undefined) throw new KernelRefusal(step, 'ENODEV', `no link ${route.link}`);
  if (route.table <= OWN_TABLE_FIRST) {
    throw new KernelRefusal(step, 'EINVAL', `tables of ours for the host begin at ${OWN_TABLE_FIRST + 1}`);
  }
  return {
    family: route.family,
    table: route.table,
    destination: route.destination,
    via: route.via,
    linkIndex,
    onlink: route.onlink,
    scopeLink: route.scopeLink,
    protocol: ROUTE_PROTOCOL,
  };
}

const hasSameDestination = (a: Route, b: Route): boolean =>
  a.family === b.family && a.table === b.table && a.destination === b.destination;

/** IPv6 routes have no scope, and their listing does not repeat onlink in every kernel. */
const isSameRoute = (present: ListedRoute, wanted: Route): boolean =>
  hasSameDestination(present, wanted) &&
  present.type === RTN_UNICAST &&
  !present.multipath &&
  present.via === wanted.via &&
  present.linkIndex === wanted.linkIndex &&
  (wanted.family === 6 || (present.onlink === wanted.onlink && present.scopeLink === wanted.scopeLink));

export function applyRules(host: HostNamespace, desired: HostDatapath, changes: Changes): void {
  const present = FAMILIES.flatMap((family) => listRules(host.netlink, family)).filter(
    ({ protocol, priority }) => protocol === ROUTE_PROTOCOL && OWN_RULE_PRIORITIES.includes(priority),
  );
  const wanted = desired.rules.map(ruleOf);
  for (const rule of wanted) {
    if (present.some((candidate) => isSameRule(candidate, rule))) continue;
    attempt(changes, () => {
      change(host, [addRule(rule)], changes);
    });
  }
  for (const rule of present) {
    if (wanted.some((other) => isSameRule(rule, other))) continue;
    attempt(changes, () => {
      changeIfThere(host, deleteRule(rule), changes);
    });
  }
}

const ruleOf = (rule: DesiredRule): Rule => ({
  family: rule.family,
  priority: rule.priority,
  table: rule.table,
  fwmark: rule.fwmark,
  protocol: ROUTE_PROTOCOL,
});

const isSameRule = (present: ListedRule, wanted: Rule): boolean =>
  present.plain &&
  present.family === wanted.family &&
  present.priority === wanted.priority &&
  present.table === wanted.table &&
  present.fwmark?.mark === wanted.fwmark?.mark &&
  present.fwmark?.mask === wanted.fwmark?.mask;
