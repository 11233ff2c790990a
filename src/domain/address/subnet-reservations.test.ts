// What subnet CIDR reservations leave to single addresses and to prefixes.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { freeBlocksFor, type SubnetReservations, unreservedCount } from './subnet-reservations.ts';
import { cidr, ip } from './testing.ts';

const SUBNET = cidr('10.0.0.0/24');
const reservations = (prefix: readonly string[], explicit: readonly string[] = []): SubnetReservations => ({
  prefix: prefix.map(cidr),
  explicit: explicit.map(cidr),
});

describe('what reservations leave', () => {
  const cases: readonly [string, SubnetReservations, number, number][] = [
    ['nothing is reserved: AWS keeps five', reservations([]), 251, 14],
    ["half for prefixes, AWS's last address in it", reservations(['10.0.0.128/25']), 124, 7],
    ['a block in the middle', reservations(['10.0.0.64/27']), 251 - 32, 2],
    ["named addresses are nobody's", reservations([], ['10.0.0.64/26']), 251 - 64, 10],
    [
      'blocks for prefixes, and named addresses beside them',
      reservations(['10.0.0.128/26'], ['10.0.0.192/27']),
      251 - 96,
      4,
    ],
    [
      'named addresses within what is for prefixes',
      reservations(['10.0.0.128/26'], ['10.0.0.144/28']),
      251 - 64,
      3,
    ],
    [
      'one that lies in another keeps nothing more',
      reservations(['10.0.0.64/26', '10.0.0.64/28']),
      251 - 64,
      4,
    ],
    ['everything', reservations(['10.0.0.0/24']), 0, 14],
  ];
  for (const [title, reserved, singles, blocks] of cases)
    it(title, () => {
      assert.equal(unreservedCount(SUBNET, reserved), singles);
      assert.equal(freeBlocksFor(SUBNET, reserved, []), blocks);
    });

  it('a block in use, in whole or by one address, is not free', () => {
    const used = [ip('10.0.0.130'), cidr('10.0.0.160/28'), cidr('10.0.0.16/28')];
    assert.equal(freeBlocksFor(SUBNET, reservations(['10.0.0.128/26']), used), 2);
  });
});
