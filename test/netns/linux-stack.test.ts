// The Linux adapter under the contract of NetworkStack, in namespaces of its own.

import { existsSync } from 'node:fs';
import { after } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLinuxStacks } from '../../src/adapters/linux/linux-stacks.ts';
import { PODS_TABLE, ROUTE_PROTOCOL } from '../../src/domain/datapath/host-datapath.ts';
import type { PodDatapath } from '../../src/domain/datapath/pod-datapath.ts';
import { networkStackContract } from '../../src/ports/network-stack.contract.ts';
import {
  ENI_ADDRESS,
  ENI_LINK,
  ENI_TABLE,
  type ForeignThing,
  type NetworkStackWorld,
  OTHER_IP,
  type OutsideAct,
  type PodDamage,
  PRIMARY_LINK,
} from '../../src/ports/network-stack-world.contract.ts';
import { makeNamespace, skip, type TestNamespace } from './linux-support.ts';

/** Command lines, run on the host. */
const ACTS: Record<OutsideAct, string> = {
  'delete the rule to the pods': 'ip rule del prio 512',
  'delete an ENI rule': 'ip rule del prio 1536',
  'delete an ENI route': `ip route flush table ${ENI_TABLE}`,
  'lead an ENI route elsewhere': `ip route replace default dev ${PRIMARY_LINK} table ${ENI_TABLE} proto ${ROUTE_PROTOCOL}`,
  'flush nftables': 'nft flush ruleset',
  'empty a chain of our table': 'nft flush chain inet eniwhere guard',
  'take away the ENI address': `ip addr flush dev ${ENI_LINK}`,
  'give the ENI address with its subnet': `ip addr add ${ENI_ADDRESS}/24 dev ${ENI_LINK}`,
  'set the ENI link down': `ip link set ${ENI_LINK} down`,
  'set another MTU on the ENI': `ip link set ${ENI_LINK} mtu 1400`,
  'turn forwarding off': 'sysctl -qw net.ipv4.ip_forward=0',
};

/** How a foreign thing is made, how it is listed, and by which words it is known in the listing. */
const FOREIGN: Record<ForeignThing, { readonly add: string; readonly list: string; readonly known: string }> =
  {
    'a rule at our priority': {
      add: 'ip rule add from 192.0.2.0/24 prio 512 lookup 77 proto static',
      list: 'ip rule',
      known: 'from 192.0.2.0/24 lookup 77',
    },
    'a rule with our protocol at another priority': {
      add: `ip rule add prio 100 lookup 77 proto ${ROUTE_PROTOCOL}`,
      list: 'ip rule',
      known: '100:',
    },
    'a route in table main': {
      add: `ip route add 192.0.2.9 dev ${PRIMARY_LINK} proto static`,
      list: 'ip route',
      known: '192.0.2.9',
    },
    'a route in an ENI table': {
      add: `ip route add 192.0.2.9 dev ${PRIMARY_LINK} table ${ENI_TABLE} proto static`,
      list: `ip route show table ${ENI_TABLE}`,
      known: '192.0.2.9',
    },
    'a route with our protocol in a table below ours': {
      add: `ip route add 192.0.2.9 dev ${PRIMARY_LINK} table 77 proto ${ROUTE_PROTOCOL}`,
      list: 'ip route show table all',
      known: '192.0.2.9',
    },
    'an nftables table': { add: 'nft add table inet others', list: 'nft list tables', known: 'inet others' },
  };

const GATEWAY = '169.254.1.1';

/** Command lines, run on the host or in the pod. */
const damages = (
  pod: PodDatapath,
): Record<PodDamage, { readonly in: 'host' | 'pod'; readonly line: string }> => ({
  'host link deleted': { in: 'host', line: `ip link del ${pod.hostLink}` },
  'host link down': { in: 'host', line: `ip link set ${pod.hostLink} down` },
  'host link MTU': { in: 'host', line: `ip link set ${pod.hostLink} mtu 1400` },
  'host route deleted': { in: 'host', line: `ip route flush table ${PODS_TABLE}` },
  'host route elsewhere': {
    in: 'host',
    line: `ip route replace ${pod.addresses[0]} dev lo table ${PODS_TABLE} proto ${ROUTE_PROTOCOL}`,
  },
  'pod link down': { in: 'pod', line: `ip link set ${pod.podLink} down` },
  'pod link MTU': { in: 'pod', line: `ip link set ${pod.podLink} mtu 1400` },
  'pod link MAC': { in: 'pod', line: `ip link set ${pod.podLink} address 02:00:00:00:00:99` },
  'pod address deleted': { in: 'pod', line: `ip addr del ${pod.addresses[0]}/32 dev ${pod.podLink}` },
  'pod address added': { in: 'pod', line: `ip addr add ${OTHER_IP}/32 dev ${pod.podLink}` },
  'pod neighbour deleted': { in: 'pod', line: `ip neigh del ${GATEWAY} dev ${pod.podLink}` },
  'pod link route deleted': { in: 'pod', line: `ip route del ${GATEWAY} dev ${pod.podLink}` },
  'pod default route deleted': { in: 'pod', line: 'ip route del default' },
  'pod loopback down': { in: 'pod', line: 'ip link set lo down' },
});

const runLine = (namespace: TestNamespace, line: string): string => {
  const [program = '', ...values] = line.split(' ');
  return namespace.run(program, ...values);
};

const stacks = skip === false ? createLinuxStacks() : undefined;
after(() => stacks?.close());

async function makeWorld(): Promise<NetworkStackWorld> {
  if (stacks === undefined) throw new Error('no kernel to test on');
  const host = await makeNamespace();
  host.run('ip', 'link', 'set', 'lo', 'up');
  const pods = new Map<string, TestNamespace>();
  const stack = stacks.open({ netnsPath: host.path });
  const podAt = (path: string): TestNamespace => {
    const pod = pods.get(path);
    if (pod === undefined) throw new Error(`no pod namespace ${path}`);
    return pod;
  };
  return {
    stack,
    clock: {
      now: () => performance.now(),
      sleep: (ms) => sleep(ms),
    },
    hasIpv6: existsSync('/proc/sys/net/ipv6'),
    makePodNamespace: async () => {
      const pod = await makeNamespace();
      pods.set(pod.path, pod);
      return pod.path;
    },
    removePodNamespace: async (path) => {
      await podAt(path).remove();
      pods.delete(path);
    },
    // A veth stands for the ENI; its other end for the network outside.
    plugLink: async (name) => {
      host.run('ip', 'link', 'add', name, 'type', 'veth', 'peer', 'name', `${name}-far`);
      return String(host.ip('link', 'show', name)[0]?.['address']);
    },
    unplugLink: async (name) => {
      host.run('ip', 'link', 'del', name);
    },
    act: async (act) => {
      runLine(host, ACTS[act]);
    },
    addForeign: async (thing) => {
      runLine(host, FOREIGN[thing].add);
    },
    hasForeign: async (thing) => runLine(host, FOREIGN[thing].list).includes(FOREIGN[thing].known),
    addOrphanRoute: async (ip) => {
      host.run('ip', 'route', 'add', 'blackhole', ip, 'table', `${PODS_TABLE}`, 'proto', `${ROUTE_PROTOCOL}`);
    },
    damagePod: async (damage, pod) => {
      const { in: where, line } = damages(pod)[damage];
      runLine(where === 'host' ? host : podAt(pod.netnsPath), line);
    },
    close: async () => {
      await stack.close();
      await Promise.all([host, ...pods.values()].map((namespace) => namespace.remove()));
    },
  };
}

networkStackContract({ name: 'on Linux', skip, makeWorld });
