// The host's links, rules and routes as text, for people who look for a fault.

import { NFT_TABLE, PODS_TABLE, ROUTE_PROTOCOL } from '../../domain/datapath/host-datapath.ts';
import type { HostNamespace } from './host-namespace.ts';
import { listLinks } from './link.ts';
import { insideNamespace } from './namespace.ts';
import { listInetTable } from './nftables.ts';
import { ipCommand, listRoutes, MAIN_TABLE, routeText } from './route.ts';
import { listRules, ruleText } from './rule.ts';

/** Links and rules all of them, whoever made them; routes of table main and of ours; our nftables table. */
export function describeNetwork(host: HostNamespace): string {
  const links = listLinks(host.netlink);
  const nameOf = new Map(links.map(({ index, name }) => [index, name]));
  const families = [4, 6] as const;
  const rules = families.flatMap((family) => listRules(host.netlink, family));
  const routes = families
    .flatMap((family) => listRoutes(host.netlink, family, {}))
    .filter(
      ({ table, protocol }) => table === MAIN_TABLE || table >= PODS_TABLE || protocol === ROUTE_PROTOCOL,
    );
  const table = insideNamespace(host.namespace, () => listInetTable(NFT_TABLE));
  const sections: readonly (readonly [string, readonly string[]])[] = [
    [
      'links',
      links.map(({ index, name, mac, up, mtu, kind }) =>
        `${index} ${name} ${mac} ${up ? 'up' : 'down'} mtu ${mtu} ${kind}`.trimEnd(),
      ),
    ],
    [
      'rules',
      rules.map(
        (rule) =>
          `${ipCommand(rule.family)}: ${ruleText(rule)} proto ${rule.protocol}${rule.plain ? '' : ' (and more selectors)'}`,
      ),
    ],
    [
      'routes',
      routes.map(
        (route) =>
          `${ipCommand(route.family)}: ${routeText(route, nameOf.get(route.linkIndex) ?? '-')} proto ${route.protocol}`,
      ),
    ],
    ['nftables', [(table ?? `there is no table inet ${NFT_TABLE}`).trimEnd()]],
  ];
  return sections.map(([title, lines]) => `# ${title}\n${lines.join('\n')}\n`).join('\n');
}
