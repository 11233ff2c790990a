// A host's desired state as the text that `ip` and `nft` would print: for people, logs and reviews.

import { hostCidr } from '../address/cidr.ts';
import type { DesiredEniLink, DesiredRoute, DesiredRule, HostDatapath } from './host-datapath.ts';
import { ROUTE_PROTOCOL } from './host-datapath.ts';

/** Links, rules, routes, sysctls and the nft table, one section each. Ends with a newline. */
export function renderHostAsText(host: HostDatapath): string {
  const sections: readonly (readonly [title: string, lines: readonly string[]])[] = [
    ['links', host.eniLinks.map(linkText)],
    ['rules', host.rules.map(ruleText)],
    ['routes', host.routes.map(routeText)],
    ['sysctls', host.sysctls.map(({ path, value }) => `${path} = ${value}`)],
    ['nftables', host.nftTable.trimEnd().split('\n')],
  ];
  return sections
    .map(([title, lines]) => `# ${title}\n${lines.map((line) => `${line}\n`).join('')}`)
    .join('\n');
}

const linkText = ({ link, mac, mtu, primary, addresses }: DesiredEniLink): string =>
  `${link} ${mac} mtu ${mtu} ${primary ? `primary, has ${addresses.join(' ')}` : addresses.map(hostCidr).join(' ')}`;

/** A rule as `ip rule` prints it. */
export function ruleText({ family, priority, table, fwmark }: DesiredRule): string {
  const mark =
    fwmark === undefined ? '' : ` fwmark 0x${fwmark.mark.toString(16)}/0x${fwmark.mask.toString(16)}`;
  return `-${family} ${priority}: from all${mark} lookup ${table} proto ${ROUTE_PROTOCOL}`;
}

/** A route as `ip route show table all` prints it. */
export function routeText(route: DesiredRoute): string {
  const via = route.via === undefined ? '' : ` via ${route.via}`;
  const scope = route.scopeLink ? ' scope link' : '';
  const onlink = route.onlink ? ' onlink' : '';
  return (
    `-${route.family} ${route.destination}${via} dev ${route.link} table ${route.table} ` +
    `proto ${ROUTE_PROTOCOL}${scope}${onlink}`
  );
}
