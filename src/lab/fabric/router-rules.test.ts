// The router's table, whole, in nft's own syntax.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { routerRules } from './router-rules.ts';
import { attachmentOf, SECONDARY, VIEW } from './testing.ts';

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
  chain ingress_eni00000000 {
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
    iifname "eni*" ip daddr 169.254.169.254 tcp dport 80 accept
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
