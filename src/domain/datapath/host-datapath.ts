// The desired state of a node's own network: links, routes, rules, sysctls and the nftables table, as data.

import type { Cidr, Ip, IpFamily } from '../address/ip.ts';

export interface DesiredEniLink {
  /** Link name as found by MAC; names may change, the MAC does not. */
  readonly link: string;
  readonly mac: string;
  readonly mtu: number;
  readonly primary: boolean;
  /**
   * The ENI's own: its primary address, and one of its /80. They are added as /32 and /128 on secondary ENIs; the primary
   * ENI's addressing is the node's own business.
   */
  readonly addresses: readonly Ip[];
}

export interface DesiredRoute {
  readonly family: IpFamily;
  readonly table: number;
  readonly destination: Cidr | 'default';
  readonly via?: Ip;
  readonly link: string;
  readonly onlink: boolean;
  readonly scopeLink: boolean;
}

export interface DesiredRule {
  readonly family: IpFamily;
  readonly priority: number;
  readonly table: number;
  readonly fwmark?: { readonly mark: number; readonly mask: number };
}

/** What is kept of a wired pod on the host: its link's name and group, that it is up, and its routes in table PODS. */
export interface DesiredPod {
  readonly hostLink: string;
  /** By which the link is known when another program has renamed it. */
  readonly hostMac: string;
  readonly addresses: readonly Ip[];
}

export interface DesiredSysctl {
  /** Path below /proc/sys, such as `net/ipv4/ip_forward`. */
  readonly path: string;
  readonly value: string;
}

export interface HostDatapath {
  readonly eniLinks: readonly DesiredEniLink[];
  readonly routes: readonly DesiredRoute[];
  readonly rules: readonly DesiredRule[];
  /**
   * Pods whose links are kept up, and routed to where a link of the name exists. One that is not listed loses nothing:
   * pods come and go while a list is on its way.
   */
  readonly pods: readonly DesiredPod[];
  readonly sysctls: readonly DesiredSysctl[];
  /** The whole `table inet eniwhere { ... }`, without the statements that replace the old one. */
  readonly nftTable: string;
}

/** Routing tables and priorities that are Eniwhere's; whatever else is there belongs to others and stays untouched. */
export const PODS_TABLE = 1000;
export const PODS_RULE_PRIORITY = 512;
/** Before the pods' table: what goes to a pod of the node under other security groups leaves by its own ENI. */
export const APART_RULE_PRIORITY = 511;
export const ENI_RULE_PRIORITY = 1536;
export const MARK_MASK = 0x7f;
/** With an ENI's number: leave by it although the destination is on the node. No ENI that serves pods has a number so high. */
export const APART_BIT = 0x40;
export const NFT_TABLE = 'eniwhere';
/** Group of the host ends of pods' links (`ip link show group 225`): how the guard knows them, whatever they are called. */
export const POD_LINK_GROUP = 0xe1;
/** rtnetlink protocol number on every route and rule of ours: how we know our own (values above 4 are free to use). */
export const ROUTE_PROTOCOL = 0xe1;
