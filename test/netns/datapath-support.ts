// A node wired by the Linux adapter, in a VPC that checks sources as EC2 does and lets replies come back only the way their requests went.

import { spawnSync } from 'node:child_process';
import { createLinuxStacks } from '../../src/adapters/linux/linux-stacks.ts';
import { createNamespaceSockets } from '../../src/adapters/linux/namespace-sockets.ts';
import { ip } from '../../src/domain/address/testing.ts';
import {
  type DesiredHost,
  type DesiredHostInput,
  desiredHost,
} from '../../src/domain/datapath/desired-host.ts';
import { desiredPod } from '../../src/domain/datapath/desired-pod.ts';
import type { PodDatapath } from '../../src/domain/datapath/pod-datapath.ts';
import { type EniSketch, hostInput, macOf } from '../../src/domain/datapath/testing.ts';
import type { NamespaceSockets } from '../../src/ports/namespace-sockets.ts';
import type { NetworkStack } from '../../src/ports/network-stack.ts';
import { makeNamespace, type TestNamespace, valueOf } from './linux-support.ts';

/** Addresses of the world. The node's links eth0 to eth2 are its ENIs 0 to 2. */
export const NODE = '10.0.0.10';
export const SECONDARY_ENI = '100.64.0.11';
/** Pods' addresses: one of the primary ENI, two of the secondary one, and two IPv6 ones of the third. */
export const POD_ON_PRIMARY = '10.0.0.50';
export const POD = '100.64.0.21';
export const OTHER_POD = '100.64.0.22';
export const POD_IPV6 = '2001:db8:0:1::9';
export const OTHER_POD_IPV6 = '2001:db8:0:1:5::1';
/** Far ends: in the VPC, behind a private link, on the internet, and instance metadata. */
export const VPC_HOST = '10.0.99.9';
export const ON_PREMISES = '192.168.50.1';
export const INTERNET = '8.8.8.8';
export const VPC_HOST_IPV6 = '2001:db8:99::9';
export const IMDS = '169.254.169.254';
export const IMDS_IPV6 = 'fd00:ec2::254';
export const POD_PORT = 9000;
export const FAR_PORT = 8080;
export const IMDS_PORT = 80;

/** The ENIs of the node, and the VPC around them. */
export interface NodeLayout {
  readonly enis: readonly EniSketch[];
  /** Addresses of the router, by the link to the ENI: r0 leads to eth0. */
  readonly gateways: readonly (readonly [link: string, address: string])[];
  /** Single addresses that the VPC delivers to the ENI of a device index: no host is asked for a pod's MAC. */
  readonly delivered: readonly (readonly [deviceIndex: number, addresses: readonly string[]])[];
  /** The same for blocks. */
  readonly deliveredBlocks: readonly (readonly [deviceIndex: number, block: string])[];
  readonly farEnds: readonly string[];
  readonly firewall: string;
  /** On eth0, as the instance has them after its boot. */
  readonly nodeAddresses: readonly string[];
}

const ENIS: readonly EniSketch[] = [
  { deviceIndex: 0, subnet: '10.0.0.0/24', pods: [POD_ON_PRIMARY] },
  { deviceIndex: 1, subnet: '100.64.0.0/20', pods: [POD, OTHER_POD, '100.64.2.0/28'] },
  { deviceIndex: 2, subnet: '2001:db8:0:1::/64', pods: [POD_IPV6, '2001:db8:0:1:5::/80'] },
];

/** A round trip takes well under a millisecond here; what does not come within this does not come. */
const VISIT_TIMEOUT_MS = 400;

/** Packets from foreign sources, and replies by another link than their request's, are counted and dropped. */
export const vpcFirewall = (sourceChecks: readonly string[], more = ''): string => `table inet ec2 {
  counter foreign_source { }
  counter other_way { }
  chain source_check {
    type filter hook prerouting priority raw;
    ${sourceChecks.map((own) => `${own} counter name foreign_source drop`).join('\n    ')}
  }
  chain way_back {
    type filter hook prerouting priority mangle;
    ct direction reply ct mark 1 iifname != "r0" counter name other_way drop
    ct direction reply ct mark 2 iifname != "r1" counter name other_way drop
    ct direction reply ct mark 3 iifname != "r2" counter name other_way drop
  }
  chain way_out {
    type filter hook postrouting priority mangle;
    ct state new oifname vmap { "r0" : jump by_r0, "r1" : jump by_r1, "r2" : jump by_r2 }
  }
  chain by_r0 { ct mark set 1; }
  chain by_r1 { ct mark set 2; }
  chain by_r2 { ct mark set 3; }
${more}}
`;

export interface Place {
  readonly namespace: TestNamespace;
  /** Address to speak from; the kernel's choice when absent. */
  readonly source?: string;
}

export interface PodPlace extends Place {
  readonly pod: PodDatapath;
}

/** What may be unlike the usual node. */
export type NodeOptions = NonNullable<Parameters<typeof hostInput>[1]> & Pick<DesiredHostInput, 'pods'>;

export interface NodeWorld {
  readonly node: TestNamespace;
  readonly vpc: TestNamespace;
  readonly stack: NetworkStack;
  readonly sockets: NamespaceSockets;
  /** What the agent would want of the node as it is now. */
  desired(options?: NodeOptions): Promise<DesiredHost>;
  /** One round of the agent's loop: list links, compute, apply. Answers what was changed. */
  apply(options?: NodeOptions): Promise<readonly string[]>;
  /** A pod with an echo server on POD_PORT. */
  addPod(name: string, addresses: readonly string[], mtu?: number): Promise<PodPlace>;
  /** Connects, and goes round once more. Answers the address that the far end saw, or the name of the error. */
  visit(from: Place, address: string, port: number): Promise<string>;
  /** The namespace of the far ends, speaking from one of them. */
  far(source: string): Place;
  /** Packets that the VPC has dropped since the last question, by reason. */
  dropped(): Readonly<Record<string, number>>;
  close(): Promise<void>;
}

const USUAL_LAYOUT: NodeLayout = {
  enis: ENIS,
  gateways: [
    ['r0', '10.0.0.1/24'],
    ['r1', '100.64.0.1/20'],
    ['r2', '2001:db8:0:1::1/64'],
  ],
  delivered: [
    [0, [POD_ON_PRIMARY]],
    [1, [POD, OTHER_POD]],
    [2, [POD_IPV6, OTHER_POD_IPV6]],
  ],
  deliveredBlocks: [],
  farEnds: [VPC_HOST, ON_PREMISES, INTERNET, IMDS, VPC_HOST_IPV6, IMDS_IPV6],
  firewall: vpcFirewall([
    `iifname "r0" ip saddr != { ${NODE}, ${POD_ON_PRIMARY} }`,
    `iifname "r1" ip saddr != { ${SECONDARY_ENI}, ${POD}, ${OTHER_POD}, 100.64.2.0/28 }`,
    'iifname "r2" ip6 saddr != { 2001:db8:0:1::/64, fe80::/10, :: }',
  ]),
  nodeAddresses: [`${NODE}/24`],
};

const lengthOf = (address: string): number => (address.includes(':') ? 128 : 32);

/** The node has its ENIs' links and its own address, as an instance has after its boot; nothing is applied yet. */
export async function makeNodeWorld(layout: NodeLayout = USUAL_LAYOUT): Promise<NodeWorld> {
  const [node, vpc] = await Promise.all([makeNamespace(), makeNamespace()]);
  plugTogether(node, vpc, layout);
  const stacks = createLinuxStacks();
  const sockets = createNamespaceSockets();
  const stack = stacks.open({ netnsPath: node.path });
  for (const port of [FAR_PORT, IMDS_PORT]) valueOf(await sockets.serve({ netnsPath: vpc.path, port }));
  const pods: TestNamespace[] = [];

  const desired = async (options: NodeOptions = {}): Promise<DesiredHost> => {
    const links = valueOf(await stack.listLinks());
    return desiredHost({ ...hostInput(layout.enis, options), links, pods: options.pods ?? [] });
  };
  return {
    node,
    vpc,
    stack,
    sockets,
    desired,
    apply: async (options) => valueOf(await stack.applyHost((await desired(options)).host)),
    addPod: async (name, addresses, mtu = 9001) => {
      const namespace = await makeNamespace();
      pods.push(namespace);
      const pod = desiredPod({
        pod: { namespace: 'default', name },
        netnsPath: namespace.path,
        ifName: 'eth0',
        addresses: addresses.map(ip),
        settings: { mtu, vethPrefix: 'eni' },
      });
      valueOf(await stack.wirePod(pod));
      valueOf(await sockets.serve({ netnsPath: namespace.path, port: POD_PORT }));
      return { namespace, pod };
    },
    visit: (from, address, port) => visit(sockets, from, address, port),
    far: (source) => ({ namespace: vpc, source }),
    dropped: () => takeCounters(vpc),
    close: async () => {
      await Promise.all([stacks.close(), sockets.close()]);
      await Promise.all([node, vpc, ...pods].map((namespace) => namespace.remove()));
    },
  };
}

function plugTogether(node: TestNamespace, vpc: TestNamespace, layout: NodeLayout): void {
  for (const namespace of [node, vpc]) {
    namespace.run('ip', 'link', 'set', 'lo', 'up');
    // Duplicate address detection would keep IPv6 addresses unusable for seconds.
    namespace.run('sysctl', '-qw', 'net.ipv6.conf.default.accept_dad=0', 'net.ipv4.conf.all.rp_filter=0');
    namespace.run('sysctl', '-qw', 'net.ipv4.conf.default.rp_filter=0');
  }
  for (const address of layout.farEnds)
    vpc.run('ip', 'addr', 'add', `${address}/${lengthOf(address)}`, 'dev', 'lo');
  for (const { deviceIndex } of layout.enis) {
    const far = `r${deviceIndex}`;
    const near = ['name', `eth${deviceIndex}`, 'address', macOf(deviceIndex), 'netns', node.pid];
    vpc.run('ip', 'link', 'add', far, 'mtu', '9001', 'type', 'veth', 'peer', ...near);
    vpc.run('ip', 'link', 'set', far, 'up');
  }
  for (const [link, address] of layout.gateways) vpc.run('ip', 'addr', 'add', address, 'dev', link);
  const toEni = (deviceIndex: number, address: string): void => {
    const at = ['lladdr', macOf(deviceIndex), 'dev', `r${deviceIndex}`, 'nud', 'permanent'];
    vpc.run('ip', 'neigh', 'replace', address, ...at);
  };
  for (const [deviceIndex, addresses] of layout.delivered) {
    for (const address of addresses) toEni(deviceIndex, address);
  }
  for (const [deviceIndex, block] of layout.deliveredBlocks) {
    const hop = `fe80::e:${deviceIndex}`;
    toEni(deviceIndex, hop);
    vpc.run('ip', 'route', 'add', block, 'via', hop, 'dev', `r${deviceIndex}`, 'onlink');
  }
  for (const address of layout.nodeAddresses) node.run('ip', 'addr', 'add', address, 'dev', 'eth0');
  node.run('ip', 'link', 'set', 'eth0', 'up');
  node.run('ip', 'route', 'add', 'default', 'via', '10.0.0.1');
  vpc.nft(layout.firewall);
}

async function visit(sockets: NamespaceSockets, from: Place, address: string, port: number): Promise<string> {
  const connection = await sockets.connect({
    netnsPath: from.namespace.path,
    address: ip(address),
    port,
    timeoutMs: VISIT_TIMEOUT_MS,
    ...(from.source === undefined ? {} : { source: ip(from.source) }),
  });
  if (connection.kind !== 'ok')
    return connection.kind === 'failed' ? connection.failure.errno : connection.kind;
  const again = await connection.value.ping();
  await connection.value.close();
  return again.kind === 'ok' ? connection.value.seenAs : 'greeted, then silent';
}

function takeCounters(vpc: TestNamespace): Readonly<Record<string, number>> {
  const listed = JSON.parse(vpc.run('nft', '-j', 'reset', 'counters')) as {
    readonly nftables: readonly { readonly counter?: { readonly name: string; readonly packets: number } }[];
  };
  return Object.fromEntries(
    listed.nftables.flatMap(({ counter }) =>
      counter === undefined ? [] : [[counter.name, counter.packets]],
    ),
  );
}

export const NOTHING_DROPPED = { foreign_source: 0, other_way: 0 };

/** Why iptables rules cannot be written here, or false. */
export function whyNoIptables(): string | false {
  const { status } = spawnSync('unshare', ['--net', 'iptables-restore', '--version']);
  return status === 0 ? false : 'the program iptables-restore is missing: apt-get install iptables';
}
