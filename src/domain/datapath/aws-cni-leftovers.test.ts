// Which rules, routes and firewall rules are the AWS VPC CNI's, and which of them nothing needs any more.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cidr } from '../address/testing.ts';
import {
  findAwsCniLeftovers,
  type NodeSnapshot,
  type RouteEntry,
  type RuleEntry,
} from './aws-cni-leftovers.ts';
import { parseNftChains } from './nft-listing.ts';

type Snapshot = NodeSnapshot<RuleEntry, RouteEntry>;

const rule = (priority: number, table: number, over: Partial<RuleEntry> = {}): RuleEntry => ({
  family: 4,
  priority,
  table,
  fwmark: undefined,
  protocol: 0,
  ...over,
});
const POD = cidr('10.1.0.21/32');
const route = (table: number, over: Partial<RouteEntry> = {}): RouteEntry => ({
  family: 4,
  table,
  destination: 'default',
  link: 'eth1',
  protocol: 3,
  ...over,
});
const livePodRoute = route(254, { destination: POD, link: 'eni00000000021' });

const found = (over: Partial<Snapshot>): ReturnType<typeof findAwsCniLeftovers<RuleEntry, RouteEntry>> =>
  findAwsCniLeftovers({
    rules: [],
    routes: [],
    linkNames: ['lo', 'eth0', 'eth1', 'eni00000000021'],
    nftRuleset: '',
    legacyTables: [],
    vethPrefix: 'eni',
    ...over,
  });

describe('a rule', () => {
  const cases: readonly { readonly title: string; readonly entry: RuleEntry; readonly isLeft: boolean }[] = [
    { title: '512 to a pod', entry: rule(512, 254, { to: POD }), isLeft: true },
    {
      title: '512 to an IPv6 pod',
      entry: rule(512, 254, { family: 6, to: cidr('2001:db8::9/128') }),
      isLeft: true,
    },
    { title: '512 to a block', entry: rule(512, 254, { to: cidr('10.1.0.0/24') }), isLeft: false },
    { title: '512 for all, as ours is', entry: rule(512, 1000), isLeft: false },
    { title: '512 with our protocol', entry: rule(512, 254, { to: POD, protocol: 0xe1 }), isLeft: false },
    { title: '1536 from a pod', entry: rule(1536, 2, { from: POD }), isLeft: true },
    { title: '1536 from a pod to a card’s table', entry: rule(1536, 10_101, { from: POD }), isLeft: true },
    {
      title: '1536 by mark, as ours is',
      entry: rule(1536, 1002, { fwmark: { mark: 2, mask: 0x7f } }),
      isLeft: false,
    },
    {
      title: '1024 by its mark',
      entry: rule(1024, 254, { fwmark: { mark: 0x80, mask: 0x80 } }),
      isLeft: true,
    },
    {
      title: '1024 by another mark',
      entry: rule(1024, 254, { fwmark: { mark: 0x40, mask: 0x40 } }),
      isLeft: false,
    },
    { title: '32765 from an ENI', entry: rule(32_765, 3, { from: POD }), isLeft: true },
    {
      title: '32765 of the EC2 network utilities',
      entry: rule(32_765, 10_001, { from: POD }),
      isLeft: false,
    },
    {
      title: '10 from a branch ENI’s link that is gone',
      entry: rule(10, 107, { iif: 'vlan.eth.7' }),
      isLeft: true,
    },
    {
      title: '10 from a pod’s link that is there',
      entry: rule(10, 107, { iif: 'eni00000000021' }),
      isLeft: false,
    },
    { title: '10 from another link', entry: rule(10, 107, { iif: 'tun0' }), isLeft: false },
    { title: 'at another priority', entry: rule(513, 254, { to: POD }), isLeft: false },
  ];
  for (const { title, entry, isLeft } of cases) {
    it(`${title}: ${isLeft ? 'left over' : 'another’s'}`, () => {
      assert.deepEqual(
        found({ rules: [entry] }).leftovers.map(({ thing }) => thing),
        isLeft ? [{ kind: 'rule', rule: entry }] : [],
      );
    });
  }
});

describe('an ENI’s table', () => {
  const toTable = rule(1536, 2, { from: POD });
  const routes = [route(2), route(3), route(2, { protocol: 0xe1 }), route(254)];

  it('goes with the rules that led to it, but for routes of ours', () => {
    const things = found({ rules: [toTable], routes }).leftovers.map(({ thing }) => thing);
    assert.deepEqual(things, [
      { kind: 'rule', rule: toTable },
      { kind: 'route', route: routes[0] },
    ]);
  });

  it('stays while a rule of another leads to it', () => {
    const others = rule(1000, 2, { from: cidr('192.0.2.0/24') });
    const things = found({ rules: [toTable, others], routes }).leftovers.map(({ thing }) => thing);
    assert.deepEqual(things, [{ kind: 'rule', rule: toTable }]);
  });

  it('of IPv4 is not that of IPv6', () => {
    const things = found({ rules: [toTable], routes: [route(2, { family: 6 })] }).leftovers;
    assert.equal(things.length, 1);
  });
});

describe('a pod that still runs', () => {
  it('keeps its rules, its table, what all pods share, and the firewall rules', () => {
    const rules = [
      rule(512, 254, { to: POD }),
      rule(1536, 2, { from: POD }),
      rule(1024, 254, { fwmark: { mark: 0x80, mask: 0x80 } }),
      rule(32_765, 3, { from: cidr('10.1.0.4/32') }),
    ];
    const { leftovers, livePods, notes } = found({
      rules,
      routes: [livePodRoute, route(2), route(3)],
      nftRuleset: RULESET,
    });
    assert.deepEqual(leftovers, []);
    assert.deepEqual(livePods, [{ address: '10.1.0.21', hostLink: 'eni00000000021' }]);
    assert.match(notes.join(), /^pods of the AWS CNI still run on this node \(1\): rules \(4\)/);
  });

  it('is one of table main: ours, in a table of their own, are not meant', () => {
    assert.deepEqual(found({ routes: [{ ...livePodRoute, table: 1000 }] }).livePods, []);
  });
});

const RULESET = `table ip nat { # handle 1
	chain AWS-SNAT-CHAIN-0 { # handle 1
		ip daddr 10.0.0.0/16  counter return # handle 5
	}

	chain POSTROUTING { # handle 3
		type nat hook postrouting priority srcnat; policy accept;
		 counter jump AWS-SNAT-CHAIN-0 # handle 4
		 counter jump KUBE-POSTROUTING # handle 7
	}
}
table ip mangle { # handle 2
	chain PREROUTING { # handle 1
		iifname "eni*"  counter xt target "CONNMARK" # handle 3
		iifname "cali*"  counter meta mark set ct mark and 0x10000 # handle 4
	}
	chain OUTPUT { # handle 9
		counter meta mark set ct mark and 0x80 # handle 10
	}
}
table ip others { # handle 3
	set direct { # handle 2
		elements = { 10.0.0.0/8 }
	}
	chain AWS-SNAT-CHAIN-0 { # handle 1
	}
}
`;

describe('firewall rules', () => {
  it('are those that lead to its chains, that mark, and the chains themselves, in the order of deletion', () => {
    const commands = found({ nftRuleset: RULESET }).leftovers.flatMap(({ thing }) =>
      thing.kind === 'nft' ? thing.commands : [],
    );
    assert.deepEqual(commands, [
      'delete rule ip nat POSTROUTING handle 4',
      'delete rule ip mangle PREROUTING handle 3',
      'flush chain ip nat AWS-SNAT-CHAIN-0',
      'delete chain ip nat AWS-SNAT-CHAIN-0',
    ]);
  });

  it('of the legacy iptables cannot be seen, which is said', () => {
    assert.match(
      found({ legacyTables: ['filter', 'nat'] }).notes.join(),
      /^the legacy iptables has rules in nat/,
    );
    assert.deepEqual(found({ legacyTables: ['filter'] }).notes, []);
  });
});

describe('parseNftChains', () => {
  it('reads chains with their rules and handles, and leaves out sets', () => {
    assert.deepEqual(
      parseNftChains(RULESET).map(({ table, chain, rules }) => [
        table,
        chain,
        rules.map(({ handle }) => handle),
      ]),
      [
        ['nat', 'AWS-SNAT-CHAIN-0', [5]],
        ['nat', 'POSTROUTING', [4, 7]],
        ['mangle', 'PREROUTING', [3, 4]],
        ['mangle', 'OUTPUT', [10]],
        ['others', 'AWS-SNAT-CHAIN-0', []],
      ],
    );
  });
});
