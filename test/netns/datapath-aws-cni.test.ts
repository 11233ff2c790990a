// A node that the AWS VPC CNI has left: what of it is found, what is removed on request, and what is left to its living pods and to others.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, afterEach, beforeEach, describe, it } from 'node:test';
import { createLinuxStacks, type LinuxStack } from '../../src/adapters/linux/linux-stacks.ts';
import { whyNoIptables } from './datapath-support.ts';
import { makeNamespace, skip, type TestNamespace, valueOf } from './linux-support.ts';

const PREFIX = 'eni';
const LIVE_POD = '10.1.0.21';
const GONE_POD = '10.1.0.22';

/** The shapes in which iptables-nft keeps the AWS CNI's rules. */
const FIREWALL = `table ip nat {
  chain AWS-SNAT-CHAIN-0 {
    ip daddr 10.0.0.0/16 counter return
    oifname != "vlan*" fib daddr type != local counter snat to 10.0.0.10 fully-random
  }
  chain AWS-CONNMARK-CHAIN-0 {
    ip daddr 10.0.0.0/16 counter return
    counter ct mark set ct mark or 0x80
  }
  chain KUBE-SERVICES { ip daddr 10.100.0.1 counter return; }
  chain POSTROUTING {
    type nat hook postrouting priority srcnat; policy accept;
    counter jump AWS-SNAT-CHAIN-0
    counter jump KUBE-SERVICES
  }
  chain PREROUTING {
    type nat hook prerouting priority dstnat; policy accept;
    counter jump KUBE-SERVICES
    iifname "eni*" counter jump AWS-CONNMARK-CHAIN-0
    counter meta mark set ct mark and 0x80
  }
}
table ip mangle {
  chain PREROUTING {
    type filter hook prerouting priority mangle; policy accept;
    iifname "eth0" fib daddr . iif type local counter ct mark set ct mark or 0x80
    iifname "eni*" counter meta mark set ct mark and 0x80
    iifname "vlan*" counter meta mark set ct mark and 0x80
    iifname "cali*" counter meta mark set ct mark and 0x10000
  }
}
table ip aws-cni {
  chain nat-prerouting { type nat hook prerouting priority -90; policy accept; }
  chain snat-mark { ip daddr 10.0.0.0/16 return; }
}
table ip kube-proxy { chain services { return; }; }
`;

/** The same as the AWS CNI hands it to iptables. */
const IPTABLES = `*nat
:AWS-SNAT-CHAIN-0 - [0:0]
:AWS-CONNMARK-CHAIN-0 - [0:0]
:KUBE-POSTROUTING - [0:0]
-A POSTROUTING -j KUBE-POSTROUTING
-A POSTROUTING -m comment --comment "AWS SNAT CHAIN" -j AWS-SNAT-CHAIN-0
-A AWS-SNAT-CHAIN-0 -d 10.0.0.0/16 -m comment --comment "AWS SNAT CHAIN" -j RETURN
-A AWS-SNAT-CHAIN-0 ! -o vlan+ -m comment --comment "AWS, SNAT" -m addrtype ! --dst-type LOCAL -j SNAT --to-source 10.0.0.10 --random-fully
-A PREROUTING -i eni+ -m comment --comment "AWS, outbound connections" -j AWS-CONNMARK-CHAIN-0
-A PREROUTING -m comment --comment "AWS, CONNMARK" -j CONNMARK --restore-mark --nfmask 0x80 --ctmask 0x80
-A AWS-CONNMARK-CHAIN-0 -d 10.0.0.0/16 -m comment --comment "AWS CONNMARK CHAIN, VPC CIDR" -j RETURN
-A AWS-CONNMARK-CHAIN-0 -m comment --comment "AWS, CONNMARK" -j CONNMARK --set-xmark 0x80/0x80
COMMIT
*mangle
-A PREROUTING -i eth0 -m comment --comment "AWS, primary ENI" -m addrtype --dst-type LOCAL --limit-iface-in -j CONNMARK --set-xmark 0x80/0x80
-A PREROUTING -i eni+ -m comment --comment "AWS, primary ENI" -j CONNMARK --restore-mark --nfmask 0x80 --ctmask 0x80
-A PREROUTING -i vlan+ -m comment --comment "AWS, primary ENI" -j CONNMARK --restore-mark --nfmask 0x80 --ctmask 0x80
COMMIT
`;

const LINES: readonly string[] = [
  'ip link set lo up',
  'ip link add eth0 type veth peer name far0',
  'ip link add eth1 type veth peer name far1',
  'ip link set eth0 up',
  'ip link set eth1 up',
  'ip addr add 10.0.0.10/24 dev eth0',
  `ip rule add from all to ${GONE_POD} lookup main prio 512`,
  `ip rule add from ${GONE_POD} lookup 2 prio 1536`,
  'ip rule add fwmark 0x80/0x80 lookup main prio 1024',
  'ip rule add from 10.1.0.4 lookup 2 prio 32765',
  'ip rule add iif vlan.eth.7 lookup 107 prio 10',
  'ip route add 10.1.0.1 dev eth1 scope link table 2',
  'ip route add default via 10.1.0.1 dev eth1 table 2',
  // Not the AWS CNI's, though much like its own.
  'ip rule add from 192.0.2.0/24 lookup 3 prio 1000',
  'ip rule add from 192.0.2.0/24 lookup 77 prio 1536',
  'ip rule add from all to 192.0.2.0/24 lookup main prio 512',
  'ip rule add fwmark 0x100/0x100 lookup main prio 1024',
  'ip rule add from 10.0.0.10 lookup 10001 prio 32765',
  'ip route add 192.0.2.9 dev eth1 table 77',
  'ip rule add lookup 1000 prio 512 proto 225',
  'ip route add 10.9.0.1 dev eth1 scope link table 1000 proto 225',
];

const LIVE_POD_LINES: readonly string[] = [
  'ip link add eni00000000021 type veth peer name podend',
  'ip link set eni00000000021 up',
  `ip route add ${LIVE_POD} dev eni00000000021 scope link`,
  `ip rule add from all to ${LIVE_POD} lookup main prio 512`,
  `ip rule add from ${LIVE_POD} lookup 2 prio 1536`,
];

const RULES_OF_GONE_POD = [
  `rule 512: from all to ${GONE_POD}/32 lookup main: led to a pod of the AWS CNI`,
  `rule 1536: from ${GONE_POD}/32 lookup 2: chose the ENI of a pod of the AWS CNI`,
];
const RULE_OF_BRANCH_ENI =
  'rule 10: from all iif vlan.eth.7 lookup 107: led a pod with security groups of its own, which is gone';

const ALL_LEFTOVERS = [
  ...RULES_OF_GONE_POD,
  RULE_OF_BRANCH_ENI,
  'rule 1024: from all fwmark 0x80/0x80 lookup main: led the AWS CNI’s marked packets to eth0',
  'rule 32765: from 10.1.0.4/32 lookup 2: chose the ENI that holds this address',
  'route default dev eth1 table 2: in an ENI table of the AWS CNI',
  'route 10.1.0.1/32 dev eth1 table 2: in an ENI table of the AWS CNI',
  'iptables rule in nat POSTROUTING: counter jump AWS-SNAT-CHAIN-0',
  'iptables rule in nat PREROUTING: iifname "eni*" counter jump AWS-CONNMARK-CHAIN-0',
  'iptables rule in nat PREROUTING: counter meta mark set ct mark & 0x00000080',
  'iptables rule in mangle PREROUTING: iifname "eth0" fib daddr . iif type local counter ct mark set ct mark | 0x00000080',
  'iptables rule in mangle PREROUTING: iifname "eni*" counter meta mark set ct mark & 0x00000080',
  'iptables rule in mangle PREROUTING: iifname "vlan*" counter meta mark set ct mark & 0x00000080',
  'iptables chain AWS-SNAT-CHAIN-0 in nat, with 2 rules',
  'iptables chain AWS-CONNMARK-CHAIN-0 in nat, with 2 rules',
  'nftables table ip aws-cni',
];

describe('leftovers of the AWS VPC CNI', { skip }, () => {
  const stacks = skip === false ? createLinuxStacks() : undefined;
  let node: TestNamespace;
  let stack: LinuxStack;

  const listing = (): string =>
    node.run('sh', '-ec', 'ip rule; ip -6 rule; ip route show table all; nft -s list ruleset');

  beforeEach(async () => {
    node = await makeNamespace();
    assert(stacks, 'there is a kernel');
    stack = stacks.open({ netnsPath: node.path });
  });
  afterEach(async () => {
    await stack.close();
    await node.remove();
  });
  after(() => stacks?.close());

  it('are none on a node that never had it', async () => {
    assert.deepEqual(valueOf(await stack.findAwsCniLeftovers(PREFIX)), {
      leftovers: [],
      livePods: [],
      notes: [],
    });
    assert.deepEqual(valueOf(await stack.removeAwsCniLeftovers(PREFIX)).leftovers, []);
  });

  it('are found, each with a sentence, and looking changes nothing', async () => {
    node.run('sh', '-ec', LINES.join('\n'));
    node.nft(FIREWALL);
    const before = listing();
    const { leftovers, livePods, notes } = valueOf(await stack.findAwsCniLeftovers(PREFIX));
    assert.deepEqual([...leftovers].sort(), [...ALL_LEFTOVERS].sort());
    assert.deepEqual({ livePods, notes }, { livePods: [], notes: [] });
    assert.equal(listing(), before);
  });

  it('are removed on request, and nothing else is', async () => {
    node.run('sh', '-ec', LINES.join('\n'));
    node.nft(FIREWALL);
    const { leftovers } = valueOf(await stack.removeAwsCniLeftovers(PREFIX));
    assert.deepEqual([...leftovers].sort(), [...ALL_LEFTOVERS].sort());
    assert.deepEqual(valueOf(await stack.findAwsCniLeftovers(PREFIX)).leftovers, []);
    const left = listing();
    assert.doesNotMatch(left, /AWS-|aws-cni|0x00000080|fwmark 0x80/);
    for (const others of [
      '1000:\tfrom 192.0.2.0/24 lookup 3',
      '1536:\tfrom 192.0.2.0/24 lookup 77',
      '512:\tfrom all to 192.0.2.0/24 lookup main',
      '1024:\tfrom all fwmark 0x100/0x100 lookup main',
      '32765:\tfrom 10.0.0.10 lookup 10001',
      '512:\tfrom all lookup 1000 proto 225',
      '192.0.2.9 dev eth1 table 77',
      '10.9.0.1 dev eth1 table 1000 proto 225',
      'jump KUBE-SERVICES',
      'iifname "cali*"',
      'table ip kube-proxy',
    ]) {
      assert.ok(left.includes(others), `${others} is still there`);
    }
  });

  it('are found and removed where iptables itself wrote them', { skip: whyNoIptables() }, async () => {
    execFileSync('nsenter', [`--net=${node.path}`, 'iptables-restore', '--noflush'], {
      input: IPTABLES,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const before = node.run('iptables-save');
    assert.equal(before.match(/^-A .*AWS/gm)?.length, 10);
    assert.equal(valueOf(await stack.removeAwsCniLeftovers(PREFIX)).leftovers.length, 8);
    const left = node.run('iptables-save');
    assert.doesNotMatch(left, /AWS/);
    assert.match(left, /-A POSTROUTING -j KUBE-POSTROUTING/);
  });

  it('are not what pods that still run need: their rules, their ENI’s table, the shared rules', async () => {
    node.run('sh', '-ec', [...LINES, ...LIVE_POD_LINES].join('\n'));
    node.nft(FIREWALL);
    const { leftovers, livePods, notes } = valueOf(await stack.removeAwsCniLeftovers(PREFIX));
    assert.deepEqual([...leftovers].sort(), [...RULES_OF_GONE_POD, RULE_OF_BRANCH_ENI].sort());
    assert.deepEqual(livePods, [{ address: LIVE_POD, hostLink: 'eni00000000021' }]);
    assert.match(notes.join(), /^pods of the AWS CNI still run on this node \(1\): rules \(4\)/);
    const left = listing();
    for (const needed of [
      `from ${LIVE_POD} lookup 2`,
      'default via 10.1.0.1 dev eth1 table 2',
      'AWS-SNAT-CHAIN-0',
    ]) {
      assert.ok(left.includes(needed), `${needed} is still there`);
    }
    node.run('ip', 'link', 'del', 'eni00000000021');
    valueOf(await stack.removeAwsCniLeftovers(PREFIX));
    assert.doesNotMatch(listing(), /AWS-|aws-cni|lookup 2 |table 2 /);
  });
});
