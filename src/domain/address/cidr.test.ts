// CIDR blocks: strict parsing, and arithmetic against ipaddr.js, cidr-tools and naive models.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { containsCidr, overlapCidr } from 'cidr-tools';
import * as fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import {
  blockOf,
  cidrContains,
  cidrContainsCidr,
  cidrOverlaps,
  cidrPrefixLength,
  cidrSize,
  compareCidrs,
  firstAddress,
  hostCidr,
  lastAddress,
  nthAddress,
  parseCidr,
} from './cidr.ts';
import type { Cidr, Ip } from './ip.ts';
import { bitsOf, familyOf } from './ip.ts';
import { ipFromBigInt, ipToBigInt } from './ip-number.ts';
import { cidr, ip } from './testing.ts';

const SEED = 20_242;

const refused: readonly [text: string, error: string][] = [
  ['10.0.0.0', '"10.0.0.0" is not a CIDR block: it has no prefix length, as in 10.0.0.0/16'],
  ['10.0.0.5/24', '"10.0.0.5/24" has host bits set: the block of 10.0.0.5 is 10.0.0.0/24'],
  ['2001:db8::1/64', '"2001:db8::1/64" has host bits set: the block of 2001:db8::1 is 2001:db8::/64'],
  ['10.0.0.0/33', '"10.0.0.0/33" is not a CIDR block: the prefix length must be a whole number from 0 to 32'],
  ['::/129', '"::/129" is not a CIDR block: the prefix length must be a whole number from 0 to 128'],
  ['10.0.0.0/08', '"10.0.0.0/08" is not a CIDR block: the prefix length must be a whole number from 0 to 32'],
  ['10.0.0.0/', '"10.0.0.0/" is not a CIDR block: the prefix length must be a whole number from 0 to 32'],
  [
    '10.0.0.0/8/8',
    '"10.0.0.0/8/8" is not a CIDR block: the prefix length must be a whole number from 0 to 32',
  ],
  ['10.0.0.0/-1', '"10.0.0.0/-1" is not a CIDR block: the prefix length must be a whole number from 0 to 32'],
  [
    '10.0.0.0/255.0.0.0',
    '"10.0.0.0/255.0.0.0" is not a CIDR block: the prefix length must be a whole number from 0 to 32',
  ],
  [
    '010.0.0.0/8',
    '"010.0.0.0/8" is not a CIDR block: "010.0.0.0" is not an IPv4 address: octet "010" has a leading zero',
  ],
  ['10/8', '"10/8" is not a CIDR block: "10" is not an IPv4 address: expected four octets, got 1'],
];

describe('parseCidr', () => {
  for (const [text, canonical] of [
    ['0.0.0.0/0', '0.0.0.0/0'],
    ['10.0.0.0/16', '10.0.0.0/16'],
    ['10.0.0.5/32', '10.0.0.5/32'],
    ['2001:DB8:0::/56', '2001:db8::/56'],
    ['::/0', '::/0'],
    ['::1/128', '::1/128'],
    ['::ffff:10.0.0.0/104', '::ffff:10.0.0.0/104'],
  ] as const) {
    it(`reads ${text} as ${canonical}`, () => {
      assert.deepEqual(parseCidr(text), { ok: true, value: canonical });
    });
  }

  for (const [text, error] of refused) {
    it(`refuses ${JSON.stringify(text)}`, () => {
      assert.deepEqual(parseCidr(text), { ok: false, error });
    });
  }

  it('names a block that it accepts itself', () => {
    fc.assert(
      fc.property(anyIp, fc.nat({ max: 128 }), (address, length) => {
        fc.pre(length <= bitsOf(familyOf(address)));
        const read = parseCidr(`${address}/${length}`);
        const named = read.ok ? read.value : read.error.slice(read.error.lastIndexOf(' ') + 1);
        assert.deepEqual(parseCidr(named), { ok: true, value: named });
      }),
      { seed: SEED },
    );
  });
});

describe('block arithmetic', () => {
  it('knows a block and its parts', () => {
    const block = cidr('10.0.128.0/17');
    assert.equal(cidrPrefixLength(block), 17);
    assert.equal(cidrSize(block), 32_768n);
    assert.equal(firstAddress(block), '10.0.128.0');
    assert.equal(lastAddress(block), '10.0.255.255');
    assert.equal(nthAddress(block, 256), '10.0.129.0');
    assert.equal(hostCidr(ip('10.0.128.9')), '10.0.128.9/32');
    assert.equal(hostCidr(ip('2001:db8::9')), '2001:db8::9/128');
    assert.equal(blockOf(ip('255.255.255.255'), 0), '0.0.0.0/0');
    assert.equal(lastAddress(cidr('::/0')), 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff');
  });

  it('refuses an address number outside the block', () => {
    assert.throws(() => nthAddress(cidr('10.0.0.0/28'), 16), /has an address number 16/);
    assert.throws(() => nthAddress(cidr('10.0.0.0/28'), -1), /has an address number -1/);
  });

  it('never finds an address of the other family inside', () => {
    assert.equal(cidrContains(cidr('0.0.0.0/0'), ip('::1')), false);
    assert.equal(cidrContains(cidr('::/0'), ip('10.0.0.1')), false);
    assert.equal(cidrOverlaps(cidr('0.0.0.0/0'), cidr('::/0')), false);
  });

  it('contains what ipaddr.js says it contains', () => {
    fc.assert(
      fc.property(nearPair, ({ block, address }) => {
        const [base, length] = ipaddr.parseCIDR(block);
        assert.equal(cidrContains(block, address), ipaddr.parse(address).match(base, length));
      }),
      { seed: SEED, numRuns: 1000 },
    );
  });

  it('contains exactly the addresses between its first and last', () => {
    fc.assert(
      fc.property(nearPair, ({ block, address }) => {
        const value = ipToBigInt(address);
        const inside = value >= ipToBigInt(firstAddress(block)) && value <= ipToBigInt(lastAddress(block));
        assert.equal(cidrContains(block, address), inside);
        if (inside) assert.equal(nthAddress(block, value - ipToBigInt(firstAddress(block))), address);
      }),
      { seed: SEED, numRuns: 1000 },
    );
  });

  it('overlaps and contains blocks as cidr-tools says', () => {
    fc.assert(
      fc.property(nearPair, fc.nat({ max: 32 }), ({ block, address }, shrink) => {
        const other = blockOf(address, Math.max(0, bitsOf(familyOf(address)) - shrink));
        assert.equal(cidrOverlaps(block, other), overlapCidr(block, other));
        assert.equal(cidrOverlaps(other, block), cidrOverlaps(block, other));
        assert.equal(cidrContainsCidr(block, other), containsCidr(block, other));
      }),
      { seed: SEED, numRuns: 1000 },
    );
  });

  it('sorts IPv4 first, then by address, then the larger block first', () => {
    const sorted = ['9.0.0.0/8', '10.0.0.0/8', '10.0.0.0/16', '10.1.0.0/16', '::/0', '::1/128'].map(cidr);
    assert.deepEqual([...sorted].reverse().sort(compareCidrs), sorted);
  });
});

const anyIp: fc.Arbitrary<Ip> = fc.oneof(
  fc.bigInt({ min: 0n, max: (1n << 32n) - 1n }).map((value) => ipFromBigInt(4, value)),
  fc.bigInt({ min: 0n, max: (1n << 128n) - 1n }).map((value) => ipFromBigInt(6, value)),
);

/** A block, and an address of its family at most a few block sizes away, so that both answers occur. */
const nearPair: fc.Arbitrary<{ block: Cidr; address: Ip }> = fc
  .tuple(anyIp, fc.nat({ max: 128 }), fc.double({ min: -2, max: 3, noNaN: true }))
  .map(([base, someLength, distance]) => {
    const family = familyOf(base);
    const bits = bitsOf(family);
    const block = blockOf(base, someLength % (bits + 1));
    const offset = (cidrSize(block) * BigInt(Math.round(distance * 1000))) / 1000n;
    const space = 1n << BigInt(bits);
    const value = (((ipToBigInt(firstAddress(block)) + offset) % space) + space) % space;
    return { block, address: ipFromBigInt(family, value) };
  });
