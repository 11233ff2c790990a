// The addresses of a subnet: none is lost and none has two holders.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { cidrContains } from '../../domain/address/cidr.ts';
import type { Cidr, Ip } from '../../domain/address/ip.ts';
import { seededRandom } from '../kernel/seeded-random.ts';
import { createSubnetPool } from './subnet-pool.ts';

const cidr = '10.0.0.0/28' as Cidr;
const reserved = ['10.0.0.0', '10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.0.15'];

test('AWS keeps the first four addresses and the last: a /24 has 251', () => {
  assert.equal(createSubnetPool('10.0.0.0/24' as Cidr).freeCount(), 251);
  const pool = createSubnetPool(cidr);
  const all = pool.take({ count: 11 });
  assert.equal(all?.length, 11);
  for (const address of reserved) assert.ok(!all?.includes(address as Ip), `${address} is given out`);
});

test('the lowest free address comes first; one given back is lowest again', () => {
  const pool = createSubnetPool(cidr);
  assert.deepEqual(pool.take({ count: 3 }), ['10.0.0.4', '10.0.0.5', '10.0.0.6']);
  pool.give(['10.0.0.5' as Ip]);
  assert.deepEqual(pool.take({ count: 2 }), ['10.0.0.5', '10.0.0.7']);
});

test('all or none: a take that is too large changes nothing', () => {
  const pool = createSubnetPool(cidr);
  assert.equal(pool.take({ count: 12 }), undefined);
  assert.equal(pool.freeCount(), 11);
});

test('others occupy free addresses only, and give back no more than they have', () => {
  const pool = createSubnetPool(cidr);
  pool.take({ count: 4 });
  assert.equal(pool.occupy(100), 7);
  assert.equal(pool.take({ count: 1 }), undefined);
  assert.equal(pool.vacate(3), 3);
  assert.equal(pool.vacate(100), 4);
  assert.equal(pool.freeCount(), 7);
});

test('giving back what nobody holds is a mistake of the lab', () => {
  const pool = createSubnetPool(cidr);
  assert.throws(() => pool.give(['10.0.0.4' as Ip]), /10\.0\.0\.4 of 10\.0\.0\.0\/28/);
  assert.throws(() => pool.give(['10.0.0.1' as Ip]));
});

test('whatever is taken and given back, every address has one holder and the counts add up', () => {
  const step = fc.record({
    op: fc.constantFrom(
      'take',
      'give',
      'take-prefixes',
      'give-prefixes',
      'occupy',
      'scatter',
      'keep',
      'vacate',
    ),
    count: fc.nat({ max: 8 }),
    isRandom: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const pool = createSubnetPool('10.0.0.0/25' as Cidr);
      const order = seededRandom(1);
      const held = new Set<Ip>();
      const prefixes = new Set<Cidr>();
      for (const { op, count, isRandom } of steps) {
        if (op === 'take') {
          for (const address of pool.take({ count, ...(isRandom ? { order } : {}) }) ?? []) {
            assert.ok(!held.has(address), `${address} is given out twice`);
            held.add(address);
          }
        } else if (op === 'give') {
          const given = [...held].slice(0, count);
          pool.give(given);
          for (const address of given) held.delete(address);
        } else if (op === 'take-prefixes') {
          const whole = pool.freePrefixCount();
          const taken = pool.takePrefixes({ count: count % 3, ...(isRandom ? { order } : {}) });
          assert.equal(taken === undefined, whole < count % 3);
          for (const prefix of taken ?? []) {
            assert.ok(!prefixes.has(prefix), `${prefix} is given out twice`);
            assert.ok(
              ![...held].some((address) => cidrContains(prefix, address)),
              `${prefix} holds an address`,
            );
            prefixes.add(prefix);
          }
        } else if (op === 'give-prefixes') {
          const given = [...prefixes].slice(0, count);
          pool.givePrefixes(given);
          for (const prefix of given) prefixes.delete(prefix);
        } else if (op === 'keep') {
          // Half of the subnet at most, so that single addresses are to be had.
          pool.keepForPrefixes(`10.0.0.${64 + 16 * (count % 4)}/28` as Cidr);
        } else if (op === 'scatter') {
          for (const address of pool.takeScattered(count)) {
            assert.ok(!held.has(address), `${address} is given out twice`);
            held.add(address);
          }
        } else if (op === 'occupy') pool.occupy(count);
        else pool.vacate(count);
        const heldCount = held.size + 16 * prefixes.size;
        const freeCount = pool.freeCount() + pool.keptCount();
        assert.equal(freeCount + pool.reservedCount + pool.occupiedCount() + heldCount, pool.size);
      }
    }),
    { seed: 4711, numRuns: 300 },
  );
});
