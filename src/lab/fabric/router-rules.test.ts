// The router's table, whole, in nft's own syntax.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cidr } from '../../domain/address/testing.ts';
import { routerRules } from './router-rules.ts';
import { attachmentOf, SECONDARY, VIEW, withIpv6 } from './testing.ts';

/** They go by links and connections alone, so they are the same in both families. */
const CHAINS_OF_ENIS = `  chain ingress_eni00000000 {
    jump ingress_sg-00000000
  }
  chain egress_eni00000000 {
    jump egress_sg-00000000
  }
  chain ingress_eni11111111 {
    jump ingress_sg-11111111
    jump ingress_sg-00000000
  }
  chain egress_eni11111111 {
    jump egress_sg-11111111
    jump egress_sg-00000000
  }
  chain source_check {
    type filter hook prerouting priority raw; policy accept;
    iifname != "lo" fib saddr . iif oif missing drop
  }
  chain leave_source {
    type filter hook forward priority filter; policy drop;
    ct state vmap { established : accept, related : accept, invalid : drop }
    iifname "onprem" oifname "internet" drop
    iifname vmap { "eni00000000" : jump egress_eni00000000, "eni11111111" : jump egress_eni11111111, "onprem" : accept }
  }
  chain enter_destination {
    type filter hook forward priority filter + 10; policy drop;
    ct state vmap { established : accept, related : accept, invalid : drop }
    oifname vmap { "eni00000000" : jump ingress_eni00000000, "eni11111111" : jump ingress_eni11111111, "internet" : accept, "onprem" : accept }
  }
  chain to_router {
    type filter hook input priority filter; policy drop;
    iifname "lo" accept
    ct state established,related accept
`;

const TABLE = `add table ip vpc
delete table ip vpc
table ip vpc {
  set members_sg-00000000 {
    type ipv4_addr; flags interval; auto-merge
    elements = { 10.1.0.10, 10.1.8.4, 10.1.8.5, 10.1.8.32/28 }
  }
  set members_sg-11111111 {
    type ipv4_addr; flags interval; auto-merge
    elements = { 10.1.8.4, 10.1.8.5, 10.1.8.32/28 }
  }
  chain ingress_sg-00000000 {
    accept
  }
  chain egress_sg-00000000 {
    accept
  }
  chain ingress_sg-11111111 {
    ip saddr 192.168.0.0/16 tcp dport 8080 accept
    ip saddr @members_sg-11111111 udp dport 53-54 accept
    meta l4proto icmp accept
  }
  chain egress_sg-11111111 {
  }
${CHAINS_OF_ENIS}    iifname "eni*" ip daddr 169.254.169.254 tcp dport 80 accept
  }
  chain internet_gateway {
    type nat hook postrouting priority srcnat; policy accept;
    oifname "internet" snat ip prefix to ip saddr map { 10.1.0.0/16 : 198.18.0.0/16 }
  }
}
`;

test('two ENIs and two groups make this table', () => {
  assert.equal(routerRules(VIEW), TABLE);
});

test('an ENI that is not attached yet, or no longer, has no rules, but is a member of its groups', () => {
  for (const status of ['attaching', 'detaching'] as const) {
    const enis = VIEW.enis.map((eni) =>
      eni === SECONDARY ? { ...eni, attachment: attachmentOf('1', 1, status) } : eni,
    );
    const rules = routerRules({ ...VIEW, enis });
    assert.doesNotMatch(rules, /eni11111111/);
    assert.match(rules, /set members_sg-11111111 \{\n.*\n {4}elements = \{ 10\.1\.8\.4, /);
  }
});

test('a group that nobody has, or that does not exist, is an empty set', () => {
  const securityGroups = VIEW.securityGroups.slice(1);
  const rules = routerRules({ ...VIEW, securityGroups, enis: [] });
  assert.match(rules, /set members_sg-11111111 \{\n {4}type ipv4_addr; flags interval; auto-merge\n {2}\}/);
  assert.match(rules, /ip saddr @members_sg-11111111 udp/);
});

test('an ENI whose group has been deleted keeps its other groups', () => {
  const rules = routerRules({ ...VIEW, securityGroups: VIEW.securityGroups.slice(1) });
  assert.match(rules, /chain ingress_eni11111111 \{\n {4}jump ingress_sg-11111111\n {2}\}/);
});

const IPV6_TABLE = `add table ip6 vpc
delete table ip6 vpc
table ip6 vpc {
  set members_sg-00000000 {
    type ipv6_addr; flags interval; auto-merge
    elements = { 2600:1f14:0:ab01:7::/80 }
  }
  set members_sg-11111111 {
    type ipv6_addr; flags interval; auto-merge
    elements = { 2600:1f14:0:ab01:7::/80 }
  }
  chain ingress_sg-00000000 {
  }
  chain egress_sg-00000000 {
    accept
  }
  chain ingress_sg-11111111 {
    ip6 saddr @members_sg-11111111 udp dport 53-54 accept
    accept
  }
  chain egress_sg-11111111 {
  }
${CHAINS_OF_ENIS}    icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept
    iifname "eni*" ip6 daddr fd00:ec2::254 tcp dport 80 accept
  }
}
`;

test('a VPC with IPv6 has a table of it beside, which translates nothing', () => {
  assert.equal(routerRules(withIpv6(VIEW)), TABLE + IPV6_TABLE);
});

test('a rule about ICMP is none about ICMPv6, nor the other way round', () => {
  const anywhere = VIEW.securityGroups[0]?.ingress[0]?.peer;
  const securityGroups = VIEW.securityGroups.map((group) => ({
    ...group,
    ingress: (['icmp', 'icmpv6'] as const).flatMap((protocol) => [
      ...(anywhere === undefined ? [] : [{ protocol, peer: anywhere }]),
      { protocol, peer: { kind: 'Cidr' as const, cidr: cidr('::/0') } },
    ]),
  }));
  const [ipv4 = '', ipv6 = ''] = routerRules(withIpv6({ ...VIEW, securityGroups })).split('add table ip6');
  assert.match(ipv4, /chain ingress_sg-00000000 \{\n {4}meta l4proto icmp accept\n {2}\}/);
  assert.match(ipv6, /chain ingress_sg-00000000 \{\n {4}meta l4proto ipv6-icmp accept\n {2}\}/);
});
