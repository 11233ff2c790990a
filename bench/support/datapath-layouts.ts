// Three nodes with the same 250 pods between a pod and a VPC host, each with another way of routing: what bench/datapath.ts compares.

import { createLinuxStacks } from '../../src/adapters/linux/linux-stacks.ts';
import type { Cidr, Ip } from '../../src/domain/address/ip.ts';
import { desiredHost } from '../../src/domain/datapath/desired-host.ts';
import { desiredPod } from '../../src/domain/datapath/desired-pod.ts';
import { PODS_TABLE, ROUTE_PROTOCOL } from '../../src/domain/datapath/host-datapath.ts';
import type { EniId, InstanceId, SubnetId, VpcId } from '../../src/domain/ids.ts';
import type { SpecEni } from '../../src/domain/ipam/node-network.ts';
import type { StackOutcome } from '../../src/ports/network-stack.ts';
import { type HeldNamespace, holdNamespace } from './held-namespace.ts';

export interface Layout {
  readonly title: string;
  readonly node: HeldNamespace;
  readonly pod: HeldNamespace;
  readonly vpc: HeldNamespace;
  remove(): Promise<void>;
}

export const POD_COUNT = 250;
/** The measured pod is in the middle: its rule is neither the first nor the last to be looked at. */
const MEASURED = POD_COUNT / 2;
export const VPC_HOST = '10.0.99.9';
const ADDRESSES = Array.from({ length: POD_COUNT }, (_, index) => `100.64.0.${index + 4}` as Ip);
const POD = ADDRESSES[MEASURED] as Ip;
const MTU = 9001;

const macOf = (deviceIndex: number): string => `02:00:00:00:00:0${deviceIndex}`;

function valueOf<T>(outcome: StackOutcome<T>): T {
  if (outcome.kind === 'ok') return outcome.value;
  throw new Error(JSON.stringify(outcome));
}

const inShell = (namespace: HeldNamespace, lines: readonly string[]): void => {
  namespace.sh(...lines);
};

/** What kube-proxy brings to every node, whatever its mode: NAT, and with its first translation, connection tracking. */
const KUBE_PROXY = `nft -f - <<'END'
table ip kube-proxy {
  chain nat-prerouting { type nat hook prerouting priority dstnat; }
  chain nat-postrouting {
    type nat hook postrouting priority srcnat;
    meta mark & 0x4000 == 0x4000 masquerade fully-random
  }
}
END`;

const eni = (deviceIndex: number, base: string, addresses: readonly Ip[]): SpecEni => ({
  eniId: `eni-${deviceIndex}` as EniId,
  mac: macOf(deviceIndex),
  primary: deviceIndex === 0,
  deviceIndex,
  networkCardIndex: 0,
  eniConfig: '',
  subnetId: 'subnet-1' as SubnetId,
  subnetCidr: `${base}.0/24` as Cidr,
  securityGroupIds: [],
  primaryAddress: `${base}.${deviceIndex === 0 ? 10 : 2}` as Ip,
  addresses,
  prefixes: [],
  withdrawing: [],
  cordoned: false,
});

const SPEC = {
  instance: {
    instanceId: 'i-1' as InstanceId,
    instanceType: 'm5.4xlarge',
    zone: 'us-west-2a',
    vpcId: 'vpc-1' as VpcId,
    primaryEniId: 'eni-0' as EniId,
    primaryAddress: '10.0.0.10' as Ip,
    primarySubnetId: 'subnet-1' as SubnetId,
    primarySecurityGroupIds: [],
  },
  enis: [eni(0, '10.0.0', []), eni(1, '100.64.0', ADDRESSES)],
  settings: {
    externalSnat: false,
    directCidrs: ['10.0.0.0/16', '100.64.0.0/16'] as Cidr[],
    mtu: MTU,
    vethPrefix: 'eni',
    randomizeSnat: 'prng' as const,
  },
};

/** Namespaces and links; `route` then makes the node route. */
async function makeLayout(
  title: string,
  route: (node: HeldNamespace, pod: HeldNamespace) => Promise<void>,
): Promise<Layout> {
  const [node, pod, vpc] = await Promise.all([holdNamespace(), holdNamespace(), holdNamespace()]);
  const namespaces = [node, pod, vpc];
  for (const namespace of namespaces) {
    inShell(namespace, [
      'ip link set lo up',
      'sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0',
    ]);
  }
  for (const index of [0, 1]) {
    const far = `ip link add r${index} mtu ${MTU} type veth peer name eth${index}`;
    inShell(vpc, [`${far} address ${macOf(index)} mtu ${MTU} netns ${node.pid}`, `ip link set r${index} up`]);
    inShell(node, [`ip link set eth${index} up`]);
  }
  inShell(node, ['ip addr add 10.0.0.10/24 dev eth0', 'ip route add default via 10.0.0.1']);
  inShell(vpc, [
    'ip addr add 10.0.0.1/24 dev r0',
    'ip addr add 100.64.0.1/24 dev r1',
    `ip addr add ${VPC_HOST}/32 dev lo`,
    `ip neigh replace ${POD} lladdr ${macOf(1)} dev r1 nud permanent`,
  ]);
  // Datagrams are counted as they come in; an ICMP answer to each would be measured with them.
  const drop = 'chain in { type filter hook prerouting priority raw; meta l4proto udp drop; }';
  inShell(vpc, [`nft 'table ip sink { ${drop}; }'`]);
  inShell(node, [KUBE_PROXY]);
  await route(node, pod);
  return {
    title,
    node,
    pod,
    vpc,
    remove: async () => {
      await Promise.all(namespaces.map((namespace) => namespace.remove()));
    },
  };
}

/** The pod's link as others make it. */
function plugPod(node: HeldNamespace, pod: HeldNamespace): void {
  const peer = `peer name eth0 mtu ${MTU} netns ${pod.pid}`;
  inShell(node, [
    `ip link add enipod mtu ${MTU} address 02:00:00:00:01:00 type veth ${peer}`,
    'ip link set enipod up',
    'sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.enipod.rp_filter=0',
  ]);
  inShell(pod, [
    `ip addr add ${POD}/32 dev eth0`,
    'ip link set eth0 up',
    'ip route add 169.254.1.1 dev eth0 scope link',
    'ip route add default via 169.254.1.1',
    'ip neigh replace 169.254.1.1 lladdr 02:00:00:00:01:00 dev eth0 nud permanent',
  ]);
}

/** Of all pods but the measured one, only their routes, rules and map entries are there: packets meet no more of them. */
const podRoutes = (table: string): readonly string[] =>
  ADDRESSES.map((address) => `ip route add ${address} dev enipod scope link ${table}`);

const eniTable = (table: number): string =>
  `ip route add default via 100.64.0.1 dev eth1 onlink table ${table}`;

/** The datapath of this project, as its own code applies it. */
export const thisLayout = (podCount = POD_COUNT): Promise<Layout> =>
  makeLayout(podCount === POD_COUNT ? 'this layout' : `this layout, ${podCount} pod`, async (node, pod) => {
    const stacks = createLinuxStacks();
    const stack = stacks.open({ netnsPath: node.path });
    const wiring = desiredPod({
      pod: { namespace: 'shop', name: 'cart-0' },
      netnsPath: pod.path,
      ifName: 'eth0',
      addresses: [POD],
      settings: SPEC.settings,
    });
    valueOf(await stack.wirePod(wiring));
    const links = valueOf(await stack.listLinks());
    const spec =
      podCount === POD_COUNT ? SPEC : { ...SPEC, enis: [eni(0, '10.0.0', []), eni(1, '100.64.0', [POD])] };
    const pods = [{ ...wiring, addresses: spec.enis.flatMap(({ addresses }) => addresses) }];
    valueOf(await stack.applyHost(desiredHost({ spec, links, pods }).host));
    await stacks.close();
    const routed = node.sh(`ip route show table ${PODS_TABLE} proto ${ROUTE_PROTOCOL}`);
    if (routed.trim().split('\n').length !== podCount) throw new Error('not every pod is routed');
  });

/** The least that a node can do: one table, and no rule. */
export const noRules = (): Promise<Layout> =>
  makeLayout('no policy rules', async (node, pod) => {
    plugPod(node, pod);
    inShell(node, [
      ...podRoutes(''),
      'ip addr add 100.64.0.2/32 dev eth1',
      'ip route replace default via 100.64.0.1 dev eth1 onlink',
    ]);
  });

/** Two rules per pod, as the AWS VPC CNI has them, without its firewall rules and marks. */
export const twoRulesPerPod = (): Promise<Layout> =>
  makeLayout('two rules per pod', async (node, pod) => {
    plugPod(node, pod);
    inShell(node, [
      ...podRoutes(''),
      'ip addr add 100.64.0.2/32 dev eth1',
      eniTable(2),
      ...ADDRESSES.flatMap((address) => [
        `ip rule add from all to ${address} lookup main prio 512`,
        `ip rule add from ${address} lookup 2 prio 1536`,
      ]),
    ]);
  });
