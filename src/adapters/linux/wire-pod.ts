// Making a pod's wiring (datapath.md, "Pod side").

import { existsSync } from 'node:fs';
import { familyOf, type Ip, type IpFamily } from '../../domain/address/ip.ts';
import { PODS_TABLE, ROUTE_PROTOCOL } from '../../domain/datapath/host-datapath.ts';
import type { PodDatapath } from '../../domain/datapath/pod-datapath.ts';
import { addHostAddress, IFA_F_NODAD } from './address.ts';
import type { HostNamespace } from './host-namespace.ts';
import { KernelRefusal, unless } from './kernel-refusal.ts';
import { addVeth, deleteLink, getLink, isLinkName, type Link, LOOPBACK_INDEX, setLinkUp } from './link.ts';
import { waitOneMillisecond } from './libc.ts';
import { insideNamespace, type Namespace, withNamespace } from './namespace.ts';
import { replacePermanentNeighbour } from './neighbour.ts';
import type { NetlinkMessage } from './netlink-message.ts';
import { closeNetlink, openRouteSocket, request } from './netlink-socket.ts';
import { podGateway } from './pod-gateway.ts';
import { defaultRoute, hostRoute, type ListedRoute, MAIN_TABLE, replaceRoute, RTN_UNICAST } from './route.ts';
import { writeSysctl } from './sysctl.ts';

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
      wirePodSide(pod, namespace);
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

function wirePodSide(pod: PodDatapath, namespace: Namespace): void {
  const families = new Set(pod.addresses.map(familyOf));
  const netlink = insideNamespace(namespace, () => {
    quietIpv6(pod.podLink, families);
    return openRouteSocket();
  });
  try {
    const { index } = getLink(netlink, pod.podLink);
    request(netlink, [
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

function raiseHostEnd(host: HostNamespace, pod: PodDatapath, hostEnd: Link): void {
  insideNamespace(host.namespace, () => {
    // The nftables guard checks sources, per packet and for both families. With policy rules about, the kernel would look
    // each of them up once more, just to find that it is not one of the host's own: unless those were welcome.
    writeSysctl(`net/ipv4/conf/${pod.hostLink}/rp_filter`, '0');
    writeSysctl(`net/ipv4/conf/${pod.hostLink}/accept_local`, '1');
    quietIpv6(pod.hostLink, new Set(pod.addresses.map(familyOf)));
  });
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

/**
 * IPv6 on one end of a pod's veth. A pod without an IPv6 address gets none at all: a link-local address would be a way
 * between pod and host that no rule of ours sees. With one, neither end believes the other's router advertisements.
 */
function quietIpv6(link: string, families: ReadonlySet<IpFamily>): void {
  const directory = `net/ipv6/conf/${link}`;
  if (families.has(6)) {
    writeSysctl(`${directory}/disable_ipv6`, '0');
    writeSysctl(`${directory}/accept_ra`, '0');
    writeSysctl(`${directory}/accept_dad`, '0');
  } else if (existsSync(`/proc/sys/${directory}`)) {
    writeSysctl(`${directory}/disable_ipv6`, '1');
  }
}

/** An IPv6 blackhole is listed as if it led to lo, so its type tells, not its link. */
export const isOrphan = (route: ListedRoute): boolean => route.type !== RTN_UNICAST || route.linkIndex === 0;
