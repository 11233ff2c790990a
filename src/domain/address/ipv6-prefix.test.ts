// Which addresses of a /80 are whose.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { blockOf, cidrContains, nthAddress } from './cidr.ts';
import { ipFromBigInt, ipToBigInt } from './ip-number.ts';
import {
  hostIpv6Address,
  ipv6AddressOf,
  isIpv6Prefix,
  isListedIpv6Address,
  listedIpv6Addresses,
} from './ipv6-prefix.ts';
import { parseIp } from './parse-ip.ts';
import { cidr, ip } from './testing.ts';

const SEED = 20_261;
const PREFIX = cidr('2001:db8:0:1:5::/80');

const prefixes = fc.bigInt({ min: 0x2000n << 112n, max: (0x4000n << 112n) - 1n }).map((value) => {
  const block = blockOf(ipFromBigInt(6, value), 80);
  return block;
});
// From 0.0.1.1 on: see `listedIpv6Addresses`.
const ipv4 = fc.bigInt({ min: 257n, max: 0xffff_ffffn }).map((value) => ipFromBigInt(4, value));

describe('the IPv6 address of a pod with both families', () => {
  for (const [prefix, address, expected] of [
    [PREFIX, '10.1.0.4', '2001:db8:0:1:5:0:a01:4'],
    [PREFIX, '100.64.255.1', '2001:db8:0:1:5:0:6440:ff01'],
    [cidr('2001:db8::/80'), '10.0.0.1', '2001:db8::a00:1'],
    [cidr('2001:db8:0:1:ffff::/80'), '192.168.0.0', '2001:db8:0:1:ffff:0:c0a8:0'],
  ] as const) {
    it(`is ${expected} for ${address} in ${prefix}`, () => {
      assert.equal(ipv6AddressOf(prefix, ip(address)), expected);
    });
  }

  it('[IP-8] lies inside the /80, is canonical, and is nobody else’s: another IPv4 address or another /80 gives another', () => {
    fc.assert(
      fc.property(prefixes, prefixes, ipv4, ipv4, (a, b, x, y) => {
        const one = ipv6AddressOf(a, x);
        assert.ok(cidrContains(a, one));
        assert.deepEqual(parseIp(one), { ok: true, value: one });
        assert.equal(ipToBigInt(one) & 0xffff_ffffn, ipToBigInt(x));
        assert.equal(one === ipv6AddressOf(b, y), a === b && x === y);
      }),
      { seed: SEED },
    );
  });

  it('[IP-8] is never one that pods without IPv4 get, nor the node’s own', () => {
    fc.assert(
      fc.property(prefixes, ipv4, (prefix, address) => {
        const derived = ipv6AddressOf(prefix, address);
        assert.ok(!listedIpv6Addresses(prefix).includes(derived));
        assert.notEqual(hostIpv6Address(prefix), derived);
      }),
      { seed: SEED },
    );
  });

  it('those that pods without IPv4 get are the first 256, one after the other', () => {
    fc.assert(
      fc.property(fc.oneof(prefixes, fc.constant(cidr('2001:0:0:1::/80'))), (prefix) => {
        const listed = listedIpv6Addresses(prefix);
        assert.equal(listed.length, 256);
        for (const [n, address] of listed.entries()) assert.equal(address, nthAddress(prefix, n + 1));
        for (let n = 0; n < 259; n += 1)
          assert.equal(isListedIpv6Address(prefix, nthAddress(prefix, n)), n >= 1 && n <= 256);
      }),
      { seed: SEED },
    );
  });

  it('is asked for with a /80 and an IPv4 address alone', () => {
    assert.throws(() => ipv6AddressOf(cidr('2001:db8::/64'), ip('10.0.0.1')), /is a \/80/);
    assert.throws(() => ipv6AddressOf(PREFIX, ip('2001:db8::1')), /an IPv4 address/);
  });
});

describe('the addresses of a /80 for pods without IPv4', () => {
  it('are its first 256 from ::1 on, and not the node’s own', () => {
    const listed = listedIpv6Addresses(PREFIX);
    assert.equal(listed.length, 256);
    assert.equal(listed[0], '2001:db8:0:1:5::1');
    assert.equal(listed.at(-1), '2001:db8:0:1:5::100');
    assert.equal(new Set(listed).size, 256);
    assert.ok(listed.every((one) => cidrContains(PREFIX, one)));
    assert.equal(hostIpv6Address(PREFIX), '2001:db8:0:1:5:ffff:ffff:ffff');
    assert.ok(!listed.includes(hostIpv6Address(PREFIX)));
  });
});

it('only a /80 of IPv6 is a prefix of an ENI', () => {
  assert.deepEqual(
    ['2001:db8::/80', '2001:db8::/64', '10.0.0.0/28', '2001:db8::1/128'].map((text) =>
      isIpv6Prefix(cidr(text)),
    ),
    [true, false, false, false],
  );
});
