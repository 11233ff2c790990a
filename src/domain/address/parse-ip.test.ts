// parseIp: what it accepts, what it refuses and how it says so, and its canonical text against independent parsers.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { familyOf } from './ip.ts';
import {
  compareIps,
  ipFromBigInt,
  ipToBigInt,
  ipv4FromNumber,
  ipv4ToNumber,
  sortedIps,
} from './ip-number.ts';
import { parseIp } from './parse-ip.ts';
import { ip } from './testing.ts';

const SEED = 20_241;

const accepted: readonly [text: string, canonical: string][] = [
  ['10.0.0.5', '10.0.0.5'],
  ['0.0.0.0', '0.0.0.0'],
  ['255.255.255.255', '255.255.255.255'],
  ['::', '::'],
  ['::1', '::1'],
  ['1::', '1::'],
  ['2001:DB8:0:0:8:800:200C:417A', '2001:db8::8:800:200c:417a'],
  ['2001:0db8:0000:0000:0000:0000:0000:0001', '2001:db8::1'],
  ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
  ['2001:0:0:1:0:0:0:1', '2001:0:0:1::1'],
  ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
  ['1:2:3:4:5:6:7::', '1:2:3:4:5:6:7:0'],
  ['::2:3:4:5:6:7:8', '0:2:3:4:5:6:7:8'],
  ['::ffff:192.0.2.1', '::ffff:192.0.2.1'],
  ['::FFFF:C000:0201', '::ffff:192.0.2.1'],
  ['0:0:0:0:0:ffff:192.0.2.1', '::ffff:192.0.2.1'],
  ['64:ff9b::192.0.2.33', '64:ff9b::c000:221'],
  ['::13.1.68.3', '::d01:4403'],
];

const refused: readonly [text: string, error: string][] = [
  ['', '"" is not an IPv4 address: expected four octets, got 1'],
  ['10.0.0', '"10.0.0" is not an IPv4 address: expected four octets, got 3'],
  ['167772165', '"167772165" is not an IPv4 address: expected four octets, got 1'],
  ['0x0a.0.0.5', '"0x0a.0.0.5" is not an IPv4 address: octet "0x0a" is not a decimal number'],
  ['10.0.0.010', '"10.0.0.010" is not an IPv4 address: octet "010" has a leading zero'],
  ['10.0.0.00', '"10.0.0.00" is not an IPv4 address: octet "00" has a leading zero'],
  ['10.0.0.256', '"10.0.0.256" is not an IPv4 address: octet "256" is over 255'],
  ['10.0..5', '"10.0..5" is not an IPv4 address: octet "" is empty'],
  ['10.0.0.5 ', '"10.0.0.5 " is not an IPv4 address: octet "5 " is not a decimal number'],
  ['10.0.0.5\n', '"10.0.0.5\\n" is not an IPv4 address: octet "5\\n" is not a decimal number'],
  ['10.0.0.-1', '"10.0.0.-1" is not an IPv4 address: octet "-1" is not a decimal number'],
  ['10.0.0.٣', '"10.0.0.٣" is not an IPv4 address: octet "٣" is not a decimal number'],
  ['10.0.0.0/8', '"10.0.0.0/8" is not an IPv4 address: octet "0/8" is not a decimal number'],
  [
    'fe80::1%eth0',
    '"fe80::1%eth0" is not an IPv6 address: a zone id has no meaning here; leave out "%" and what follows',
  ],
  ['1::2::3', '"1::2::3" is not an IPv6 address: "::" may stand only once'],
  [':::', '":::" is not an IPv6 address: a group is empty'],
  ['1:2:3:4:5:6:7', '"1:2:3:4:5:6:7" is not an IPv6 address: expected 8 groups, got 7'],
  ['1:2:3:4:5:6:7:8:9', '"1:2:3:4:5:6:7:8:9" is not an IPv6 address: expected 8 groups, got 9'],
  ['1:2:3:4::5:6:7:8', '"1:2:3:4::5:6:7:8" is not an IPv6 address: "::" has no group left to stand for'],
  ['12345::', '"12345::" is not an IPv6 address: group "12345" is not one to four hexadecimal digits'],
  ['g::', '"g::" is not an IPv6 address: group "g" is not one to four hexadecimal digits'],
  [':1', '":1" is not an IPv6 address: a group is empty'],
  ['1.2.3.4::', '"1.2.3.4::" is not an IPv6 address: group "1.2.3.4" is not one to four hexadecimal digits'],
  [
    '::ffff:1.2.3.04',
    '"::ffff:1.2.3.04" is not an IPv6 address: embedded IPv4 address "1.2.3.04": octet "04" has a leading zero',
  ],
];

describe('parseIp', () => {
  for (const [text, canonical] of accepted) {
    it(`reads ${text} as ${canonical}`, () => {
      assert.deepEqual(parseIp(text), { ok: true, value: canonical });
    });
  }

  for (const [text, error] of refused) {
    it(`refuses ${JSON.stringify(text)}`, () => {
      assert.deepEqual(parseIp(text), { ok: false, error });
    });
  }

  it('cuts a long text in the error', () => {
    const read = parseIp('9'.repeat(10_000));
    assert.ok(!read.ok && read.error.length < 700, 'the error is short');
  });

  it('agrees with ipaddr.js on random four-part decimal text', () => {
    const octet = fc.oneof(
      fc.nat({ max: 300 }).map(String),
      fc.constantFrom('00', '01', '08', '0x1', '', ' 1'),
    );
    fc.assert(
      fc.property(fc.array(octet, { minLength: 3, maxLength: 5 }), (octets) => {
        const text = octets.join('.');
        // isValidFourPartDecimal is ipaddr.js' strict form; isValid would accept inet_aton's.
        assert.equal(parseIp(text).ok, ipaddr.IPv4.isValidFourPartDecimal(text), text);
      }),
      { seed: SEED },
    );
  });

  it('reads every spelling of an IPv6 address as ipaddr.js does, and writes RFC 5952', () => {
    fc.assert(
      fc.property(groups, fc.nat({ max: 7 }), fc.boolean(), (values, at, upper) => {
        const text = spell(values, at, upper);
        const read = parseIp(text);
        assert.ok(read.ok, text);
        const oracle = ipaddr.IPv6.parse(text);
        assert.deepEqual(ipaddr.IPv6.parse(read.value).parts, oracle.parts, text);
        if (!oracle.isIPv4MappedAddress()) assert.equal(read.value, oracle.toRFC5952String(), text);
      }),
      { seed: SEED, numRuns: 500 },
    );
  });

  it('accepts random colon text only where ipaddr.js does', () => {
    const piece = fc.constantFrom('0', '1', 'ffff', 'abcd', '12345', '', ':', 'x', '1.2.3.4');
    fc.assert(
      fc.property(fc.array(piece, { minLength: 2, maxLength: 9 }), (pieces) => {
        const text = pieces.join(':');
        if (parseIp(text).ok) assert.ok(ipaddr.IPv6.isValid(text), text);
      }),
      { seed: SEED, numRuns: 1000 },
    );
  });

  it('is idempotent: its output is its own canonical form', () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (text) => {
        const once = parseIp(text);
        assert.ok(once.ok, text);
        assert.deepEqual(parseIp(once.value), once);
      }),
      { seed: SEED, numRuns: 500 },
    );
  });
});

describe('addresses as numbers', () => {
  const ipv4Value = fc.integer({ min: 0, max: 2 ** 32 - 1 });
  const group = fc.oneof(fc.constant(0), fc.nat({ max: 0xf }), fc.nat({ max: 0xffff }));
  const ipv6Value = fc.oneof(
    fc.bigInt({ min: 0n, max: (1n << 128n) - 1n }),
    // Zeros at the start, in the middle and at the end, so that there is a "::" there; ::ffff:1.2.3.4 among them.
    fc
      .array(group, { minLength: 8, maxLength: 8 })
      .map((all) => all.reduce((value, one) => (value << 16n) | BigInt(one), 0n)),
    fc.nat({ max: 0xffff_ffff }).map((low) => (0xffffn << 32n) | BigInt(low)),
  );

  it('round-trips every value', () => {
    fc.assert(
      fc.property(ipv4Value, ipv6Value, (four, six) => {
        assert.equal(ipv4ToNumber(ipv4FromNumber(four)), four);
        assert.equal(ipToBigInt(ipFromBigInt(4, BigInt(four))), BigInt(four));
        assert.equal(ipToBigInt(ipFromBigInt(6, six)), six);
        assert.equal(familyOf(ipFromBigInt(6, six)), 6);
      }),
      { seed: SEED },
    );
  });

  it('refuses values outside the family', () => {
    assert.throws(() => ipFromBigInt(4, 1n << 32n), /\[0, 2\^32\)/);
    assert.throws(() => ipFromBigInt(4, -1n), /\[0, 2\^32\)/);
    assert.throws(() => ipFromBigInt(6, 1n << 128n), /\[0, 2\^128\)/);
  });

  it('sorts by value, IPv4 first, not by text', () => {
    const sorted = ['10.0.0.2', '10.0.0.10', '::1', '::a', '::1:0'].map(ip);
    assert.deepEqual([...sorted].reverse().sort(compareIps), sorted);
    assert.deepEqual(sortedIps([...sorted].reverse()), sorted);
    assert.deepEqual(sortedIps(new Set(sorted)), sorted);
    assert.equal(compareIps(ip('::1'), ip('::1')), 0);
  });

  it('orders as the values do', () => {
    fc.assert(
      fc.property(ipv6Value, ipv6Value, ipv4Value, ipv4Value, (a, b, c, d) => {
        assert.equal(
          Math.sign(compareIps(ipFromBigInt(6, a), ipFromBigInt(6, b))),
          Number(a > b) - Number(a < b),
        );
        assert.equal(Math.sign(compareIps(ipv4FromNumber(c), ipv4FromNumber(d))), Math.sign(c - d));
      }),
      { seed: SEED },
    );
  });
});

/** Groups with many zeros, so that the rules about `::` matter. */
const groups = fc.array(fc.oneof({ weight: 2, arbitrary: fc.constant(0) }, fc.nat({ max: 0xffff })), {
  minLength: 8,
  maxLength: 8,
});

/** One spelling: `::` for the zero run that starts at `at`, if there is one; case as told. */
function spell(values: readonly number[], at: number, upper: boolean): string {
  const texts = values.map((value) => value.toString(16).padStart(upper ? 4 : 1, '0'));
  let end = at;
  while (end < 8 && values[end] === 0) end++;
  const text = end > at ? `${texts.slice(0, at).join(':')}::${texts.slice(end).join(':')}` : texts.join(':');
  return upper ? text.toUpperCase() : text;
}
