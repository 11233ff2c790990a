// The host's desired state as a whole, as `ip` and `nft` would print it. A change here is a change of the datapath.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { desiredHost } from './desired-host.ts';
import { renderHostAsText } from './host-text.ts';
import { type EniSketch, hostInput, prefixes, primary, twoPods } from './testing.ts';

const ipv6: EniSketch = {
  deviceIndex: 1,
  subnet: '2001:db8:0:1::/64',
  pods: ['2001:db8:0:1:5::/80', '2001:db8:0:1::9'],
};

describe('the whole host', () => {
  for (const [title, enis, golden] of [
    ['custom networking with two pod ENIs', [primary, twoPods, prefixes], () => GOLDEN_CUSTOM_NETWORKING],
    ['no ENI known yet: guard and pods rule only', [], () => GOLDEN_EMPTY],
    ['an IPv6 pod ENI', [primary, ipv6], () => GOLDEN_IPV6],
  ] as const) {
    it(title, () => {
      assert.equal(renderHostAsText(desiredHost(hostInput(enis)).host), golden());
    });
  }
});

// What hosts have alike.

const SOURCES_AND_IMDS = `  set known_sources {
    type iface_index . ipv4_addr
    size 4096
    flags dynamic,timeout
    timeout 10s
  }

  set imds_allowed {
    type ipv4_addr
  }

`;

const DIRECT = `  set direct {
    type ipv4_addr
    flags interval
    elements = {
      10.0.0.0/16,
      100.64.0.0/16
    }
  }

`;

const FROM_OUTSIDE = `  chain from_outside {
    ct state new iifname vmap @eni_of_interface
  }

`;

const GUARD = `  chain guard {
    type filter hook prerouting priority raw; policy accept;
    iifgroup != 225 iifname != "eni*" accept
    ip daddr 169.254.169.254 ip saddr != @imds_allowed counter drop
    iif . ip saddr @known_sources accept
    ip6 daddr fd00:ec2::254 counter drop
    ip6 saddr { ::, fe80::/10 } accept
    fib saddr . iif oif missing counter drop
    add @known_sources { iif . ip saddr }
  }

`;

const SNAT = `  chain postrouting {
    type nat hook postrouting priority srcnat; policy accept;
    oifname "eth0" ip saddr @pod_addresses ip daddr != @direct snat ip to 10.0.0.10 fully-random
  }
}
`;

const NO_IPV4_PODS = `  map eni_of_address {
    type ipv4_addr : verdict
    flags interval
  }

${SOURCES_AND_IMDS}  set pod_addresses {
    type ipv4_addr
    flags interval
  }

`;

const chainsOfEni = (mark: number): string => `  chain eni_${mark} {
    meta mark set meta mark & 0xffffff80 | 0x${mark}
  }

  chain connection_of_eni_${mark} {
    ct mark set ct mark & 0xffffff80 | 0x${mark}
  }

  chain way_of_eni_${mark} {
    ct mark set ct mark & 0xffffff80 | 0x${mark}
    meta mark set meta mark & 0xffffff80 | 0x${mark}
  }

`;

const GOLDEN_CUSTOM_NETWORKING = `# links
eth0 02:00:00:00:00:00 mtu 9001 primary, has 10.0.0.10
eth1 02:00:00:00:00:01 mtu 9001 100.64.0.11/32
eth2 02:00:00:00:00:02 mtu 9001 100.64.0.12/32

# rules
-4 512: from all lookup 1000 proto 225
-4 1536: from all fwmark 0x1/0x7f lookup 1001 proto 225
-4 1536: from all fwmark 0x2/0x7f lookup 1002 proto 225
-4 1536: from all fwmark 0x3/0x7f lookup 1003 proto 225

# routes
-4 default via 10.0.0.1 dev eth0 table 1001 proto 225 onlink
-4 default via 100.64.0.1 dev eth1 table 1002 proto 225 onlink
-4 default via 100.64.0.1 dev eth2 table 1003 proto 225 onlink

# sysctls
net/ipv4/ip_forward = 1
net/ipv4/conf/eth0/rp_filter = 2
net/ipv4/conf/eth1/rp_filter = 2
net/ipv4/conf/eth2/rp_filter = 2

# nftables
table inet eniwhere {
  map eni_of_address {
    type ipv4_addr : verdict
    flags interval
    elements = {
      100.64.0.3 : goto way_of_eni_2,
      100.64.0.21 : goto way_of_eni_2,
      100.64.0.200 : goto way_of_eni_3,
      100.64.2.0/28 : goto way_of_eni_3
    }
  }

${SOURCES_AND_IMDS}  set pod_addresses {
    type ipv4_addr
    flags interval
    elements = {
      100.64.0.3,
      100.64.0.21,
      100.64.0.200,
      100.64.2.0/28
    }
  }

${DIRECT}  map eni_of_interface {
    type ifname : verdict
    elements = {
      "eth0" : goto connection_of_eni_1,
      "eth1" : goto connection_of_eni_2,
      "eth2" : goto connection_of_eni_3
    }
  }

${chainsOfEni(1)}${chainsOfEni(2)}${chainsOfEni(3)}${FROM_OUTSIDE}${GUARD}  chain prerouting {
    type filter hook prerouting priority dstnat + 10; policy accept;
    iifgroup != 225 iifname != "eni*" goto from_outside
    ct mark & 0x7f vmap { 0x1 : goto eni_1, 0x2 : goto eni_2, 0x3 : goto eni_3 }
    ct status snat accept
    ip daddr @direct ip saddr vmap @eni_of_address
  }

  chain output {
    type route hook output priority mangle; policy accept;
    ct direction reply ct mark & 0x7f vmap { 0x2 : goto eni_2, 0x3 : goto eni_3 }
  }

${SNAT}`;

const GOLDEN_EMPTY = `# links

# rules
-4 512: from all lookup 1000 proto 225

# routes

# sysctls
net/ipv4/ip_forward = 1

# nftables
table inet eniwhere {
${NO_IPV4_PODS}${DIRECT}  map eni_of_interface {
    type ifname : verdict
  }

${FROM_OUTSIDE}${GUARD}  chain prerouting {
    type filter hook prerouting priority dstnat + 10; policy accept;
    iifgroup != 225 iifname != "eni*" goto from_outside
    ct status snat accept
    ip daddr @direct ip saddr vmap @eni_of_address
  }

  chain output {
    type route hook output priority mangle; policy accept;
  }

  chain postrouting {
    type nat hook postrouting priority srcnat; policy accept;
  }
}
`;

const GOLDEN_IPV6 = `# links
eth0 02:00:00:00:00:00 mtu 9001 primary, has 10.0.0.10
eth1 02:00:00:00:00:01 mtu 9001 2001:db8:0:1::a1/128 2001:db8:0:1:5:ffff:ffff:ffff/128

# rules
-4 512: from all lookup 1000 proto 225
-4 1536: from all fwmark 0x1/0x7f lookup 1001 proto 225
-6 512: from all lookup 1000 proto 225
-6 1536: from all fwmark 0x2/0x7f lookup 1002 proto 225

# routes
-4 default via 10.0.0.1 dev eth0 table 1001 proto 225 onlink
-6 default via 2001:db8:0:1::1 dev eth1 table 1002 proto 225 onlink

# sysctls
net/ipv4/ip_forward = 1
net/ipv4/conf/eth0/rp_filter = 2
net/ipv4/conf/eth1/rp_filter = 2
net/ipv6/conf/eth0/accept_ra = 2
net/ipv6/conf/eth1/accept_ra = 0
net/ipv6/conf/all/forwarding = 1

# nftables
table inet eniwhere {
${NO_IPV4_PODS}${DIRECT}  map eni_of_address6 {
    type ipv6_addr : verdict
    flags interval
    elements = {
      2001:db8:0:1::9 : goto way_of_eni_2,
      2001:db8:0:1:5::/80 : goto way_of_eni_2
    }
  }

  set known_sources6 {
    type iface_index . ipv6_addr
    size 4096
    flags dynamic,timeout
    timeout 10s
  }

  set imds_allowed6 {
    type ipv6_addr
  }

  map eni_of_interface {
    type ifname : verdict
    elements = {
      "eth0" : goto connection_of_eni_1,
      "eth1" : goto connection_of_eni_2
    }
  }

${chainsOfEni(1)}${chainsOfEni(2)}${FROM_OUTSIDE}  chain guard {
    type filter hook prerouting priority raw; policy accept;
    iifgroup != 225 iifname != "eni*" accept
    ip daddr 169.254.169.254 ip saddr != @imds_allowed counter drop
    iif . ip saddr @known_sources accept
    ip6 daddr fd00:ec2::254 ip6 saddr != @imds_allowed6 counter drop
    iif . ip6 saddr @known_sources6 accept
    ip6 saddr { ::, fe80::/10 } accept
    fib saddr . iif oif missing counter drop
    add @known_sources { iif . ip saddr }
    add @known_sources6 { iif . ip6 saddr }
  }

  chain prerouting {
    type filter hook prerouting priority dstnat + 10; policy accept;
    iifgroup != 225 iifname != "eni*" goto from_outside
    ct mark & 0x7f vmap { 0x1 : goto eni_1, 0x2 : goto eni_2 }
    ct status snat accept
    ip daddr @direct ip saddr vmap @eni_of_address
    ip6 saddr vmap @eni_of_address6
  }

  chain output {
    type route hook output priority mangle; policy accept;
    ct direction reply ct mark & 0x7f vmap { 0x2 : goto eni_2 }
  }

${SNAT}`;
