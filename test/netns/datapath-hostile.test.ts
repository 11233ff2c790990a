// Other programs on the node: whatever they do to what is ours is repaired within a second, and nothing of theirs is touched.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { NFT_TABLE, PODS_TABLE, ROUTE_PROTOCOL } from '../../src/domain/datapath/host-datapath.ts';
import {
  FAR_PORT,
  makeNodeWorld,
  type NodeWorld,
  ON_PREMISES,
  OTHER_POD_IPV6,
  POD,
  POD_IPV6,
  POD_PORT,
  type PodPlace,
  VPC_HOST,
  VPC_HOST_IPV6,
} from './datapath-support.ts';
import { skip, type TestNamespace } from './linux-support.ts';

/** How soon what is ours is repaired, at most. */
const REPAIR_MS_MAX = 1000;
const LOOK_MS = 10;
/** As the agent does: changes come in bursts. */
const SETTLE_MS = 50;

/** What others have on the node before anything happens, as lines run on the host. */
const FOREIGN: readonly string[] = [
  'ip rule add from 192.0.2.0/24 prio 512 lookup 77 proto static',
  'ip rule add from 192.0.2.0/24 prio 1536 lookup 77 proto static',
  'ip rule add fwmark 0x80/0x80 prio 1024 lookup main proto static',
  `ip rule add from 198.51.100.1 prio 100 lookup 77 proto ${ROUTE_PROTOCOL}`,
  'ip -6 rule add from 2001:db8:77::/48 prio 512 lookup 77 proto static',
  'ip route add 192.0.2.9 dev eth0 proto static',
  'ip route add 192.0.2.9 dev eth0 table 77 proto static',
  'ip route add 192.0.2.9 dev eth0 table 1002 proto static',
  `ip route add 192.0.2.9 dev eth0 table ${PODS_TABLE} proto static`,
  'ip link add veth-other type veth peer name enistranger',
  'nft add table inet others',
  "nft 'add chain inet others input { type filter hook input priority 0; }'",
];

interface Act {
  readonly title: string;
  /** Run on the host one after another; `POD_LINK` stands for the pod's host link. */
  readonly lines: readonly string[];
  /** The ENI's link is then called ens6. */
  readonly renames?: true;
}

const ACTS: readonly Act[] = [
  {
    title: 'flushes all rules, and puts the kernel’s back',
    lines: [
      'ip rule flush',
      'ip rule add lookup main prio 32766',
      'ip rule add lookup default prio 32767',
      'ip -6 rule flush',
      'ip -6 rule add lookup main prio 32766',
    ],
  },
  { title: 'deletes the rule to the pods', lines: [`ip rule del prio 512 lookup ${PODS_TABLE}`] },
  { title: 'deletes an ENI’s rule', lines: ['ip rule del prio 1536 lookup 1002'] },
  {
    title: 'deletes an IPv6 rule',
    lines: [`ip -6 rule del prio 512 lookup ${PODS_TABLE}`, 'ip -6 rule del prio 1536 lookup 1003'],
  },
  { title: 'flushes the ENIs’ tables', lines: ['ip route flush table 1001', 'ip route flush table 1002'] },
  { title: 'flushes an IPv6 ENI’s table', lines: ['ip -6 route flush table 1003'] },
  {
    title: 'flushes every route of our protocol',
    lines: [
      `ip route flush table all proto ${ROUTE_PROTOCOL}`,
      `ip -6 route flush table all proto ${ROUTE_PROTOCOL}`,
    ],
  },
  { title: 'flushes the pods’ table', lines: [`ip route flush table ${PODS_TABLE}`] },
  { title: 'deletes a pod’s route', lines: [`ip route del ${POD} table ${PODS_TABLE}`] },
  {
    title: 'deletes a pod’s IPv6 route',
    lines: [`ip -6 route del ${POD_IPV6} table ${PODS_TABLE}`],
  },
  {
    title: 'leads a pod’s route elsewhere',
    lines: [`ip route replace ${POD} dev eth0 table ${PODS_TABLE} proto static`],
  },
  { title: 'leads an ENI’s route elsewhere', lines: ['ip route replace default dev eth0 table 1002'] },
  { title: 'sets a pod’s link down', lines: ['ip link set POD_LINK down'] },
  { title: 'sets a pod’s link down and up', lines: ['ip link set POD_LINK down', 'ip link set POD_LINK up'] },
  { title: 'renames a pod’s link', lines: ['ip link set POD_LINK name taken0'] },
  {
    title: 'renames a pod’s link as udev does, while it is down',
    lines: ['ip link set POD_LINK down', 'ip link set POD_LINK name taken0', 'ip link set taken0 up'],
  },
  { title: 'takes a pod’s link out of its group', lines: ['ip link set POD_LINK group default'] },
  { title: 'sets an ENI down', lines: ['ip link set eth1 down'] },
  { title: 'sets an IPv6 ENI down', lines: ['ip link set eth2 down'] },
  { title: 'sets an ENI down and up', lines: ['ip link set eth1 down', 'ip link set eth1 up'] },
  { title: 'sets another MTU', lines: ['ip link set eth1 mtu 1500'] },
  { title: 'takes away an ENI’s address', lines: ['ip addr flush dev eth1'] },
  {
    title: 'configures an ENI by DHCP',
    lines: ['ip addr flush dev eth1', 'ip addr add 100.64.0.11/20 dev eth1'],
  },
  { title: 'renames an ENI while it is up', lines: ['ip link set eth1 name ens6'], renames: true },
  {
    title: 'renames an ENI as udev does, while it is down',
    lines: ['ip link set eth1 down', 'ip link set eth1 name ens6'],
    renames: true,
  },
  { title: 'sets rp_filter to strict', lines: ['sysctl -qw net.ipv4.conf.eth1.rp_filter=1'] },
  { title: 'turns forwarding off', lines: ['sysctl -qw net.ipv4.ip_forward=0'] },
  { title: 'turns IPv6 forwarding off', lines: ['sysctl -qw net.ipv6.conf.all.forwarding=0'] },
  {
    // ManageForeignRoutes= and ManageForeignRoutingPolicyRules= are on by default.
    title: 'is systemd-networkd and starts anew',
    lines: [
      'ip route flush proto 225 table all',
      'ip -6 route flush proto 225 table all',
      'while ip rule del proto 225 2>/dev/null; do :; done',
      'while ip -6 rule del proto 225 2>/dev/null; do :; done',
      'ip rule add from 198.51.100.1 prio 100 lookup 77 proto 225',
      'ip addr flush dev eth1',
      'sysctl -qw net.ipv4.conf.eth1.rp_filter=1 net.ipv4.conf.eth2.rp_filter=1',
    ],
  },
  {
    title: 'puts a table of its own before ours, and takes ours away',
    lines: [
      "nft 'table inet firewall { chain pre { type filter hook prerouting priority -310; policy accept; ct state invalid counter; }; }'",
      `nft delete table inet ${NFT_TABLE}`,
    ],
  },
  {
    title: 'loads rules into iptables with a flush, as firewalls do at their start',
    lines: [
      'nft flush ruleset',
      "nft 'table ip filter { chain INPUT { type filter hook input priority 0; policy accept; }; }'",
    ],
  },
  {
    title: 'changes the guard',
    lines: [`nft insert rule inet ${NFT_TABLE} guard accept`],
  },
  {
    title: 'adds an element to our set of direct destinations',
    lines: [`nft add element inet ${NFT_TABLE} direct { 203.0.113.0/24 }`],
  },
  { title: 'flushes nftables', lines: ['nft flush ruleset'] },
  { title: 'deletes our table', lines: [`nft delete table inet ${NFT_TABLE}`] },
  { title: 'empties our chains', lines: [`nft flush table inet ${NFT_TABLE}`] },
  {
    title: 'takes a pod out of our map',
    lines: [`nft 'delete element inet ${NFT_TABLE} eni_of_address { ${POD} }'`],
  },
  {
    title: 'puts a rule into our table',
    lines: [`nft insert rule inet ${NFT_TABLE} guard drop`],
  },
  {
    title: 'does all of it at once',
    lines: [
      'nft flush ruleset',
      'ip rule del prio 1536 lookup 1002',
      `ip rule del prio 512 lookup ${PODS_TABLE}`,
      `ip route flush table all proto ${ROUTE_PROTOCOL}`,
      'ip addr flush dev eth1',
      'ip link set eth1 down',
      'ip link set eth1 name ens6',
      'sysctl -qw net.ipv4.ip_forward=0',
    ],
    renames: true,
  },
];

/** In one shell, for a test lists much, and starting programs is what takes time. */
const runLines = (node: TestNamespace, lines: readonly string[]): string =>
  node.run('sh', '-ec', lines.join('\n'));

const linesOf = (text: string): readonly string[] =>
  text
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line) => line !== '')
    .sort();

/** The rule at 100 bears our protocol number without being ours. */
const isOurs = (line: string): boolean =>
  line.includes(`proto ${ROUTE_PROTOCOL}`) && !line.startsWith('100:');

const RULES_AND_ROUTES = ['ip rule', 'ip -6 rule', 'ip route show table all', 'ip -6 route show table all'];

/** Everything of ours, as the programs list it. */
function listOurs(node: TestNamespace): readonly string[] {
  const state = runLines(node, [
    'cd /proc/sys/net; grep . ipv4/ip_forward ipv6/conf/all/forwarding ipv4/conf/eth*/rp_filter $(ls -d ipv4/conf/ens6/rp_filter 2>/dev/null)',
    // Without the operational state, which follows later.
    "ip -br link | sed 's/@[^ ]*//' | awk '{ print $1, $3, ($4 ~ /[<,]UP/) }'",
    'ip -o link | sed "s/.*: \\([^:@]*\\)[:@].* mtu \\([0-9]*\\).* group \\([^ ]*\\).*/\\1 mtu \\2 group \\3/"',
    "ip -4 -br addr | sed 's/@[^ ]*//' | awk '{ $2 = \"\"; print }'",
    // Sets are listed in no certain order.
    `nft -s list table inet ${NFT_TABLE} 2>&1 | sed '/set known_sources/,/}$/{/elements/,/}$/d}' | tr ' ,' '\\n\\n'`,
  ]);
  const listed = linesOf(runLines(node, RULES_AND_ROUTES)).filter(isOurs);
  // A route whose link has no carrier yet says so for a moment.
  return [...listed, ...linesOf(state)].map((line) => line.trim().replaceAll(' linkdown', ''));
}

/** Rules and routes of others, their tables and links. */
function listForeign(node: TestNamespace): readonly string[] {
  // Routes that the kernel makes come and go with our own links. In our tables, a route to where ours leads takes its place.
  const isTransient = (line: string): boolean =>
    /proto kernel|table local|^fe80|^ff00|^multicast/.test(line) ||
    (/ table 100\d /.test(line) && !line.startsWith('192.0.2.9 '));
  return [
    ...linesOf(runLines(node, RULES_AND_ROUTES)).filter((line) => !isOurs(line) && !isTransient(line)),
    ...linesOf(node.run('nft', 'list', 'tables')).filter((line) => !line.endsWith(`inet ${NFT_TABLE}`)),
    ...linesOf(runLines(node, ['ip -br link'])).filter((line) => /^(lo|veth-other|enistranger)/.test(line)),
  ];
}

/** Waits until `look` holds, at most as long as a repair may take. */
async function soon(look: () => void | Promise<void>): Promise<void> {
  const startedAt = performance.now();
  for (;;) {
    const late = performance.now() - startedAt > REPAIR_MS_MAX;
    try {
      await look();
      return;
    } catch (error) {
      if (late) throw error;
    }
    await sleep(LOOK_MS);
  }
}

describe('another program on the node [DP-4]', { skip }, () => {
  let world: NodeWorld;
  let pod: PodPlace;
  let ipv6Pod: PodPlace;
  let ours: readonly string[];
  let stop: (() => Promise<void>) | undefined;

  /** The agent's loop: after a change, one round. Without its resync, so that notifications alone must do. */
  const keep = (): (() => Promise<void>) => {
    let timer: NodeJS.Timeout | undefined;
    let round = Promise.resolve();
    const run = async (): Promise<void> => {
      const { host } = await world.desired({ pods: [pod.pod, ipv6Pod.pod] });
      const { kind } = await world.stack.applyHost(host);
      // A link renamed between the listing and now is refused; the next notification is on its way.
      assert.notEqual(kind, 'unknown');
    };
    const subscription = world.stack.onChange(() => {
      timer ??= setTimeout(() => {
        timer = undefined;
        round = round.then(run);
      }, SETTLE_MS);
    });
    return async () => {
      subscription.close();
      clearTimeout(timer);
      await round;
    };
  };

  before(async () => {
    world = await makeNodeWorld();
    await world.apply();
    pod = await world.addPod('pod', [POD]);
    ipv6Pod = await world.addPod('ipv6', [POD_IPV6, OTHER_POD_IPV6]);
    runLines(world.node, FOREIGN);
    ours = listOurs(world.node);
    stop = keep();
  });
  // Some acts take from others, too.
  beforeEach(() => {
    runLines(
      world.node,
      FOREIGN.map((line) => `${line} 2>/dev/null || true`),
    );
  });
  after(async () => {
    await stop?.();
    await world.close();
  });

  for (const { title, lines, renames } of ACTS) {
    it(`${title}: repaired, and nothing else is touched`, async () => {
      const { node } = world;
      const named = ours.map((line) => (renames === true ? line.replaceAll('eth1', 'ens6') : line)).sort();
      // In one turn of the event loop, so that no round of ours comes between.
      runLines(
        node,
        lines.map((line) => line.replace('POD_LINK', pod.pod.hostLink)),
      );
      const foreign = listForeign(node);
      assert.notDeepEqual([...listOurs(node)].sort(), named, 'it did something');
      await soon(() => assert.deepEqual([...listOurs(node)].sort(), named));
      assert.deepEqual(listForeign(node), foreign);
      if (renames !== true) return;
      node.run('ip', 'link', 'set', 'ens6', 'name', 'eth1');
      await soon(() => assert.deepEqual(listOurs(node), ours));
    });
  }

  it('and all the while, packets go where they should', async () => {
    assert.equal(await world.visit(pod, VPC_HOST, FAR_PORT), POD);
    assert.equal(await world.visit(world.far(ON_PREMISES), POD, POD_PORT), ON_PREMISES);
    assert.equal(await world.visit(world.far(VPC_HOST_IPV6), POD_IPV6, POD_PORT), VPC_HOST_IPV6);
  });

  it('sets every rp_filter to strict: packets still go where they should', async () => {
    const { node } = world;
    node.run('sysctl', '-qw', 'net.ipv4.conf.all.rp_filter=1');
    assert.equal(await world.visit(pod, VPC_HOST, FAR_PORT), POD);
    assert.equal(await world.visit(world.far(ON_PREMISES), POD, POD_PORT), ON_PREMISES);
    assert.equal(node.run('sysctl', '-n', 'net.ipv4.conf.all.rp_filter').trim(), '1', 'it is not ours');
  });

  it('changes a setting of which the kernel tells nobody: repaired at the next look, every 30 seconds', async () => {
    // A round that an earlier change has set off would be that look.
    await stop?.();
    stop = undefined;
    world.node.run('sysctl', '-qw', 'net.ipv6.conf.eth0.accept_ra=1');
    assert.deepEqual(await world.apply(), ['sysctl -w net/ipv6/conf/eth0/accept_ra=2']);
  });
});
