// Public addresses stand for VPC addresses one for one, and back.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { cidr, ip } from '../../domain/address/testing.ts';
import { addressBehind, publicBlocks } from './public-addresses.ts';

describe('public addresses', () => {
  const vpc = [cidr('172.31.0.0/16'), cidr('fd00::/56'), cidr('100.64.16.0/20'), cidr('10.9.8.0/24')];

  test('each IPv4 block of the VPC has a block of its own', () => {
    assert.deepEqual(publicBlocks(vpc), [
      { vpc: '172.31.0.0/16', seenAs: '198.18.0.0/16' },
      { vpc: '100.64.16.0/20', seenAs: '198.19.0.0/20' },
      { vpc: '10.9.8.0/24', seenAs: '198.20.0.0/24' },
    ]);
  });

  const cases = [
    { seen: '198.18.16.10', behind: '172.31.16.10' },
    { seen: '198.18.255.255', behind: '172.31.255.255' },
    { seen: '198.19.0.1', behind: '100.64.16.1' },
    { seen: '198.19.15.7', behind: '100.64.31.7' },
    { seen: '198.20.0.200', behind: '10.9.8.200' },
    { seen: '198.19.16.0', behind: undefined },
    { seen: '203.0.113.10', behind: undefined },
  ];
  for (const { seen, behind } of cases) {
    test(`behind ${seen} is ${behind ?? 'nobody'}`, () => {
      assert.equal(addressBehind(vpc, ip(seen)), behind);
    });
  }
});
