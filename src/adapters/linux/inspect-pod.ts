// Comparing a pod's wiring with the kernel: CNI CHECK, and what a starting agent finds.

import { bitsOf, familyOf, type Ip } from '../../domain/address/ip.ts';
import { compareIps } from '../../domain/address/ip-number.ts';
import { PODS_TABLE, ROUTE_PROTOCOL } from '../../domain/datapath/host-datapath.ts';
import type { PodDatapath } from '../../domain/datapath/pod-datapath.ts';
import type { PodLinkView } from '../../ports/network-stack.ts';
import { IFA_F_DADFAILED, listAddresses } from './address.ts';
import type { HostNamespace } from './host-namespace.ts';
import { unless } from './kernel-refusal.ts';
import { getLink, type Link, listLinks, LOOPBACK_INDEX } from './link.ts';
import { insideNamespace, withNamespace } from './namespace.ts';
import { listNeighbours } from './neighbour.ts';
import { closeNetlink, type NetlinkSocket, openRouteSocket } from './netlink-socket.ts';
import { podGateway } from './pod-gateway.ts';
import { isOrphan, type ListedRoute, listRoutes, MAIN_TABLE } from './route.ts';

/** What differs from `pod`, one sentence each. */
export function inspectPod(host: HostNamespace, pod: PodDatapath): readonly string[] {
  const hostEnd = unless(['ENODEV'], () => getLink(host.netlink, pod.hostLink));
  const onHost =
    hostEnd === undefined
      ? [`the host has no link ${pod.hostLink}`]
      : [...linkDifferences(hostEnd, pod.hostMac, pod.mtu), ...hostRouteDifferences(host, pod, hostEnd)];
  const inPod = unless(['ENOENT', 'ENOTDIR', 'EINVAL'], () =>
    withNamespace(pod.netnsPath, (namespace) =>
      podSideDifferences(insideNamespace(namespace, openRouteSocket), pod, hostEnd),
    ),
  );
  return [...onHost, ...(inPod ?? [`${pod.netnsPath} is not a network namespace (any more)`])];
}

function linkDifferences(link: Link, mac: string, mtu: number): readonly string[] {
  const differences: string[] = [];
  if (link.kind !== 'veth') differences.push(`link ${link.name} is not a veth`);
  if (link.mac !== mac) differences.push(`link ${link.name} has MAC ${link.mac}, not ${mac}`);
  if (link.mtu !== mtu) differences.push(`link ${link.name} has MTU ${link.mtu}, not ${mtu}`);
  if (!link.up) differences.push(`link ${link.name} is down`);
  return differences;
}

function hostRouteDifferences(host: HostNamespace, pod: PodDatapath, hostEnd: Link): readonly string[] {
  return pod.addresses.flatMap((ip) => {
    const routes = listRoutes(host.netlink, familyOf(ip), { table: PODS_TABLE });
    const route = routes.find(({ destination }) => destination === `${ip}/${bitsOf(familyOf(ip))}`);
    if (route === undefined) return [`table ${PODS_TABLE} has no route to ${ip}`];
    return route.linkIndex === hostEnd.index && !isOrphan(route)
      ? []
      : [`table ${PODS_TABLE} routes ${ip} elsewhere than to ${pod.hostLink}`];
  });
}

function podSideDifferences(
  netlink: NetlinkSocket,
  pod: PodDatapath,
  hostEnd: Link | undefined,
): readonly string[] {
  try {
    const podEnd = unless(['ENODEV'], () => getLink(netlink, pod.podLink));
    if (podEnd === undefined) return [`the pod has no link ${pod.podLink}`];
    const links = linkDifferences(podEnd, pod.podMac, pod.mtu);
    const loopback = listLinks(netlink).find(({ index }) => index === LOOPBACK_INDEX);
    return [
      ...links.map((difference) => `in the pod, ${difference}`),
      ...(hostEnd !== undefined && podEnd.peerIndex !== hostEnd.index
        ? [`the pod's ${pod.podLink} is not the other end of ${pod.hostLink}`]
        : []),
      ...(loopback?.up === true ? [] : ['in the pod, link lo is down']),
      ...addressDifferences(netlink, pod, podEnd),
      ...pod.addresses.flatMap((ip) => gatewayDifferences(netlink, pod, podEnd, ip)),
    ];
  } finally {
    closeNetlink(netlink);
  }
}

function addressDifferences(netlink: NetlinkSocket, pod: PodDatapath, podEnd: Link): readonly string[] {
  const present = listAddresses(netlink).filter(({ linkIndex }) => linkIndex === podEnd.index);
  const missing = pod.addresses.flatMap((ip) => {
    const found = present.find(
      (address) => address.ip === ip && address.prefixLength === bitsOf(familyOf(ip)),
    );
    if (found === undefined) return [`the pod's ${pod.podLink} lacks address ${ip}`];
    return (found.flags & IFA_F_DADFAILED) === 0
      ? []
      : [`another holder of ${ip} was found on ${pod.podLink}`];
  });
  const extra = present
    .filter(({ ip }) => !pod.addresses.includes(ip) && !ip.startsWith('fe80:'))
    .map(({ ip }) => `the pod's ${pod.podLink} has address ${ip}, which is not its own`);
  return [...missing, ...extra];
}

function gatewayDifferences(
  netlink: NetlinkSocket,
  pod: PodDatapath,
  podEnd: Link,
  ip: Ip,
): readonly string[] {
  const family = familyOf(ip);
  const gateway = podGateway(family);
  const routes = listRoutes(netlink, family, { table: MAIN_TABLE }).filter(
    ({ linkIndex }) => linkIndex === podEnd.index,
  );
  const differences: string[] = [];
  const neighbour = listNeighbours(netlink).find(
    (candidate) => candidate.linkIndex === podEnd.index && candidate.ip === gateway,
  );
  if (neighbour?.permanent !== true || neighbour.mac !== pod.hostMac) {
    differences.push(`the pod's neighbour ${gateway} is not permanently ${pod.hostMac}`);
  }
  if (
    !routes.some(
      ({ destination, via }) => destination === `${gateway}/${bitsOf(family)}` && via === undefined,
    )
  ) {
    differences.push(`the pod has no link route to ${gateway}`);
  }
  if (!routes.some(({ destination, via }) => destination === 'default' && via === gateway)) {
    differences.push(`the pod has no default route via ${gateway}`);
  }
  return differences;
}

/** Host veths with the prefix, and all addresses routed in table PODS, sorted by link name. */
export function listPodLinks(host: HostNamespace, vethPrefix: string): readonly PodLinkView[] {
  const links = listLinks(host.netlink);
  const nameOf = new Map(links.map(({ index, name }) => [index, name]));
  const addressesOf = new Map<string, Ip[]>();
  for (const { name, kind } of links) {
    if (kind === 'veth' && name.startsWith(vethPrefix)) addressesOf.set(name, []);
  }
  for (const route of ([4, 6] as const).flatMap((family) => podRoutes(host, family))) {
    const name = isOrphan(route) ? '' : (nameOf.get(route.linkIndex) ?? '');
    const addresses = addressesOf.get(name) ?? [];
    addresses.push(route.destination.split('/')[0] as Ip);
    addressesOf.set(name, addresses);
  }
  return [...addressesOf]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([hostLink, addresses]) => ({ hostLink, addresses: addresses.sort(compareIps) }));
}

const podRoutes = (host: HostNamespace, family: 4 | 6): readonly ListedRoute[] =>
  listRoutes(host.netlink, family, { table: PODS_TABLE, protocol: ROUTE_PROTOCOL }).filter(
    ({ destination }) => destination.endsWith(`/${bitsOf(family)}`),
  );
