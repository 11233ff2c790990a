// ENI links: up, MTU, the ENI's own addresses, and no subnet route in table main.

import { bitsOf, familyOf, type Ip } from '../../domain/address/ip.ts';
import type { DesiredEniLink } from '../../domain/datapath/host-datapath.ts';
import {
  addHostAddress,
  deleteAddress,
  IFA_F_NODAD,
  IFA_F_NOPREFIXROUTE,
  type LinkAddress,
  listAddresses,
} from './address.ts';
import { attempt, type Changes, change } from './changes.ts';
import type { HostNamespace } from './host-namespace.ts';
import { KernelRefusal } from './kernel-refusal.ts';
import { type Link, setLinkMtu, setLinkUp } from './link.ts';
import type { NetlinkMessage } from './netlink-message.ts';
import { deleteRoute, listRoutes, MAIN_TABLE, PROTOCOL_KERNEL, RTN_UNICAST } from './route.ts';
import type { Sight } from './sight.ts';

export function applyEniLinks(host: HostNamespace, sight: Sight, changes: Changes): void {
  const { desired } = sight;
  const links = new Map(sight.links.map((link) => [link.name, link]));
  const addresses = listAddresses(host.netlink);
  for (const eni of desired.eniLinks) {
    attempt(changes, () => {
      const link = links.get(eni.link);
      checkEniLink(eni, link);
      const messages = [
        ...linkMessages(eni, link),
        ...(eni.primary ? [] : eni.addresses.flatMap((ip) => addressMessages(ip, link, addresses))),
      ];
      change(host, messages, changes);
      if (!eni.primary) change(host, subnetRouteMessages(host, link), changes);
    });
  }
}

function checkEniLink(eni: DesiredEniLink, link: Link | undefined): asserts link is Link {
  const step = `set up ENI link ${eni.link}`;
  if (link === undefined) throw new KernelRefusal(step, 'ENODEV', `no link ${eni.link} (for MAC ${eni.mac})`);
  if (link.mac !== eni.mac.toLowerCase()) {
    throw new KernelRefusal(
      step,
      'ENODEV',
      `${eni.link} has MAC ${link.mac}, not ${eni.mac}: renamed meanwhile?`,
    );
  }
}

function linkMessages(eni: DesiredEniLink, link: Link): readonly NetlinkMessage[] {
  const messages: NetlinkMessage[] = [];
  if (link.mtu !== eni.mtu) messages.push(setLinkMtu(link.index, link.name, eni.mtu));
  if (!link.up) messages.push(setLinkUp(link.index, link.name));
  return messages;
}

/** The ENI's address as /32 or /128. The same address with a subnet's length, as DHCP would set it, makes way. */
function addressMessages(ip: Ip, link: Link, addresses: readonly LinkAddress[]): readonly NetlinkMessage[] {
  const own = addresses.filter((address) => address.linkIndex === link.index && address.ip === ip);
  const length = bitsOf(familyOf(ip));
  // EC2 vouches that nobody else has it: there is nothing to detect.
  const flags = IFA_F_NOPREFIXROUTE | (familyOf(ip) === 6 ? IFA_F_NODAD : 0);
  const present = own.some(({ prefixLength }) => prefixLength === length);
  return [
    ...(present ? [] : [addHostAddress(link.index, link.name, ip, flags)]),
    ...own
      .filter(({ prefixLength }) => prefixLength !== length)
      .map((address) => deleteAddress(address, link.name)),
  ];
}

/**
 * Deletes subnet routes that the kernel made in table main for addresses that others put on a secondary ENI: they would
 * draw the subnet's traffic to this ENI, with the primary's source address. Link-local and multicast routes stay.
 */
function subnetRouteMessages(host: HostNamespace, link: Link): readonly NetlinkMessage[] {
  return ([4, 6] as const)
    .flatMap((family) => listRoutes(host.netlink, family, { table: MAIN_TABLE, protocol: PROTOCOL_KERNEL }))
    .filter(
      (route) =>
        route.linkIndex === link.index &&
        route.type === RTN_UNICAST &&
        route.destination !== 'fe80::/64' &&
        route.destination !== 'default',
    )
    .map((route) => deleteRoute(route, link.name));
}
