// Making a pod's wiring (datapath.md, "Pod side").

import { familyOf, type Ip } from '../../domain/address/ip.ts';
import { PODS_TABLE, ROUTE_PROTOCOL } from '../../domain/datapath/host-datapath.ts';
import type { PodDatapath } from '../../domain/datapath/pod-datapath.ts';
import { addHostAddress, IFA_F_NODAD } from './address.ts';
import type { HostNamespace } from './host-namespace.ts';
import { KernelRefusal, unless } from './kernel-refusal.ts';
import {
  addVeth,
  deleteLink,
  getLink,
  isLinkName,
  type Link,
  LOOPBACK_INDEX,
  setLinkUp,
  setNoIpv6Address,
} from './link.ts';
import { waitOneMillisecond } from './libc.ts';
import { insideNamespace, type Namespace, withNamespace } from './namespace.ts';
import { replacePermanentNeighbour } from './neighbour.ts';
import type { NetlinkMessage } from './netlink-message.ts';
import { closeNetlink, openRouteSocket, request } from './netlink-socket.ts';
import { podGateway } from './pod-gateway.ts';
import { defaultRoute, hostRoute, MAIN_TABLE, replaceRoute } from './route.ts';
import { writeLinkSetting, writeSysctl } from './sysctl.ts';

/** Not a limit for wiring: a link that takes longer will be up a little later. */
const CARRIER_WAIT_MS_MAX = 20;
const MAC = /^[0-9a-f]{2}(?::[0-9a-f]{2}){5}$/;

/** Makes the whole pod, or throws and leaves nothing of it. */
export function wirePod(host: HostNamespace, pod: PodDatapath): void {
  checkPod(pod);
  withNamespace(pod.netnsPath, (namespace) => {
    const hostEnd = addPodVeth(host, pod, namespace);
    let committed = false;
    try {
      raiseHostEnd(host, pod, hostEnd);
      wirePodSide(host, pod, namespace);
      routeToPod(host, pod, hostEnd);
      committed = true;
    } finally {
      // Either end's deletion takes with it the other end, all addresses, neighbours and routes.
      if (!committed) deleteIfThere(host, hostEnd);
    }
  });
}

function checkPod(pod: PodDatapath): void {
  const step = `wire pod behind ${pod.hostLink}`;
  for (const name of [pod.hostLink, pod.podLink]) {
    if (!isLinkName(name)) throw new KernelRefusal(step, 'EINVAL', `"${name}" is not a link name`);
  }
  for (const mac of [pod.hostMac, pod.podMac]) {
    if (!MAC.test(mac)) throw new KernelRefusal(step, 'EINVAL', `"${mac}" is not a lower-case MAC address`);
  }
  if (pod.addresses.length === 0) throw new KernelRefusal(step, 'EINVAL', 'a pod has at least one address');
}

/** The veth pair; an old link of the same name makes way. Answers the host end. */
function addPodVeth(host: HostNamespace, pod: PodDatapath, namespace: Namespace): Link {
  const add = (): true => {
    request(host.netlink, [addVeth({ ...pod, podNamespaceFd: namespace.fd })]);
    return true;
  };
  const added = unless(['EEXIST'], () => {
    try {
      return add();
    } catch (error) {
      // EINVAL may mean that the descriptor is no network namespace; if so, entering it says so.
      insideNamespace(namespace, () => {});
      throw error;
    }
  });
  if (added === undefined) {
    // EEXIST does not say which of the two names is taken. Whoever holds the host's belongs to an old sandbox.
    if (!removeVeth(host, pod.hostLink)) {
      throw new KernelRefusal(
        `ip link add ${pod.hostLink} type veth peer name ${pod.podLink}`,
        'EEXIST',
        `${pod.netnsPath} already has a link ${pod.podLink}`,
      );
    }
    add();
  }
  return getLink(host.netlink, pod.hostLink);
}

function deleteIfThere(host: HostNamespace, link: Link): void {
  unless(['ENODEV'], () => request(host.netlink, [deleteLink(link.index, link.name)]));
}

/** Deletes the veth of this name; false when there is no link of this name. Refuses links that are no veth. */
function removeVeth(host: HostNamespace, name: string): boolean {
  const link = podVeth(host, name);
  if (link !== undefined) deleteIfThere(host, link);
  return link !== undefined;
}

/** The veth of this name; undefined when there is no link of this name. Refuses links that are no veth. */
export function podVeth(host: HostNamespace, name: string): Link | undefined {
  const link = unless(['ENODEV'], () => getLink(host.netlink, name));
  if (link === undefined || link.kind === 'veth') return link;
  throw new KernelRefusal(`ip link del ${name}`, 'EPERM', `${name} is not a veth: it is not a pod's link`);
}

/**
 * A pod without an IPv6 address gets none by its link's mode, which needs no look into the namespace's sysctls: that one
 * takes the longer the more namespaces there are (sysctl.ts).
 */
function wirePodSide({ linkSettings }: HostNamespace, pod: PodDatapath, namespace: Namespace): void {
  const hasIpv6 = pod.addresses.some((ip) => familyOf(ip) === 6);
  const netlink = insideNamespace(namespace, () => {
    if (hasIpv6) {
      const directory = `net/ipv6/conf/${pod.podLink}`;
      for (const [setting, value] of IPV6_SETTINGS) writeSysctl(`${directory}/${setting}`, value);
    }
    return openRouteSocket();
  });
  try {
    const { index } = getLink(netlink, pod.podLink);
    const isQuiet = hasIpv6 || linkSettings.ipv6 === undefined;
    request(netlink, [
      ...(isQuiet ? [] : [setNoIpv6Address(index, pod.podLink)]),
      setLinkUp(LOOPBACK_INDEX, 'lo'),
      setLinkUp(index, pod.podLink),
      ...pod.addresses.flatMap((ip) => podAddressMessages(pod, index, ip)),
    ]);
  } finally {
    closeNetlink(netlink);
  }
}

/** Address, gateway's neighbour, route to the gateway, default route: in the order in which each needs the one before. */
function podAddressMessages(pod: PodDatapath, index: number, ip: Ip): readonly NetlinkMessage[] {
  const family = familyOf(ip);
  const gateway = podGateway(family);
  return [
    addHostAddress(index, pod.podLink, ip, family === 6 ? IFA_F_NODAD : 0),
    replacePermanentNeighbour(index, pod.podLink, { ip: gateway, mac: pod.hostMac }),
    replaceRoute(hostRoute(gateway, { linkIndex: index, table: MAIN_TABLE }), pod.podLink),
    replaceRoute(defaultRoute(gateway, index), pod.podLink),
  ];
}

/** With an IPv6 address: IPv6 on, no belief in router advertisements, and nothing to detect. */
const IPV6_SETTINGS = [
  ['disable_ipv6', '0'],
  ['accept_ra', '0'],
  ['accept_dad', '0'],
] as const;

function raiseHostEnd(host: HostNamespace, pod: PodDatapath, hostEnd: Link): void {
  const { ipv4, ipv6 } = host.linkSettings;
  // The nftables guard checks sources, per packet and for both families. With policy rules about, the kernel would look
  // each of them up once more, just to find that it is not one of the host's own: unless those were welcome.
  writeLinkSetting(ipv4, `${pod.hostLink}/rp_filter`, '0');
  writeLinkSetting(ipv4, `${pod.hostLink}/accept_local`, '1');
  if (pod.addresses.some((ip) => familyOf(ip) === 6)) {
    if (ipv6 === undefined)
      throw new KernelRefusal(`wire pod behind ${pod.hostLink}`, 'EAFNOSUPPORT', 'this kernel has no IPv6');
    for (const [setting, value] of IPV6_SETTINGS) writeLinkSetting(ipv6, `${pod.hostLink}/${setting}`, value);
  } else if (ipv6 !== undefined) {
    // A link-local address would be a way between pod and host that no rule of ours sees.
    writeLinkSetting(ipv6, `${pod.hostLink}/disable_ipv6`, '1');
  }
  request(host.netlink, [setLinkUp(hostEnd.index, pod.hostLink)]);
}

/**
 * Last of all, so that what comes before may fail without touching a route. The host end, which was set up while the
 * other was down, drops packets until the kernel's own work queue has seen that both are up: a pod's first connection
 * would then wait a second for its retransmission. Asking for the link makes newer kernels (6.8) do that work at once;
 * for older ones, it is asked for until it is done.
 */
function routeToPod(host: HostNamespace, pod: PodDatapath, hostEnd: Link): void {
  request(
    host.netlink,
    pod.addresses.map((ip) => replaceRoute(podRoute(ip, hostEnd.index), pod.hostLink)),
  );
  for (let waitedMs = 0; waitedMs < CARRIER_WAIT_MS_MAX; waitedMs++) {
    if (getLink(host.netlink, pod.hostLink).operational) return;
    waitOneMillisecond();
  }
}

export const podRoute = (ip: Ip, linkIndex: number): ReturnType<typeof hostRoute> =>
  hostRoute(ip, { linkIndex, table: PODS_TABLE, protocol: ROUTE_PROTOCOL });
