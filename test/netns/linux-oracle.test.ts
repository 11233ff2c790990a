// The Linux adapter's work as the ip and nft programs, which know nothing of it, see it; and as packets see it.

import assert from 'node:assert/strict';
import { readdirSync, readlinkSync } from 'node:fs';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { createLinuxStacks, type LinuxStacks } from '../../src/adapters/linux/linux-stacks.ts';
import { createNamespaceSockets } from '../../src/adapters/linux/namespace-sockets.ts';
import type { Ip } from '../../src/domain/address/ip.ts';
import { type HostDatapath, PODS_TABLE, ROUTE_PROTOCOL } from '../../src/domain/datapath/host-datapath.ts';
import type { PodDatapath } from '../../src/domain/datapath/pod-datapath.ts';
import type { NamespaceSockets } from '../../src/ports/namespace-sockets.ts';
import type { NetworkStack } from '../../src/ports/network-stack.ts';
import { makeNamespace, skip, type TestNamespace, valueOf } from './linux-support.ts';

const TIMEOUT_MS = 2_000;
/** For what must not come: long beside the microseconds that a datagram takes on a veth. */
const SILENCE_MS = 200;

/** The layout of the datapath: maps and sets by interval, ENI by mark, the guard with counters. */
const NFT_TABLE_TEXT = `table inet eniwhere {
  map eni_of_address { type ipv4_addr : mark; flags interval; elements = { 10.1.0.5 : 0x2, 10.1.0.16/28 : 0x2 } }
  map eni_of_interface { type ifname : mark; elements = { "eth0" : 0x1, "eth1" : 0x2 } }
  set direct { type ipv4_addr; flags interval; elements = { 10.0.0.0/16, 10.1.0.0/16 } }
  set imds_allowed { type ipv4_addr; }
  chain guard { type filter hook prerouting priority raw;
    iifname "eni*" ip6 saddr { ::, fe80::/10 } accept
    iifname "eni*" fib saddr . iif oif missing counter drop
    iifname "eni*" ip daddr 169.254.169.254 ip saddr != @imds_allowed counter drop
  }
  chain prerouting { type filter hook prerouting priority dstnat + 10;
    iifname "eni*" ct direction reply ct mark & 0x7f != 0 meta mark set ct mark & 0x7f accept
    iifname "eni*" ip daddr @direct meta mark set ip saddr map @eni_of_address accept
    ct state new ct mark set iifname map @eni_of_interface
  }
  chain postrouting { type nat hook postrouting priority srcnat;
    oifname "eth0" ip daddr != @direct ip saddr 10.1.0.0/16 snat ip to 10.0.0.10 fully-random
  }
}
`;

const podOf = (netnsPath: string, number: number): PodDatapath => ({
  hostLink: `eni0000000000${number}`,
  hostMac: `02:00:00:00:01:0${number}`,
  podMac: `02:00:00:00:02:0${number}`,
  netnsPath,
  podLink: 'eth0',
  addresses: [`10.1.0.${number}` as Ip, `2600:1f18::${number}` as Ip],
  mtu: 9001,
});

const hostOf = (nftTable: string, macs: { readonly eth0: string; readonly eth1: string }): HostDatapath => ({
  eniLinks: [
    { link: 'eth0', mac: macs.eth0, mtu: 9001, primary: true, addresses: ['10.0.0.10' as Ip] },
    { link: 'eth1', mac: macs.eth1, mtu: 9001, primary: false, addresses: ['10.1.0.4' as Ip] },
  ],
  routes: [
    {
      family: 4,
      table: 1002,
      destination: 'default',
      via: '10.1.0.1' as Ip,
      link: 'eth1',
      onlink: true,
      scopeLink: false,
    },
  ],
  rules: [
    { family: 4, priority: 512, table: PODS_TABLE },
    { family: 6, priority: 512, table: PODS_TABLE },
    { family: 4, priority: 1536, table: 1002, fwmark: { mark: 2, mask: 0x7f } },
  ],
  pods: [],
  sysctls: [
    { path: 'net/ipv4/ip_forward', value: '1' },
    { path: 'net/ipv6/conf/all/forwarding', value: '1' },
    { path: 'net/ipv4/conf/eth1/rp_filter', value: '2' },
  ],
  nftTable,
});

/** Of each object, the named fields, where they are. */
const picked = (
  objects: readonly Readonly<Record<string, unknown>>[],
  fields: readonly string[],
): readonly Readonly<Record<string, unknown>>[] =>
  objects.map((object) =>
    Object.fromEntries(fields.filter((field) => field in object).map((field) => [field, object[field]])),
  );

/** The table as `nft -j` lists it, without handles and counts, which differ from table to table. */
function tableListing(namespace: TestNamespace): unknown {
  const listed: unknown = JSON.parse(namespace.run('nft', '-j', 'list', 'table', 'inet', 'eniwhere'));
  return JSON.parse(
    JSON.stringify(listed, (key, value: unknown) =>
      key === 'handle' || key === 'packets' || key === 'bytes' ? undefined : value,
    ),
  );
}

/** Threads of this process, Workers' and libuv's included, that are in another namespace than its main thread. */
function strayThreads(): readonly string[] {
  const namespaceOf = (task: string): string => readlinkSync(`/proc/self/task/${task}/ns/net`);
  const home = namespaceOf(String(process.pid));
  return readdirSync('/proc/self/task').filter((task) => namespaceOf(task) !== home);
}

describe('adapters/linux beside ip and nft', { skip }, () => {
  let stacks: LinuxStacks;
  let sockets: NamespaceSockets;
  let host: TestNamespace;
  let pods: readonly [TestNamespace, TestNamespace];
  let stack: NetworkStack;
  let desired: HostDatapath;

  before(() => {
    stacks = createLinuxStacks();
    sockets = createNamespaceSockets();
  });
  after(async () => {
    await Promise.all([stacks.close(), sockets.close()]);
  });
  beforeEach(async () => {
    host = await makeNamespace();
    pods = [await makeNamespace(), await makeNamespace()];
    stack = stacks.open({ netnsPath: host.path });
    for (const link of ['eth0', 'eth1']) {
      host.run('ip', 'link', 'add', link, 'type', 'veth', 'peer', 'name', `${link}-far`);
    }
    const macOf = (link: string): string => String(host.ip('link', 'show', link)[0]?.['address']);
    desired = hostOf(NFT_TABLE_TEXT, { eth0: macOf('eth0'), eth1: macOf('eth1') });
  });
  afterEach(async () => {
    await stack.close();
    assert.deepEqual(
      strayThreads(),
      [],
      'every thread is back in the namespace that the process was born in',
    );
    await Promise.all([host, ...pods].map((namespace) => namespace.remove()));
  });

  test('ip lists the same links, with the same index, MAC, MTU and state', async () => {
    host.run('ip', 'link', 'set', 'eth0', 'up');
    const listed = host.ip('link').map((link) => ({
      index: link['ifindex'],
      name: link['ifname'],
      mac: link['address'],
      up: (link['flags'] as readonly string[]).includes('UP'),
      mtu: link['mtu'],
    }));
    assert.deepEqual(valueOf(await stack.listLinks()), listed);
  });

  describe('of a wired pod', () => {
    let pod: PodDatapath;
    beforeEach(async () => {
      pod = podOf(pods[0].path, 5);
      valueOf(await stack.wirePod(pod));
    });

    test('ip sees the pod’s link and addresses', () => {
      const [link] = pods[0].ip('-d', 'addr', 'show', 'eth0');
      assert.ok(link);
      assert.deepEqual(picked([link], ['ifname', 'address', 'mtu']), [
        { ifname: 'eth0', address: pod.podMac, mtu: 9001 },
      ]);
      assert.ok((link['flags'] as readonly string[]).includes('UP'));
      const addresses = link['addr_info'] as readonly Readonly<Record<string, unknown>>[];
      assert.deepEqual(
        picked(
          addresses.filter(({ scope }) => scope === 'global'),
          ['local', 'prefixlen', 'tentative'],
        ),
        [
          { local: '10.1.0.5', prefixlen: 32 },
          { local: '2600:1f18::5', prefixlen: 128 },
        ],
      );
    });

    test('ip sees the pod’s routes and neighbours', () => {
      assert.deepEqual(picked(pods[0].ip('route'), ['dst', 'gateway', 'dev', 'scope']), [
        { dst: 'default', gateway: '169.254.1.1', dev: 'eth0' },
        { dst: '169.254.1.1', dev: 'eth0', scope: 'link' },
      ]);
      const ipv6 = picked(pods[0].ip('-6', 'route'), ['dst', 'gateway', 'dev']);
      for (const route of [
        { dst: 'fe80::1', dev: 'eth0' },
        { dst: 'default', gateway: 'fe80::1', dev: 'eth0' },
      ]) {
        assert.ok(
          ipv6.some((other) => JSON.stringify(other) === JSON.stringify(route)),
          `${JSON.stringify(route)} among ${JSON.stringify(ipv6)}`,
        );
      }
      assert.deepEqual(
        picked(pods[0].ip('neigh', 'show', 'nud', 'permanent'), ['dst', 'lladdr', 'state']).filter(
          ({ lladdr }) => lladdr === pod.hostMac,
        ),
        [
          { dst: '169.254.1.1', lladdr: pod.hostMac, state: ['PERMANENT'] },
          { dst: 'fe80::1', lladdr: pod.hostMac, state: ['PERMANENT'] },
        ],
      );
    });

    test('ip sees the host’s end, and the routes to the pod', () => {
      const [link] = host.ip('link', 'show', pod.hostLink);
      assert.ok(link);
      assert.deepEqual(picked([link], ['address', 'mtu']), [{ address: pod.hostMac, mtu: 9001 }]);
      assert.ok((link['flags'] as readonly string[]).includes('UP'));
      const fields = ['dst', 'dev', 'protocol'];
      assert.deepEqual(picked(host.ip('route', 'show', 'table', `${PODS_TABLE}`), fields), [
        { dst: '10.1.0.5', dev: pod.hostLink, protocol: `${ROUTE_PROTOCOL}` },
      ]);
      assert.deepEqual(picked(host.ip('-6', 'route', 'show', 'table', `${PODS_TABLE}`), fields), [
        { dst: '2600:1f18::5', dev: pod.hostLink, protocol: `${ROUTE_PROTOCOL}` },
      ]);
    });

    test('the kernel neither filters sources on the host’s end nor believes a pod’s router advertisements', () => {
      const sysctl = (path: string): string => host.run('cat', `/proc/sys/net/${path}`).trim();
      assert.equal(sysctl(`ipv4/conf/${pod.hostLink}/rp_filter`), '0');
      assert.equal(sysctl(`ipv6/conf/${pod.hostLink}/accept_ra`), '0');
    });
  });

  test('a refusal tells the step, the errno and the kernel’s own words', async () => {
    const routes = desired.routes.map((route) => ({ ...route, onlink: false }));
    const outcome = await stack.applyHost({ ...desired, routes });
    assert.ok(outcome.kind === 'failed');
    assert.equal(outcome.failure.step, 'ip route replace default via 10.1.0.1 dev eth1 table 1002');
    assert.equal(outcome.failure.errno, 'ENETUNREACH');
    assert.match(outcome.failure.message, /: ENETUNREACH \(Nexthop has invalid gateway/);
  });

  test('a path that is no network namespace is named as such', async () => {
    const outcome = await stack.wirePod(podOf('/proc/self/ns/uts', 5));
    assert.ok(outcome.kind === 'failed');
    assert.equal(
      outcome.failure.message,
      'enter network namespace /proc/self/ns/uts: EINVAL (it is not a network namespace)',
    );
  });

  test('a pod without an IPv6 address has no IPv6 on either end of its link', async () => {
    const pod = podOf(pods[0].path, 5);
    valueOf(await stack.wirePod({ ...pod, addresses: ['10.1.0.5' as Ip] }));
    for (const [namespace, link] of [
      [host, pod.hostLink],
      [pods[0], 'eth0'],
    ] as const) {
      assert.equal(namespace.run('ip', '-6', 'addr', 'show', link), '');
    }
  });

  test('no request leaves a descriptor open, whether it succeeds or fails', async () => {
    const pod = podOf(pods[0].path, 5);
    const requests = async (): Promise<number> => {
      await stack.wirePod(pod);
      await stack.inspectPod(pod);
      await stack.applyHost(desired);
      await stack.wirePod({ ...pod, podLink: 'lo' });
      await stack.wirePod({ ...pod, netnsPath: '/proc/self/ns/uts' });
      await stack.unwirePod(pod);
      await sockets.connect({
        netnsPath: pods[0].path,
        address: '192.0.2.1' as Ip,
        port: 9,
        timeoutMs: SILENCE_MS,
      });
      return readdirSync('/proc/self/fd').length;
    };
    const first = await requests();
    for (let count = 0; count < 5; count++) assert.equal(await requests(), first);
  });

  test('a pod with an IPv6 address gets it also where IPv6 is off by default', async () => {
    for (const namespace of [host, pods[0]]) {
      namespace.run('sysctl', '-qw', 'net.ipv6.conf.default.disable_ipv6=1');
    }
    const pod = podOf(pods[0].path, 5);
    valueOf(await stack.wirePod(pod));
    assert.deepEqual(valueOf(await stack.inspectPod(pod)), []);
    assert.match(pods[0].run('ip', '-6', 'addr', 'show', 'eth0'), /2600:1f18::5\/128/);
  });

  test('ip sees the host’s rules, routes and addresses', async () => {
    valueOf(await stack.applyHost(desired));
    const ours = (rules: readonly Readonly<Record<string, unknown>>[]) =>
      picked(rules, ['priority', 'table', 'fwmark', 'fwmask', 'protocol']).filter(
        ({ protocol }) => protocol === `${ROUTE_PROTOCOL}`,
      );
    const protocol = `${ROUTE_PROTOCOL}`;
    assert.deepEqual(ours(host.ip('rule')), [
      { priority: 512, table: '1000', protocol },
      { priority: 1536, table: '1002', fwmark: '0x2', fwmask: '0x7f', protocol },
    ]);
    assert.deepEqual(ours(host.ip('-6', 'rule')), [{ priority: 512, table: '1000', protocol }]);
    const [route] = host.ip('route', 'show', 'table', '1002');
    assert.ok(route);
    assert.deepEqual(picked([route], ['dst', 'gateway', 'dev', 'protocol']), [
      { dst: 'default', gateway: '10.1.0.1', dev: 'eth1', protocol },
    ]);
    assert.ok((route['flags'] as readonly string[]).includes('onlink'));
    assert.deepEqual(host.ip('route'), [], 'no subnet route in table main');
    const [link] = host.ip('-4', 'addr', 'show', 'eth1');
    assert.ok(link);
    const addresses = link['addr_info'] as readonly Readonly<Record<string, unknown>>[];
    assert.deepEqual(picked(addresses, ['local', 'prefixlen', 'noprefixroute']), [
      { local: '10.1.0.4', prefixlen: 32, noprefixroute: true },
    ]);
  });

  test('nft lists the table as if nft itself had loaded it', async () => {
    valueOf(await stack.applyHost(desired));
    const reference = await makeNamespace();
    reference.nft(NFT_TABLE_TEXT);
    assert.deepEqual(tableListing(host), tableListing(reference));
    await reference.remove();
  });

  test('a subnet route that another program’s address brought into table main is deleted', async () => {
    valueOf(await stack.applyHost(desired));
    host.run('ip', 'addr', 'add', '10.1.0.99/24', 'dev', 'eth1');
    assert.equal(host.ip('route').length, 1);
    assert.deepEqual(valueOf(await stack.applyHost(desired)), [
      'ip route del 10.1.0.0/24 dev eth1 scope link',
    ]);
    assert.deepEqual(host.ip('route'), []);
    assert.ok(host.run('ip', 'addr', 'show', 'eth1').includes('10.1.0.99/24'), 'its address is not ours');
  });

  describe('packets between two pods of one node', () => {
    const pod = (number: 0 | 1): PodDatapath => podOf(pods[number].path, number + 5);
    beforeEach(async () => {
      valueOf(await stack.applyHost(desired));
      valueOf(await stack.wirePod(pod(0)));
      valueOf(await stack.wirePod(pod(1)));
    });

    for (const family of [4, 6] as const) {
      test(`TCP over IPv${family} arrives, with the pod’s own address`, async () => {
        const index = family === 4 ? 0 : 1;
        const server = valueOf(await sockets.serve({ netnsPath: pods[1].path, port: 8080 }));
        const connection = valueOf(
          await sockets.connect({
            netnsPath: pods[0].path,
            address: pod(1).addresses[index]!,
            port: 8080,
            timeoutMs: TIMEOUT_MS,
          }),
        );
        assert.equal(connection.seenAs, pod(0).addresses[index]);
        assert.equal((await connection.ping()).kind, 'ok');
        await connection.close();
        await server.close();
      });
    }

    test('a datagram with another’s source address is dropped, and counted', async () => {
      const destination = pod(1).addresses[0]!;
      const arrives = async (source: Ip): Promise<string> => {
        const receiving = sockets.receiveDatagram({
          netnsPath: pods[1].path,
          port: 5353,
          timeoutMs: SILENCE_MS,
        });
        valueOf(await sockets.sendSpoofed({ netnsPath: pods[0].path, source, destination, port: 5353 }));
        const received = await receiving;
        return received.kind === 'ok' ? received.value : received.kind;
      };
      assert.equal(await arrives(pod(0).addresses[0]!), pod(0).addresses[0]);
      assert.equal(await arrives('10.1.0.77' as Ip), 'failed');
      assert.match(
        host.run('nft', 'list', 'chain', 'inet', 'eniwhere', 'guard'),
        /missing counter packets 1 /,
      );
      // What a counter has counted is no difference to the desired table.
      assert.deepEqual(valueOf(await stack.applyHost(desired)), []);
    });

    test('an unwired pod is not reached any more', async () => {
      const server = valueOf(await sockets.serve({ netnsPath: pods[1].path, port: 8080 }));
      valueOf(await stack.unwirePod(pod(1)));
      const outcome = await sockets.connect({
        netnsPath: pods[0].path,
        address: pod(1).addresses[0]!,
        port: 8080,
        timeoutMs: SILENCE_MS,
      });
      assert.equal(outcome.kind, 'failed');
      await server.close();
    });
  });
});
