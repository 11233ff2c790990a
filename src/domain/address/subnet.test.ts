// What AWS reserves in a subnet, and which blocks of it are still whole.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { cidrContains, cidrOverlaps, cidrSize, hostCidr, nthAddress } from './cidr.ts';
import { type FreeBlockQuery, freeBlockCount, freeBlocks } from './free-blocks.ts';
import type { Cidr, Ip } from './ip.ts';
import { prefixAddresses } from './prefix.ts';
import { reservedAddresses, subnetGateway, usableAddressCount } from './subnet.ts';
import { cidr, ip } from './testing.ts';

const SEED = 20_243;

describe('a subnet', () => {
  for (const [block, usable, reserved] of [
    ['10.0.0.0/24', 251, ['10.0.0.0', '10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.0.255']],
    [
      '172.31.128.0/20',
      4091,
      ['172.31.128.0', '172.31.128.1', '172.31.128.2', '172.31.128.3', '172.31.143.255'],
    ],
    ['10.0.0.0/28', 11, ['10.0.0.0', '10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.0.15']],
    ['10.0.0.0/30', 0, ['10.0.0.0', '10.0.0.1', '10.0.0.2', '10.0.0.3']],
    ['10.0.0.7/32', 0, ['10.0.0.7']],
    [
      '2001:db8::/64',
      2 ** 64,
      ['2001:db8::', '2001:db8::1', '2001:db8::2', '2001:db8::3', '2001:db8::ffff:ffff:ffff:ffff'],
    ],
  ] as const) {
    it(`${block} has ${usable} usable addresses, and AWS keeps ${reserved.length}`, () => {
      assert.equal(usableAddressCount(cidr(block)), usable);
      assert.deepEqual(reservedAddresses(cidr(block)), reserved);
    });
  }

  it('has its router at its first address', () => {
    assert.equal(subnetGateway(cidr('172.31.16.0/20')), '172.31.16.1');
    assert.equal(subnetGateway(cidr('2001:db8:0:1::/64')), '2001:db8:0:1::1');
  });
});

describe('prefixAddresses', () => {
  it('lists the 16 addresses of a /28', () => {
    const addresses = prefixAddresses(cidr('10.0.0.16/28'));
    assert.equal(addresses.length, 16);
    assert.equal(addresses[0], '10.0.0.16');
    assert.equal(addresses[15], '10.0.0.31');
  });

  it('refuses to list an IPv6 /80', () => {
    assert.throws(() => prefixAddresses(cidr('2001:db8::/80')), /small enough to list/);
  });
});

describe('freeBlocks', () => {
  const query = (subnet: string, used: readonly string[], blockLength = 28): FreeBlockQuery => ({
    subnet: cidr(subnet),
    used: used.map((text) => (text.includes('/') ? cidr(text) : ip(text))),
    reserved: reservedAddresses(cidr(subnet)),
    blockLength,
  });

  it('finds 14 whole /28 blocks in an empty /24: AWS keeps addresses of the first and the last', () => {
    const free = [...freeBlocks(query('10.0.0.0/24', []))];
    assert.equal(free.length, 14);
    assert.equal(free[0], '10.0.0.16/28');
    assert.equal(free[13], '10.0.0.224/28');
  });

  it('finds none in a /24 with one used address in each block, though 237 addresses are free', () => {
    const used = Array.from({ length: 14 }, (_, n) => `10.0.0.${16 * (n + 1) + 5}`);
    assert.deepEqual([...freeBlocks(query('10.0.0.0/24', used))], []);
    assert.equal(freeBlockCount(query('10.0.0.0/24', used)), 0);
    assert.equal(freeBlockCount(query('10.0.0.0/24', used.slice(1))), 1);
  });

  it('takes assigned prefixes, larger reservations and blocks around the subnet into account', () => {
    assert.deepEqual(
      [...freeBlocks(query('10.0.0.0/26', ['10.0.0.16/28']))],
      ['10.0.0.32/28'],
      'a prefix takes its own block',
    );
    assert.equal(freeBlockCount(query('10.0.0.0/24', ['10.0.0.0/25'])), 7);
    assert.equal(freeBlockCount(query('10.0.0.0/24', ['10.0.0.0/16'])), 0);
    assert.equal(freeBlockCount(query('10.0.0.0/24', ['10.0.1.0/24', '10.9.9.9', '2001:db8::1'])), 14);
  });

  it('counts the /80 blocks of an IPv6 subnet without listing them', () => {
    const ipv6 = query('2001:db8::/64', ['2001:db8:0:0:5::7'], 80);
    assert.equal(freeBlockCount(ipv6), 65_536 - 3);
    const [first, second] = freeBlocks(ipv6);
    assert.deepEqual([first, second], ['2001:db8:0:0:1::/80', '2001:db8:0:0:2::/80']);
  });

  it('finds no block larger than the subnet', () => {
    assert.deepEqual([...freeBlocks({ ...query('10.0.0.0/28', []), blockLength: 24 })], []);
  });

  it('agrees with looking at every block and every taken address', () => {
    const subnet = cidr('10.7.0.0/23');
    const offset = fc.nat({ max: Number(cidrSize(subnet)) - 1 });
    fc.assert(
      fc.property(
        fc.array(offset, { maxLength: 40 }),
        fc.array(offset, { maxLength: 6 }),
        fc.constantFrom(26, 28, 30, 32),
        (addressOffsets, prefixOffsets, blockLength) => {
          const used: (Ip | Cidr)[] = addressOffsets.map((n) => nthAddress(subnet, n));
          for (const n of prefixOffsets) used.push(cidr(`${nthAddress(subnet, n - (n % 16))}/28`));
          const question = { subnet, used, reserved: reservedAddresses(subnet), blockLength };
          const free = [...freeBlocks(question)];
          assert.deepEqual(free, naiveFreeBlocks(question));
          assert.equal(freeBlockCount(question), free.length);
          for (const block of free) assert.ok(cidrContains(subnet, nthAddress(block, 0)));
        },
      ),
      { seed: SEED, numRuns: 200 },
    );
  });
});

function naiveFreeBlocks(query: FreeBlockQuery): readonly Cidr[] {
  const taken = [...query.used, ...query.reserved].map((text) =>
    text.includes('/') ? (text as Cidr) : hostCidr(text as Ip),
  );
  const size = 2 ** (32 - query.blockLength);
  const free: Cidr[] = [];
  for (let offset = 0; offset < Number(cidrSize(query.subnet)); offset += size) {
    const block = cidr(`${nthAddress(query.subnet, offset)}/${query.blockLength}`);
    if (!taken.some((other) => cidrOverlaps(block, other))) free.push(block);
  }
  return free;
}
