// Routes over rtnetlink (linux/rtnetlink.h).

import { bitsOf, type Cidr, familyOf, type Ip, type IpFamily } from '../../domain/address/ip.ts';
import { unless } from './kernel-refusal.ts';
import { addressFamilyOf, bytesOfIp, ipFamilyOf, ipOfBytes } from './ip-bytes.ts';
import {
  attribute,
  attributesOf,
  type NetlinkMessage,
  NLM_F_CREATE,
  NLM_F_REPLACE,
  u32Attribute,
  u32Of,
} from './netlink-message.ts';
import { dump, type NetlinkSocket } from './netlink-socket.ts';

/** A unicast route through one link. */
export interface Route {
  readonly family: IpFamily;
  readonly table: number;
  readonly destination: Cidr | 'default';
  readonly via: Ip | undefined;
  readonly linkIndex: number;
  readonly onlink: boolean;
  /** Destinations are on the link itself. IPv6 has no such word: a route without `via` is one. */
  readonly scopeLink: boolean;
  readonly protocol: number;
}

/** A route as listed: the above, and what else tells routes apart. */
export interface ListedRoute extends Route {
  /** Metric; IPv6 routes have 1024 unless told otherwise. */
  readonly priority: number;
  /** RTN_UNICAST, or another: a blackhole, an unreachable, a local route. */
  readonly type: number;
  /** Several next hops: not one of ours. */
  readonly multipath: boolean;
}

export const RTN_UNICAST = 1;
export const MAIN_TABLE = 254;
/** Routes that the kernel made itself, such as an address's subnet route. */
export const PROTOCOL_KERNEL = 2;
const PROTOCOL_BOOT = 3;

const RTM_NEWROUTE = 24;
const RTM_DELROUTE = 25;
const RTM_GETROUTE = 26;
const RTMSG_LENGTH = 12;
const RT_SCOPE_UNIVERSE = 0;
const RT_SCOPE_LINK = 253;
/** In a deletion: whatever the scope. */
const RT_SCOPE_NOWHERE = 255;
const RTNH_F_ONLINK = 4;
const RTA_DST = 1;
const RTA_OIF = 4;
const RTA_GATEWAY = 5;
const RTA_PRIORITY = 6;
const RTA_MULTIPATH = 9;
const RTA_TABLE = 15;

/** The part of `ip route` lines that names the route and its next hop. */
export function routeText(route: Route, link: string): string {
  const via = route.via === undefined ? '' : ` via ${route.via}`;
  const table = route.table === MAIN_TABLE ? '' : ` table ${route.table}`;
  const scope = route.scopeLink ? ' scope link' : '';
  return `${route.destination}${via} dev ${link}${table}${scope}${route.onlink ? ' onlink' : ''}`;
}

export const ipCommand = (family: IpFamily): string => (family === 4 ? 'ip' : 'ip -6');

/** The route to one address through a link: `ip route add IP dev LINK scope link table TABLE`. */
export const hostRoute = (
  ip: Ip,
  to: { readonly linkIndex: number; readonly table: number; readonly protocol?: number },
): Route => ({
  family: familyOf(ip),
  table: to.table,
  destination: `${ip}/${bitsOf(familyOf(ip))}` as Cidr,
  via: undefined,
  linkIndex: to.linkIndex,
  onlink: false,
  scopeLink: familyOf(ip) === 4,
  protocol: to.protocol ?? PROTOCOL_BOOT,
});

/** The default route through a gateway that a link route or the family's rules make reachable. */
export const defaultRoute = (via: Ip, linkIndex: number): Route => ({
  family: familyOf(via),
  table: MAIN_TABLE,
  destination: 'default',
  via,
  linkIndex,
  onlink: false,
  scopeLink: false,
  protocol: PROTOCOL_BOOT,
});

/** `ip route replace`: takes the place of a route to the same destination in one step. */
export const replaceRoute = (route: Route, link: string): NetlinkMessage => ({
  step: `${ipCommand(route.family)} route replace ${routeText(route, link)}`,
  type: RTM_NEWROUTE,
  flags: NLM_F_CREATE | NLM_F_REPLACE,
  body: routeBody(route, { type: RTN_UNICAST, scope: route.scopeLink ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE }),
});

/** `ip route del`, for the very route that was listed. */
export const deleteRoute = (route: ListedRoute, link: string): NetlinkMessage => ({
  step: `${ipCommand(route.family)} route del ${routeText(route, link)}`,
  type: RTM_DELROUTE,
  flags: 0,
  body: Buffer.concat([
    routeBody(route, { type: route.type, scope: RT_SCOPE_NOWHERE }),
    u32Attribute(RTA_PRIORITY, route.priority),
  ]),
});

function routeBody(route: Route, as: { readonly type: number; readonly scope: number }): Buffer {
  const destination = route.destination === 'default' ? undefined : route.destination.split('/');
  const parts = [
    routeHeader({
      family: addressFamilyOf(route.family),
      destinationLength: destination === undefined ? 0 : Number(destination[1]),
      protocol: route.protocol,
      ...as,
      flags: route.onlink ? RTNH_F_ONLINK : 0,
    }),
    u32Attribute(RTA_TABLE, route.table),
  ];
  if (route.linkIndex !== 0) parts.push(u32Attribute(RTA_OIF, route.linkIndex));
  if (destination !== undefined) parts.push(attribute(RTA_DST, bytesOfIp(destination[0] as Ip)));
  if (route.via !== undefined) parts.push(attribute(RTA_GATEWAY, bytesOfIp(route.via)));
  return Buffer.concat(parts);
}

/** struct rtmsg; the table goes into an attribute, as numbers above 255 must. */
function routeHeader(fields: {
  readonly family: number;
  readonly destinationLength: number;
  readonly protocol: number;
  readonly scope: number;
  readonly type: number;
  readonly flags: number;
}): Buffer {
  const header = Buffer.alloc(RTMSG_LENGTH);
  header[0] = fields.family;
  header[1] = fields.destinationLength;
  header[5] = fields.protocol;
  header[6] = fields.scope;
  header[7] = fields.type;
  header.writeUInt32LE(fields.flags, 8);
  return header;
}

/** `ip route show table TABLE proto PROTOCOL`; a missing filter means all. */
export function listRoutes(
  socket: NetlinkSocket,
  family: IpFamily,
  filter: { readonly table?: number; readonly protocol?: number; readonly orphansOnly?: true },
): readonly ListedRoute[] {
  const header = routeHeader({
    family: addressFamilyOf(family),
    destinationLength: 0,
    protocol: filter.protocol ?? 0,
    scope: 0,
    type: 0,
    flags: 0,
  });
  const table = filter.table === undefined ? [] : [u32Attribute(RTA_TABLE, filter.table)];
  const dumped = unless(['ENOENT', 'EAFNOSUPPORT', 'EOPNOTSUPP'], () =>
    // ENOENT: a table that holds no route does not exist. The others: this kernel has no IPv6.
    dump(socket, {
      step: `${ipCommand(family)} route show table ${filter.table ?? 'all'}`,
      type: RTM_GETROUTE,
      flags: 0,
      body: Buffer.concat([header, ...table]),
    }),
  );
  // Looked for among hundreds of others, which are not worth to be read whole.
  const bodies = filter.orphansOnly === true ? (dumped ?? []).filter(isOrphanBody) : (dumped ?? []);
  return bodies
    .flatMap((body) => routeOf(body) ?? [])
    .filter(
      (route) =>
        (filter.table === undefined || route.table === filter.table) &&
        (filter.protocol === undefined || route.protocol === filter.protocol),
    );
}

/**
 * A route that leads to no link: the kernel drops a route with its link, but blackholes have none. An IPv6 blackhole is
 * listed as if it led to lo, so its type tells, not its link.
 */
export const isOrphan = (route: ListedRoute): boolean => route.type !== RTN_UNICAST || route.linkIndex === 0;

const LINK_ONLY: ReadonlySet<number> = new Set([RTA_OIF]);

/** The same, of a route as it was received. */
const isOrphanBody = (body: Buffer): boolean =>
  body[7] !== RTN_UNICAST || (u32Of(attributesOf(body, RTMSG_LENGTH, LINK_ONLY), RTA_OIF) ?? 0) === 0;

function routeOf(body: Buffer): ListedRoute | undefined {
  const family = ipFamilyOf(body[0] ?? 0);
  if (family === undefined) return undefined;
  const attributes = attributesOf(body, RTMSG_LENGTH);
  const destinationLength = body[1] ?? 0;
  const gateway = attributes.get(RTA_GATEWAY);
  const destination = attributes.get(RTA_DST);
  return {
    family,
    table: u32Of(attributes, RTA_TABLE) ?? body[4] ?? 0,
    destination:
      destination === undefined ? 'default' : (`${ipOfBytes(destination)}/${destinationLength}` as Cidr),
    via: gateway === undefined ? undefined : ipOfBytes(gateway),
    linkIndex: u32Of(attributes, RTA_OIF) ?? 0,
    onlink: (body.readUInt32LE(8) & RTNH_F_ONLINK) !== 0,
    scopeLink: body[6] === RT_SCOPE_LINK,
    protocol: body[5] ?? 0,
    priority: u32Of(attributes, RTA_PRIORITY) ?? 0,
    type: body[7] ?? 0,
    multipath: attributes.has(RTA_MULTIPATH),
  };
}
