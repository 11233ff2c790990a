// The memory stack under the contract of NetworkStack, and what the simulator does with it beyond.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as macrotask } from 'node:timers/promises';
import { hostCidr } from '../../domain/address/cidr.ts';
import type { Ip } from '../../domain/address/ip.ts';
import { NFT_TABLE, PODS_TABLE, ROUTE_PROTOCOL } from '../../domain/datapath/host-datapath.ts';
import type { PodDatapath } from '../../domain/datapath/pod-datapath.ts';
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
} from '../../ports/network-stack-world.contract.ts';
import { networkStackContract } from '../../ports/network-stack.contract.ts';
import { createKernel } from '../kernel/kernel.ts';
import {
  createMemoryKernel,
  dropLink,
  type MemoryHost,
  type MemoryKernel,
  type MemoryLink,
  type MemoryPodLink,
  type MemoryRoute,
  type MemoryRule,
} from './memory-kernel.ts';
import { createMemoryStack } from './memory-stack.ts';

const drain = (): Promise<void> => macrotask();
/** RTPROT_STATIC: a person's or another program's. */
const STATIC = 4;

const linkNamed = (host: MemoryHost, name: string): MemoryLink => {
  const link = host.links.find((candidate) => candidate.name === name);
  assert(link, `the host has ${name}`);
  return link;
};

const ACTS: Record<OutsideAct, (host: MemoryHost) => void> = {
  'delete the rule to the pods': (host) => {
    host.rules = host.rules.filter(({ priority }) => priority !== 512);
  },
  'delete an ENI rule': (host) => {
    host.rules = host.rules.filter(({ priority }) => priority !== 1536);
  },
  'delete an ENI route': (host) => {
    host.routes = host.routes.filter(({ table }) => table !== ENI_TABLE);
  },
  'lead an ENI route elsewhere': (host) => {
    host.routes = host.routes.map((route) =>
      route.table === ENI_TABLE ? { ...route, link: PRIMARY_LINK } : route,
    );
  },
  'flush nftables': (host) => {
    host.nftTables.clear();
  },
  'empty a chain of our table': (host) => {
    host.nftTables.set(NFT_TABLE, `table inet ${NFT_TABLE} {\n  chain guard {\n  }\n}\n`);
  },
  'take away the ENI address': (host) => {
    linkNamed(host, ENI_LINK).addresses = [];
  },
  'give the ENI address with its subnet': (host) => {
    linkNamed(host, ENI_LINK).addresses.push({ ip: ENI_ADDRESS, prefixLength: 24 });
  },
  'set the ENI link down': (host) => {
    linkNamed(host, ENI_LINK).up = false;
    host.routes = host.routes.filter(({ link }) => link !== ENI_LINK);
  },
  'set another MTU on the ENI': (host) => {
    linkNamed(host, ENI_LINK).mtu = 1400;
  },
  'turn forwarding off': (host) => {
    host.sysctls.set('net/ipv4/ip_forward', '0');
  },
};

const foreignRoute = (table: number, protocol: number): MemoryRoute => ({
  family: 4,
  table,
  destination: hostCidr('192.0.2.9' as Ip),
  link: PRIMARY_LINK,
  onlink: false,
  scopeLink: true,
  protocol,
});

type Foreign =
  | { readonly rule: MemoryRule }
  | { readonly route: MemoryRoute }
  | { readonly nftTable: string };

const FOREIGN: Record<ForeignThing, Foreign> = {
  'a rule at our priority': { rule: { family: 4, priority: 512, table: 77, protocol: STATIC } },
  'a rule with our protocol at another priority': {
    rule: { family: 4, priority: 100, table: 77, protocol: ROUTE_PROTOCOL },
  },
  'a route in table main': { route: foreignRoute(254, STATIC) },
  'a route in an ENI table': { route: foreignRoute(ENI_TABLE, STATIC) },
  'a route with our protocol in a table below ours': { route: foreignRoute(77, ROUTE_PROTOCOL) },
  'an nftables table': { nftTable: 'others' },
};

const podLinkOf = (kernel: MemoryKernel, pod: PodDatapath): MemoryPodLink => {
  const link = kernel.namespaces.get(pod.netnsPath)?.links.find(({ name }) => name === pod.podLink);
  assert(link, `the pod has ${pod.podLink}`);
  return link;
};

function damagePod(kernel: MemoryKernel, damage: PodDamage, pod: PodDatapath): void {
  const { host } = kernel;
  const link = podLinkOf(kernel, pod);
  const isPodRoute = ({ table }: MemoryRoute): boolean => table === PODS_TABLE;
  switch (damage) {
    case 'host link deleted':
      dropLink(host, pod.hostLink);
      kernel.edit((_host, namespaces) => {
        for (const namespace of namespaces.values()) namespace.links = [];
      });
      return;
    case 'host link down':
      linkNamed(host, pod.hostLink).up = false;
      return;
    case 'host link MTU':
      linkNamed(host, pod.hostLink).mtu = 1400;
      return;
    case 'host route deleted':
      host.routes = host.routes.filter((route) => !isPodRoute(route));
      return;
    case 'host route elsewhere':
      host.routes = host.routes.map((route) => (isPodRoute(route) ? { ...route, link: 'lo' } : route));
      return;
    case 'pod link down':
      link.up = false;
      return;
    case 'pod link MTU':
      link.mtu = 1400;
      return;
    case 'pod link MAC':
      link.mac = '02:00:00:00:00:99';
      return;
    case 'pod address deleted':
      link.addresses = [];
      return;
    case 'pod address added':
      link.addresses.push(OTHER_IP);
      return;
    case 'pod neighbour deleted':
      link.neighbours.clear();
      return;
    case 'pod link route deleted':
      link.routes = link.routes.filter(({ via }) => via !== undefined);
      return;
    case 'pod default route deleted':
      link.routes = link.routes.filter(({ via }) => via === undefined);
      return;
    case 'pod loopback down':
      for (const namespace of kernel.namespaces.values()) namespace.loopbackUp = false;
      return;
  }
}

function makeWorld(): NetworkStackWorld {
  const simulation = createKernel({ seed: 1 });
  const kernel = createMemoryKernel();
  let count = 0;
  return {
    stack: createMemoryStack({ kernel, clock: simulation.clock('agent') }),
    clock: {
      now: () => simulation.now(),
      sleep: async (ms) => {
        await simulation.run({ untilMs: simulation.now() + ms, drain });
      },
    },
    hasIpv6: true,
    makePodNamespace: async () => {
      count += 1;
      kernel.makeNamespace(`/run/netns/pod-${count}`);
      return `/run/netns/pod-${count}`;
    },
    removePodNamespace: async (path) => {
      assert.ok(kernel.removeNamespace(path));
    },
    plugLink: async (name) => {
      count += 1;
      const mac = `0a:00:00:00:00:${count.toString(16).padStart(2, '0')}`;
      kernel.plugLink(mac, name);
      return mac;
    },
    unplugLink: async (name) => {
      assert.ok(kernel.unplugLink(linkNamed(kernel.host, name).mac));
    },
    act: async (act) => {
      kernel.edit(ACTS[act]);
    },
    addForeign: async (thing) => {
      const foreign = FOREIGN[thing];
      kernel.edit((host) => {
        if ('rule' in foreign) host.rules.push(foreign.rule);
        else if ('route' in foreign) host.routes.push(foreign.route);
        else host.nftTables.set(foreign.nftTable, '');
      });
    },
    hasForeign: async (thing) => {
      const foreign = FOREIGN[thing];
      if ('rule' in foreign) return kernel.host.rules.includes(foreign.rule);
      if ('route' in foreign) return kernel.host.routes.includes(foreign.route);
      return kernel.host.nftTables.has(foreign.nftTable);
    },
    addOrphanRoute: async (ip) => {
      kernel.edit((host) => {
        host.routes.push({
          family: 4,
          table: PODS_TABLE,
          destination: hostCidr(ip),
          link: '',
          onlink: false,
          scopeLink: false,
          protocol: ROUTE_PROTOCOL,
          blackhole: true,
        });
      });
    },
    damagePod: async (damage, pod) => {
      damagePod(kernel, damage, pod);
    },
    close: async () => {},
  };
}

networkStackContract({ name: 'in memory', skip: false, makeWorld: async () => makeWorld() });

describe('a simulated node', () => {
  const pod: PodDatapath = {
    hostLink: 'eni00000000001',
    hostMac: '02:00:00:00:00:01',
    podMac: '02:00:00:00:00:02',
    netnsPath: '/run/netns/pod',
    podLink: 'eth0',
    addresses: ['10.1.0.5' as Ip],
    mtu: 9001,
  };

  /** The node after its agent was killed `ms` into a wiring whose three steps take 10 ms each. */
  async function crashedAfter(ms: number): Promise<MemoryKernel> {
    const simulation = createKernel({ seed: 1 });
    const kernel = createMemoryKernel();
    kernel.makeNamespace(pod.netnsPath);
    const stack = createMemoryStack({ kernel, clock: simulation.clock('agent'), delayMs: () => 10 });
    void stack.wirePod(pod);
    await simulation.run({ untilMs: simulation.now() + ms, drain });
    simulation.kill('agent');
    await simulation.run({ untilMs: simulation.now() + 1_000, drain });
    return kernel;
  }

  const crashes = [
    { ms: 5, title: 'before the first step leaves nothing', links: [], routes: 0 },
    { ms: 15, title: 'after the veth leaves a link without a route', links: [pod.hostLink], routes: 0 },
    { ms: 25, title: 'after the pod’s side leaves a link without a route', links: [pod.hostLink], routes: 0 },
    { ms: 35, title: 'after the last step leaves the whole pod', links: [pod.hostLink], routes: 1 },
  ];
  for (const { ms, title, links, routes } of crashes) {
    test(`an agent’s crash ${title}`, async () => {
      const { host } = await crashedAfter(ms);
      assert.deepEqual(
        host.links.filter(({ kind }) => kind === 'veth').map(({ name }) => name),
        links,
      );
      assert.equal(host.routes.length, routes);
    });
  }

  test('a step that the kernel refuses leaves nothing of the pod', async () => {
    for (const refused of ['addVeth', 'wirePodSide', 'wireHostSide'] as const) {
      const kernel = createMemoryKernel();
      kernel.makeNamespace(pod.netnsPath);
      const stack = createMemoryStack({
        kernel,
        clock: createKernel({ seed: 1 }).clock('agent'),
        refuse: (step) => (step === refused ? { step, errno: 'ENOMEM', message: 'no memory' } : undefined),
      });
      const outcome = await stack.wirePod(pod);
      assert.equal(outcome.kind === 'failed' ? outcome.failure.errno : outcome.kind, 'ENOMEM');
      assert.deepEqual(
        kernel.host.links.map(({ name }) => name),
        ['lo'],
      );
      assert.deepEqual(kernel.namespaces.get(pod.netnsPath)?.links, []);
    }
  });

  test('the host hears of the end of a namespace that had a link to it, and of no other', async () => {
    const kernel = createMemoryKernel();
    let heardCount = 0;
    kernel.onChange(() => {
      heardCount += 1;
    });
    kernel.makeNamespace('/run/netns/empty');
    kernel.removeNamespace('/run/netns/empty');
    assert.equal(heardCount, 0);
    kernel.makeNamespace(pod.netnsPath);
    await createMemoryStack({ kernel, clock: createKernel({ seed: 1 }).clock('agent') }).wirePod(pod);
    heardCount = 0;
    kernel.removeNamespace(pod.netnsPath);
    assert.equal(heardCount, 1);
  });

  test('a reboot takes all but the hardware', async () => {
    const kernel = createMemoryKernel();
    kernel.plugLink('0a:00:00:00:00:01');
    kernel.makeNamespace(pod.netnsPath);
    await createMemoryStack({ kernel, clock: createKernel({ seed: 1 }).clock('agent') }).wirePod(pod);
    kernel.reboot();
    assert.deepEqual(
      kernel.host.links.map(({ name, up }) => ({ name, up })),
      [
        { name: 'lo', up: true },
        { name: 'eth0', up: false },
      ],
    );
    assert.deepEqual(kernel.host.routes, []);
    assert.equal(kernel.namespaces.size, 0);
  });
});
