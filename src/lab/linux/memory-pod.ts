// A pod's wiring in the memory kernel: made, unmade and compared step by step, with the kernel's refusals.

import { hostCidr } from '../../domain/address/cidr.ts';
import { bitsOf, type Cidr, familyOf, type Ip, type IpFamily } from '../../domain/address/ip.ts';
import { compareIps } from '../../domain/address/ip-number.ts';
import { PODS_TABLE, ROUTE_PROTOCOL } from '../../domain/datapath/host-datapath.ts';
import type { PodDatapath } from '../../domain/datapath/pod-datapath.ts';
import { err, ok, type Result } from '../../domain/result.ts';
import type { PodLinkView, StackFailure } from '../../ports/network-stack.ts';
import {
  dropLink,
  type MemoryHost,
  type MemoryKernel,
  type MemoryNamespace,
  type MemoryPodLink,
  type MemoryRoute,
} from './memory-kernel.ts';

/** IFNAMSIZ less the ending zero. */
const LINK_NAME_LENGTH_MAX = 15;
/** ETH_MIN_MTU and ETH_MAX_MTU. */
const VETH_MTU_MIN = 68;
const VETH_MTU_MAX = 65_535;
const MAC = /^[0-9a-f]{2}(?::[0-9a-f]{2}){5}$/;
const GATEWAY_IPV4 = '169.254.1.1' as Ip;
const GATEWAY_IPV6 = 'fe80::1' as Ip;

const gatewayOf = (family: IpFamily): Ip => (family === 4 ? GATEWAY_IPV4 : GATEWAY_IPV6);

export const refusal = (step: string, errno: string, detail = ''): StackFailure => ({
  step,
  errno,
  message: `${step}: ${errno}${detail === '' ? '' : ` (${detail})`}`,
});

const isLinkName = (name: string): boolean =>
  name.length > 0 && name.length <= LINK_NAME_LENGTH_MAX && !/[\s/]/.test(name);

/** Step 1: the veth pair, both ends down. An old veth of the same name makes way. */
export function addVeth(kernel: MemoryKernel, pod: PodDatapath): Result<void, StackFailure> {
  const step = `ip link add ${pod.hostLink} type veth peer name ${pod.podLink}`;
  const invalid =
    [pod.hostLink, pod.podLink].find((name) => !isLinkName(name)) ??
    [pod.hostMac, pod.podMac].find((mac) => !MAC.test(mac));
  if (invalid !== undefined) return err(refusal(step, 'EINVAL', `"${invalid}"`));
  if (pod.addresses.length === 0) return err(refusal(step, 'EINVAL', 'a pod has at least one address'));
  if (pod.mtu < VETH_MTU_MIN || pod.mtu > VETH_MTU_MAX) return err(refusal(step, 'EINVAL', `MTU ${pod.mtu}`));
  const namespace = kernel.namespaces.get(pod.netnsPath);
  if (namespace === undefined) return err(refusal(`open network namespace ${pod.netnsPath}`, 'ENOENT'));
  const old = kernel.host.links.find(({ name }) => name === pod.hostLink);
  if (old !== undefined) {
    const removed = removeVeth(kernel, pod.hostLink);
    if (!removed.ok) return removed;
  }
  if (pod.podLink === 'lo' || namespace.links.some(({ name }) => name === pod.podLink)) {
    return err(refusal(step, 'EEXIST', `${pod.netnsPath} already has a link ${pod.podLink}`));
  }
  kernel.edit((host) => {
    host.links.push({
      index: kernel.nextLinkIndex(),
      name: pod.hostLink,
      mac: pod.hostMac,
      up: false,
      mtu: pod.mtu,
      kind: 'veth',
      addresses: [],
      peer: { netnsPath: pod.netnsPath, link: pod.podLink },
    });
    namespace.links.push({
      name: pod.podLink,
      mac: pod.podMac,
      mtu: pod.mtu,
      up: false,
      hostLink: pod.hostLink,
      addresses: [],
      neighbours: new Map(),
      routes: [],
    });
  });
  return ok(undefined);
}

/** Step 2: addresses, gateway and routes in the pod's namespace, which may have gone meanwhile. */
export function wirePodSide(kernel: MemoryKernel, pod: PodDatapath): Result<void, StackFailure> {
  const namespace = kernel.namespaces.get(pod.netnsPath);
  const link = podLinkOf(namespace, pod);
  if (namespace === undefined || link === undefined) {
    return err(refusal(`ip link show ${pod.podLink}`, 'ENODEV'));
  }
  const twice = pod.addresses.find((ip, index) => pod.addresses.indexOf(ip) !== index);
  if (twice !== undefined) {
    return err(refusal(`ip addr add ${hostCidr(twice)} dev ${pod.podLink}`, 'EEXIST'));
  }
  kernel.edit(() => {
    namespace.loopbackUp = true;
    link.up = true;
    for (const ip of pod.addresses) {
      const gateway = gatewayOf(familyOf(ip));
      link.addresses.push(ip);
      link.neighbours.set(gateway, pod.hostMac);
      link.routes.push({ destination: hostCidr(gateway) }, { destination: 'default', via: gateway });
    }
  });
  return ok(undefined);
}

/** Step 3: the host end up, and the pod's routes, each in place of any other route to its address. */
export function wireHostSide(kernel: MemoryKernel, pod: PodDatapath): Result<void, StackFailure> {
  const link = kernel.host.links.find(({ name }) => name === pod.hostLink);
  if (link === undefined) return err(refusal(`ip link set ${pod.hostLink} up`, 'ENODEV'));
  kernel.edit((host) => {
    link.up = true;
    host.sysctls.set(`net/ipv4/conf/${pod.hostLink}/rp_filter`, '0');
    const destinations = new Set<Cidr | 'default'>(pod.addresses.map(hostCidr));
    host.routes = host.routes.filter(
      ({ table, destination }) => table !== PODS_TABLE || !destinations.has(destination),
    );
    for (const ip of pod.addresses) host.routes.push(podRoute(ip, pod.hostLink));
  });
  return ok(undefined);
}

export const podRoute = (ip: Ip, hostLink: string): MemoryRoute => ({
  family: familyOf(ip),
  table: PODS_TABLE,
  destination: hostCidr(ip),
  link: hostLink,
  onlink: false,
  scopeLink: familyOf(ip) === 4,
  protocol: ROUTE_PROTOCOL,
});

const podLinkOf = (namespace: MemoryNamespace | undefined, pod: PodDatapath): MemoryPodLink | undefined =>
  namespace?.links.find(({ name, hostLink }) => name === pod.podLink && hostLink === pod.hostLink);

/** Deletes both ends of a veth. Succeeds when there is no such link; refuses links that are no veth. */
export function removeVeth(kernel: MemoryKernel, hostLink: string): Result<void, StackFailure> {
  const link = kernel.host.links.find(({ name }) => name === hostLink);
  if (link === undefined) return ok(undefined);
  const { peer } = link;
  if (peer === undefined) {
    return err(
      refusal(`ip link del ${hostLink}`, 'EPERM', `${hostLink} is not a veth: it is not a pod's link`),
    );
  }
  kernel.edit((host, namespaces) => {
    dropLink(host, hostLink);
    for (const path of host.sysctls.keys()) {
      if (path.includes(`/conf/${hostLink}/`)) host.sysctls.delete(path);
    }
    const namespace = namespaces.get(peer.netnsPath);
    if (namespace !== undefined) {
      namespace.links = namespace.links.filter((candidate) => candidate.hostLink !== hostLink);
    }
  });
  return ok(undefined);
}

/** Deletes routes of ours in table PODS to these addresses that lead to no link. */
export function removeOrphanRoutes(kernel: MemoryKernel, addresses: readonly Ip[]): void {
  const destinations = new Set<Cidr | 'default'>(addresses.map(hostCidr));
  const isOrphan = (route: MemoryHost['routes'][number]): boolean =>
    isPodRoute(route) && route.blackhole === true && destinations.has(route.destination);
  if (!kernel.host.routes.some(isOrphan)) return;
  kernel.edit((host) => {
    host.routes = host.routes.filter((route) => !isOrphan(route));
  });
}

const isPodRoute = ({ table, protocol }: MemoryHost['routes'][number]): boolean =>
  table === PODS_TABLE && protocol === ROUTE_PROTOCOL;

/** What differs from `pod`, one sentence each. */
export function inspectPod(kernel: MemoryKernel, pod: PodDatapath): readonly string[] {
  const { host } = kernel;
  const hostEnd = host.links.find(({ name }) => name === pod.hostLink);
  const namespace = kernel.namespaces.get(pod.netnsPath);
  return [
    ...(hostEnd === undefined
      ? [`the host has no link ${pod.hostLink}`]
      : [
          ...(hostEnd.kind === 'veth' ? [] : [`link ${pod.hostLink} is not a veth`]),
          ...linkDifferences(hostEnd, pod.hostMac, pod.mtu),
          ...pod.addresses.flatMap((ip) => hostRouteDifferences(host, pod.hostLink, ip)),
        ]),
    ...(namespace === undefined
      ? [`${pod.netnsPath} is not a network namespace (any more)`]
      : podSideDifferences(namespace, pod)),
  ];
}

function linkDifferences(
  link: { readonly name: string; readonly mac: string; readonly mtu: number; readonly up: boolean },
  mac: string,
  mtu: number,
): readonly string[] {
  const differences: string[] = [];
  if (link.mac !== mac) differences.push(`link ${link.name} has MAC ${link.mac}, not ${mac}`);
  if (link.mtu !== mtu) differences.push(`link ${link.name} has MTU ${link.mtu}, not ${mtu}`);
  if (!link.up) differences.push(`link ${link.name} is down`);
  return differences;
}

function hostRouteDifferences(host: MemoryHost, hostLink: string, ip: Ip): readonly string[] {
  const route = host.routes.find(
    ({ table, destination }) => table === PODS_TABLE && destination === hostCidr(ip),
  );
  if (route === undefined) return [`table ${PODS_TABLE} has no route to ${ip}`];
  return route.link === hostLink ? [] : [`table ${PODS_TABLE} routes ${ip} elsewhere than to ${hostLink}`];
}

function podSideDifferences(namespace: MemoryNamespace, pod: PodDatapath): readonly string[] {
  const link = namespace.links.find(({ name }) => name === pod.podLink);
  if (link === undefined) return [`the pod has no link ${pod.podLink}`];
  const extra = link.addresses.filter((ip) => !pod.addresses.includes(ip));
  return [
    ...linkDifferences(link, pod.podMac, pod.mtu).map((difference) => `in the pod, ${difference}`),
    ...(link.hostLink === pod.hostLink
      ? []
      : [`the pod's ${pod.podLink} is not the other end of ${pod.hostLink}`]),
    ...(namespace.loopbackUp ? [] : ['in the pod, link lo is down']),
    ...pod.addresses
      .filter((ip) => !link.addresses.includes(ip))
      .map((ip) => `the pod's ${pod.podLink} lacks address ${ip}`),
    ...extra.map((ip) => `the pod's ${pod.podLink} has address ${ip}, which is not its own`),
    ...pod.addresses.flatMap((ip) => gatewayDifferences(link, pod, familyOf(ip))),
  ];
}

function gatewayDifferences(link: MemoryPodLink, pod: PodDatapath, family: IpFamily): readonly string[] {
  const gateway = gatewayOf(family);
  const differences: string[] = [];
  if (link.neighbours.get(gateway) !== pod.hostMac) {
    differences.push(`the pod's neighbour ${gateway} is not permanently ${pod.hostMac}`);
  }
  if (!link.routes.some(({ destination }) => destination === hostCidr(gateway))) {
    differences.push(`the pod has no link route to ${gateway}`);
  }
  if (!link.routes.some(({ destination, via }) => destination === 'default' && via === gateway)) {
    differences.push(`the pod has no default route via ${gateway}`);
  }
  return differences;
}

/** Host veths with the prefix, and all addresses routed in table PODS, sorted by link name. */
export function listPodLinks(host: MemoryHost, vethPrefix: string): readonly PodLinkView[] {
  const addressesOf = new Map<string, Ip[]>();
  for (const { name, kind } of host.links) {
    if (kind === 'veth' && name.startsWith(vethPrefix)) addressesOf.set(name, []);
  }
  for (const route of host.routes.filter(isPodRoute)) {
    const [address, length] = route.destination.split('/');
    if (length !== String(bitsOf(route.family))) continue;
    const addresses = addressesOf.get(route.link) ?? [];
    addresses.push(address as Ip);
    addressesOf.set(route.link, addresses);
  }
  return [...addressesOf]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([hostLink, addresses]) => ({ hostLink, addresses: addresses.sort(compareIps) }));
}
