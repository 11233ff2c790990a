// What the node's own network should look like, from its spec and the links that exist (datapath.md, Host side).

import { cidrContains, hostCidr } from '../address/cidr.ts';
import { type Cidr, familyOf, type Ip, type IpFamily } from '../address/ip.ts';
import { hostIpv6Address } from '../address/ipv6-prefix.ts';
import { subnetGateway } from '../address/subnet.ts';
import type { EniId } from '../ids.ts';
import type { NodeNetworkSpec, SpecEni } from '../ipam/node-network.ts';
import { ipv6PrefixOf } from '../ipam/pod-addresses.ts';
import { eniOrdinal, eniTable } from './eni-ordinal.ts';
import {
  APART_BIT,
  APART_RULE_PRIORITY,
  type DesiredEniLink,
  type DesiredPod,
  type DesiredRoute,
  type DesiredRule,
  type DesiredSysctl,
  ENI_RULE_PRIORITY,
  type HostDatapath,
  MARK_MASK,
  PODS_RULE_PRIORITY,
  PODS_TABLE,
} from './host-datapath.ts';
import { areApart, type NftEni, renderNftTable } from './nft-table.ts';

export interface DesiredHostInput {
  readonly spec: Pick<NodeNetworkSpec, 'instance' | 'enis' | 'settings'>;
  /** The host's links in the kernel's order: a VLAN or bridge that shares an ENI's MAC comes after the ENI's own link. */
  readonly links: readonly { readonly name: string; readonly mac: string }[];
  /** Pods of the ledger, whose routes are to be repaired; none when absent. */
  readonly pods?: readonly DesiredPod[];
  /** Pod addresses that may reach instance metadata; none when absent. */
  readonly imdsAllowed?: readonly Ip[];
}

export interface DesiredHost {
  readonly host: HostDatapath;
  /** ENIs of the spec whose link is not there (yet). */
  readonly pending: readonly PendingEni[];
}

export interface PendingEni {
  readonly eniId: EniId;
  readonly mac: string;
}

/** An ENI with its number and its link. */
interface PlacedEni {
  readonly eni: SpecEni;
  readonly ordinal: number;
  readonly link: string;
}

/** The desired state of the host, and what of its pods is to be repaired. Pods are made and unmade elsewhere, one by one. */
export function desiredHost({ spec, links, pods = [], imdsAllowed = [] }: DesiredHostInput): DesiredHost {
  const linkByMac = new Map<string, string>();
  for (const { name, mac } of links) {
    const key = mac.toLowerCase();
    if (!linkByMac.has(key)) linkByMac.set(key, name);
  }
  const placed: PlacedEni[] = [];
  const pending: PendingEni[] = [];
  const nftEnis: NftEni[] = [];
  for (const eni of [...spec.enis].sort((a, b) => eniOrdinal(a) - eniOrdinal(b))) {
    const link = linkByMac.get(eni.mac.toLowerCase());
    const ordinal = eniOrdinal(eni);
    const blocks = blocksOf(eni);
    // An ENI without its link keeps its addresses in the table: they are pods' all the same, and SNAT must see them.
    const groups = [...eni.securityGroupIds].sort().join(' ');
    nftEnis.push({
      mark: ordinal,
      primary: eni.primary,
      blocks,
      groups,
      ...(link === undefined ? {} : { link }),
    });
    if (link === undefined) pending.push({ eniId: eni.eniId, mac: eni.mac });
    else placed.push({ eni, ordinal, link });
  }
  const families = familiesInUse(spec.enis);
  const primary = placed.find(({ eni }) => eni.primary);
  const host: HostDatapath = {
    eniLinks: placed.map(({ eni, link }) => eniLink(eni, link, spec.settings.mtu)),
    routes: families.flatMap((family) => placed.flatMap((eni) => eniRoutes(eni, family))),
    rules: families.flatMap((family) => [
      ...(areApart(nftEnis) ? apartRules(family, placed) : []),
      ...rulesOf(family, placed),
    ]),
    pods: pods.map(({ hostLink, hostMac, addresses }) => ({ hostLink, hostMac, addresses })),
    sysctls: sysctls(families, placed),
    nftTable: renderNftTable({
      settings: spec.settings,
      enis: nftEnis,
      imdsAllowed,
      ...(primary && { snat: { link: primary.link, address: spec.instance.primaryAddress } }),
    }),
  };
  return { host, pending };
}

/** What the ENI holds, each address once: those of a prefix are in the spec one by one, too. */
function blocksOf({ addresses, prefixes }: SpecEni): readonly Cidr[] {
  const isSingle = (ip: Ip): boolean => !prefixes.some((prefix) => cidrContains(prefix, ip));
  return [...addresses.filter(isSingle).map(hostCidr), ...prefixes];
}

/** IPv4 always; IPv6 as soon as pods may have any. A subnet's IPv6 block alone, which nobody uses, changes no node. */
function familiesInUse(enis: readonly SpecEni[]): readonly IpFamily[] {
  const texts = enis.flatMap((eni) => [eni.subnetCidr, ...eni.addresses, ...eni.prefixes]);
  return texts.some((text) => familyOf(text) === 6) ? [4, 6] : [4];
}

/** The block of the family that the ENI's subnet has. */
const subnetOf = ({ subnetCidr, subnetIpv6Cidr }: SpecEni, family: IpFamily): Cidr | undefined =>
  [subnetCidr, subnetIpv6Cidr].find((cidr) => cidr !== undefined && familyOf(cidr) === family);

function eniLink(eni: SpecEni, link: string, mtu: number): DesiredEniLink {
  const prefix = ipv6PrefixOf(eni);
  return {
    link,
    mac: eni.mac,
    mtu,
    primary: eni.primary,
    // Masquerading (kube-proxy's) takes an address of the link that a packet leaves by, and EC2 lets none but the ENI's
    // own pass.
    addresses: [eni.primaryAddress, ...(prefix === undefined ? [] : [hostIpv6Address(prefix)])],
  };
}

/** `onlink`, because the ENI's address is a /32: no route leads to the gateway, and none is wanted in the main table. */
function eniRoutes({ eni, ordinal, link }: PlacedEni, family: IpFamily): readonly DesiredRoute[] {
  const subnet = subnetOf(eni, family);
  if (subnet === undefined) return [];
  return [
    {
      family,
      table: eniTable(ordinal),
      destination: 'default',
      via: subnetGateway(subnet),
      link,
      onlink: true,
      scopeLink: false,
    },
  ];
}

const apartRules = (family: IpFamily, placed: readonly PlacedEni[]): readonly DesiredRule[] =>
  placed
    .filter(({ eni }) => !eni.primary && subnetOf(eni, family) !== undefined)
    .map(({ ordinal }) => ({
      family,
      priority: APART_RULE_PRIORITY,
      table: eniTable(ordinal),
      fwmark: { mark: ordinal | APART_BIT, mask: MARK_MASK },
    }));

const rulesOf = (family: IpFamily, placed: readonly PlacedEni[]): readonly DesiredRule[] => [
  { family, priority: PODS_RULE_PRIORITY, table: PODS_TABLE },
  ...placed
    .filter(({ eni }) => subnetOf(eni, family) !== undefined)
    .map(({ ordinal }) => ({
      family,
      priority: ENI_RULE_PRIORITY,
      table: eniTable(ordinal),
      fwmark: { mark: ordinal, mask: MARK_MASK },
    })),
];

function sysctls(families: readonly IpFamily[], placed: readonly PlacedEni[]): readonly DesiredSysctl[] {
  const wanted: DesiredSysctl[] = [
    { path: 'net/ipv4/ip_forward', value: '1' },
    // Loose: a packet may come in by one ENI while the route back to its source is by another.
    ...placed.map(({ link }) => ({ path: `net/ipv4/conf/${link}/rp_filter`, value: '2' })),
  ];
  const primary = placed.find(({ eni }) => eni.primary);
  // Without the primary link, forwarding has to wait: it would make that link forget its default route (accept_ra 1).
  if (!families.includes(6) || primary === undefined) return wanted;
  return [
    ...wanted,
    { path: `net/ipv6/conf/${primary.link}/accept_ra`, value: '2' },
    // The router says to every ENI that it is the default way: in table main that is the primary's alone.
    ...placed
      .filter(({ eni }) => !eni.primary)
      .map(({ link }) => ({ path: `net/ipv6/conf/${link}/accept_ra`, value: '0' })),
    { path: 'net/ipv6/conf/all/forwarding', value: '1' },
  ];
}
