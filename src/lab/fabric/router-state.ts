// What the router's namespace holds besides its nftables table, and the commands that lead from one state to another.

import { cidrPrefixLength, hostCidr } from '../../domain/address/cidr.ts';
import { type Cidr, familyOf, type Ip, type IpFamily } from '../../domain/address/ip.ts';
import { subnetGateway } from '../../domain/address/subnet.ts';
import type { AttachmentId, EniId, InstanceId } from '../../domain/ids.ts';
import { assert } from '../../domain/result.ts';
import type { EniLink } from './eni-links.ts';
import { heldBy, type VpcView } from './vpc-truth.ts';

export interface RouterState {
  /** IPv4 addresses that the router answers for as the subnets' gateways. */
  readonly gateways: ReadonlySet<Ip>;
  /** router link -> the IPv6 gateway of its subnet: unlike ARP, neighbour discovery is answered link by link */
  readonly ipv6Gateways: ReadonlyMap<string, Ip>;
  /** router link -> the attachment it stands for; of none, when it was not plugged in wholly */
  readonly links: ReadonlyMap<string, AttachmentId | undefined>;
  /** block -> the router link that it is delivered to */
  readonly routes: ReadonlyMap<Cidr, string>;
}

export const EMPTY_ROUTER: RouterState = {
  gateways: new Set(),
  ipv6Gateways: new Map(),
  links: new Map(),
  routes: new Map(),
};

/** What the ENI links that are plugged in make of the router. */
export function desiredRouter(view: VpcView, plugged: readonly EniLink[]): RouterState {
  const linkOf = new Map<EniId, string>(plugged.map((link) => [link.eniId, link.routerLink]));
  const routes = new Map<Cidr, string>();
  const ipv6Gateways = new Map<string, Ip>();
  for (const eni of view.enis) {
    const link = linkOf.get(eni.eniId);
    if (link === undefined) continue;
    const { ipv6Cidr } = view.subnets.find(({ subnetId }) => subnetId === eni.subnetId) ?? {};
    if (ipv6Cidr !== undefined) ipv6Gateways.set(link, subnetGateway(ipv6Cidr));
    const held = [...heldBy(eni, 4), ...(ipv6Cidr === undefined ? [] : heldBy(eni, 6))];
    for (const one of held) routes.set(blockOfHeld(one), link);
  }
  return {
    gateways: new Set(view.subnets.map(({ cidr }) => subnetGateway(cidr))),
    ipv6Gateways,
    links: new Map(plugged.map((link) => [link.routerLink, link.attachmentId])),
    routes,
  };
}

const blockOfHeld = (held: Ip | Cidr): Cidr => (held.includes('/') ? (held as Cidr) : hostCidr(held as Ip));

export interface RouterChange {
  /** `ip` commands in the router's namespace, whose objects may be gone already. */
  readonly removals: readonly string[];
  /** The state once the removals are done. */
  readonly remaining: RouterState;
  /** Links that the changes plug in. */
  readonly added: readonly EniLink[];
  /** `ip` commands in the router's namespace; once the links are there, each may be repeated. */
  readonly changes: readonly string[];
}

/** `nodeOf` names the namespace of an instance. */
export function routerChange(
  {
    have,
    want,
    plugged,
  }: { readonly have: RouterState; readonly want: RouterState; readonly plugged: readonly EniLink[] },
  nodeOf: (instanceId: InstanceId) => string,
): RouterChange {
  const links = new Map(
    [...have.links].filter(([link, attachmentId]) => want.links.get(link) === attachmentId),
  );
  // The kernel removes the routes of a link with the link.
  const kept = [...have.routes].filter(([, link]) => links.has(link));
  const routes = new Map(kept.filter(([block]) => want.routes.has(block)));
  const gateways = new Set([...have.gateways].filter((gateway) => want.gateways.has(gateway)));
  const ipv6Gateways = new Map(
    [...have.ipv6Gateways].filter(
      ([link, gateway]) => want.ipv6Gateways.get(link) === gateway && links.has(link),
    ),
  );
  const added = plugged.filter(({ routerLink }) => !links.has(routerLink));
  return {
    removals: [
      ...[...have.links.keys()].filter((link) => !links.has(link)).map((link) => `link del ${link}`),
      ...kept.filter(([block]) => !want.routes.has(block)).map(([block]) => `route del ${block}`),
      ...[...have.gateways]
        .filter((gateway) => !gateways.has(gateway))
        .map((gateway) => `addr del ${gateway}/32 dev lo`),
      ...[...have.ipv6Gateways]
        .filter(([link]) => links.has(link) && !ipv6Gateways.has(link))
        .map(([link, gateway]) => `addr del ${gateway}/128 dev ${link}`),
    ],
    remaining: { gateways, ipv6Gateways, links, routes },
    added,
    changes: [
      ...[...want.gateways]
        .filter((gateway) => !gateways.has(gateway))
        .map((gateway) => `addr replace ${gateway}/32 dev lo`),
      ...added.flatMap((link) => linkCommands(link, nodeOf)),
      ...[...want.ipv6Gateways]
        .filter(([link]) => !ipv6Gateways.has(link))
        .flatMap(([link, gateway]) => ipv6Commands(link, gateway, plugged)),
      ...[...want.routes]
        .filter(([block, link]) => routes.get(block) !== link)
        .map(
          ([block, link]) => `route replace ${block} via ${ENI_NEXT_HOP[familyOf(block)]} dev ${link} onlink`,
        ),
    ],
  };
}

/**
 * Stands for the ENI on each of the router's ENI links, so that one neighbour entry per link leads every address and
 * prefix to the ENI's MAC. It is never asked for or answered on the wire.
 */
const ENI_NEXT_HOP: Readonly<Record<IpFamily, string>> = { 4: '169.254.0.1', 6: 'fe80::a9fe:1' };

/** MTU inside a VPC: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/network_mtu.html */
const VPC_MTU = 9001;

const linkCommands = (
  { routerLink, eniId, mac, appearsAs, instanceId }: EniLink,
  nodeOf: (instanceId: InstanceId) => string,
): readonly string[] => [
  `link add name ${routerLink} mtu ${VPC_MTU} type veth ` +
    `peer name ${appearsAs} address ${mac} mtu ${VPC_MTU} netns ${nodeOf(instanceId)}`,
  `link set dev ${routerLink} alias ${eniId} up`,
  // The router answers ARP for every address of the VPC; by default it would wait up to 0.8 s before it does.
  `ntable change name arp_cache dev ${routerLink} proxy_delay 0`,
  `neigh replace ${ENI_NEXT_HOP[4]} lladdr ${mac} dev ${routerLink} nud permanent`,
];

/** The router as a neighbour of the ENI in IPv6, and the ENI as the router's. */
function ipv6Commands(link: string, gateway: Ip, plugged: readonly EniLink[]): readonly string[] {
  const mac = plugged.find(({ routerLink }) => routerLink === link)?.mac;
  assert(mac !== undefined, `${link} with an IPv6 gateway is plugged in`);
  return [
    `addr replace ${gateway}/128 dev ${link} nodad`,
    `neigh replace ${ENI_NEXT_HOP[6]} lladdr ${mac} dev ${link} nud permanent`,
  ];
}

/** What a cloud image's network configuration does with the primary ENI when the node starts. */
export function primaryEniCommands(link: EniLink, view: VpcView): readonly string[] {
  const eni = view.enis.find(({ eniId }) => eniId === link.eniId);
  const subnet = view.subnets.find(({ subnetId }) => subnetId === eni?.subnetId);
  if (eni === undefined || subnet === undefined) return [];
  return [
    `addr add ${eni.primaryAddress}/${cidrPrefixLength(subnet.cidr)} dev ${link.appearsAs}`,
    `link set dev ${link.appearsAs} up`,
    `route replace default via ${subnetGateway(subnet.cidr)} dev ${link.appearsAs}`,
  ];
}
