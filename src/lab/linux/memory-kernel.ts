// A node's kernel in memory: links, routes, rules, sysctls and nftables of its host namespace, and the pods' namespaces. It outlives its agent, not its node.

import type { Cidr, Ip } from '../../domain/address/ip.ts';
import type { DesiredRoute, DesiredRule } from '../../domain/datapath/host-datapath.ts';
import { assert } from '../../domain/result.ts';
import type { Subscription } from '../../ports/cluster.ts';

export interface MemoryAddress {
  readonly ip: Ip;
  readonly prefixLength: number;
}

export interface MemoryLink {
  readonly index: number;
  readonly name: string;
  readonly mac: string;
  up: boolean;
  mtu: number;
  readonly kind: 'loopback' | 'hardware' | 'veth';
  addresses: MemoryAddress[];
  /** A veth's other end. */
  readonly peer?: { readonly netnsPath: string; readonly link: string };
}

export interface MemoryRoute extends DesiredRoute {
  /** rtnetlink protocol number: whose the route is. */
  readonly protocol: number;
  /** Leads to no link; `link` is `''`. */
  readonly blackhole?: true;
}

export interface MemoryRule extends DesiredRule {
  readonly protocol: number;
}

/** The host namespace. Whoever is not Eniwhere changes it through `MemoryKernel.edit`. */
export interface MemoryHost {
  links: MemoryLink[];
  routes: MemoryRoute[];
  rules: MemoryRule[];
  /** Path below /proc/sys -> value. */
  readonly sysctls: Map<string, string>;
  /** Table name (family inet) -> content. */
  readonly nftTables: Map<string, string>;
}

export interface MemoryPodLink {
  readonly name: string;
  mac: string;
  mtu: number;
  up: boolean;
  /** The other end, in the host namespace. */
  readonly hostLink: string;
  addresses: Ip[];
  /** Permanent neighbours: address -> MAC. */
  readonly neighbours: Map<Ip, string>;
  routes: { readonly destination: Cidr | 'default'; readonly via?: Ip }[];
}

export interface MemoryNamespace {
  loopbackUp: boolean;
  links: MemoryPodLink[];
}

export interface MemoryKernel {
  /** What is there now. To be read only: changes go through the other functions. */
  readonly host: MemoryHost;
  /** netns path -> namespace */
  readonly namespaces: ReadonlyMap<string, MemoryNamespace>;
  /** An ENI's link appears, down, named by the kernel (the lowest free ethN) or as given. Answers its name. */
  plugLink(mac: string, name?: string): string;
  /** The link vanishes, and with it its addresses and routes. False when no link has the MAC. */
  unplugLink(mac: string): boolean;
  /** What a container runtime does before it calls the CNI plugin. */
  makeNamespace(netnsPath: string): void;
  /** The namespace goes, and with it every veth that has an end in it. False when there is none. */
  removeNamespace(netnsPath: string): boolean;
  /** Any other change, by whoever it may be: the agent's stack, another program, a person. */
  edit(change: (host: MemoryHost, namespaces: Map<string, MemoryNamespace>) => void): void;
  nextLinkIndex(): number;
  /** Calls back in the same turn, after every change. */
  onChange(notify: () => void): Subscription;
  /** Everything but hardware is gone. */
  reboot(): void;
}

const LOOPBACK_MTU = 65_536;
const HARDWARE_MTU = 1500;
const HARDWARE_LINK_MAX = 1000;

export function createMemoryKernel(): MemoryKernel {
  const namespaces = new Map<string, MemoryNamespace>();
  const subscribers = new Set<() => void>();
  const host = emptyHost();
  let lastIndex = 1;
  const nextLinkIndex = (): number => {
    lastIndex += 1;
    return lastIndex;
  };
  const changed = (): void => {
    for (const notify of subscribers) notify();
  };

  return {
    host,
    namespaces,
    nextLinkIndex,
    plugLink: (mac, name = freeName(host)) => {
      assert(
        !host.links.some((link) => link.name === name || link.mac === mac),
        `link ${name} ${mac} is new`,
      );
      host.links.push(hardware({ index: nextLinkIndex(), name, mac }));
      changed();
      return name;
    },
    unplugLink: (mac) => {
      const link = host.links.find((candidate) => candidate.kind === 'hardware' && candidate.mac === mac);
      if (link === undefined) return false;
      dropLink(host, link.name);
      changed();
      return true;
    },
    makeNamespace: (netnsPath) => {
      assert(!namespaces.has(netnsPath), `namespace ${netnsPath} is new`);
      namespaces.set(netnsPath, { loopbackUp: false, links: [] });
    },
    removeNamespace: (netnsPath) => {
      const namespace = namespaces.get(netnsPath);
      if (namespace === undefined) return false;
      namespaces.delete(netnsPath);
      for (const { hostLink } of namespace.links) dropLink(host, hostLink);
      // The host does not hear of a namespace that had no link to it.
      if (namespace.links.length > 0) changed();
      return true;
    },
    edit: (change) => {
      change(host, namespaces);
      changed();
    },
    onChange: (notify) => {
      subscribers.add(notify);
      return { close: () => subscribers.delete(notify) };
    },
    reboot: () => {
      namespaces.clear();
      resetToHardware(host, nextLinkIndex);
      changed();
    },
  };
}

const emptyHost = (): MemoryHost => ({
  links: [loopback()],
  routes: [],
  rules: [],
  sysctls: new Map(),
  nftTables: new Map(),
});

const loopback = (): MemoryLink => ({
  index: 1,
  name: 'lo',
  mac: '00:00:00:00:00:00',
  up: true,
  mtu: LOOPBACK_MTU,
  kind: 'loopback',
  addresses: [],
});

const hardware = (link: Pick<MemoryLink, 'index' | 'name' | 'mac'>): MemoryLink => ({
  ...link,
  up: false,
  mtu: HARDWARE_MTU,
  kind: 'hardware',
  addresses: [],
});

function resetToHardware(host: MemoryHost, nextLinkIndex: () => number): void {
  const links = host.links.filter(({ kind }) => kind === 'hardware');
  Object.assign(host, emptyHost());
  for (const { name, mac } of links) host.links.push(hardware({ index: nextLinkIndex(), name, mac }));
}

function freeName(host: MemoryHost): string {
  for (let number = 0; number < HARDWARE_LINK_MAX; number++) {
    const name = `eth${number}`;
    if (!host.links.some((link) => link.name === name)) return name;
  }
  throw new Error(`more than ${HARDWARE_LINK_MAX} hardware links on one node`);
}

/** Removes a link with what the kernel removes with it: routes through it. Its rules stay, as in life. */
export function dropLink(host: MemoryHost, name: string): void {
  host.links = host.links.filter((link) => link.name !== name);
  host.routes = host.routes.filter((route) => route.link !== name);
}
