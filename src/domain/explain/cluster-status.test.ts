// Subnets at a glance, where a part of them is reserved.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { SubnetReservations } from '../address/subnet-reservations.ts';
import { cidr } from '../address/testing.ts';
import { clusterStatus, type SubnetStatus } from './cluster-status.ts';
import type { Ec2Picture } from './picture.ts';
import { picture, POD_SUBNET } from './testing.ts';

const HALF: SubnetReservations = { prefix: [cidr('100.64.0.128/25')], explicit: [cidr('100.64.0.64/28')] };

/** The subnet of pods, by a picture in which EC2 tells this, too. */
function podSubnet(told: Partial<Ec2Picture>): SubnetStatus | undefined {
  const { ec2 } = picture();
  assert.ok(typeof ec2 !== 'string');
  return clusterStatus(picture({ ec2: { ...ec2, ...told } })).subnets[0];
}

suite('a subnet', () => {
  test('of which nothing is reserved has its usable addresses for single ones', () => {
    const { usableCount, unreservedCount, reservations, freeBlockCount } = podSubnet({}) ?? {};
    assert.deepEqual([usableCount, unreservedCount], [251, 251]);
    assert.deepEqual([reservations, freeBlockCount], [undefined, undefined]);
  });

  test('that is reserved in part counts apart what single addresses and what prefixes are taken of', () => {
    const reservations = new Map([[POD_SUBNET, HALF]]);
    const used = new Map([[POD_SUBNET, [cidr('100.64.0.128/28'), cidr('100.64.0.16/28')]]]);
    const found = podSubnet({ reservations, used });
    assert.deepEqual([found?.usableCount, found?.unreservedCount], [251, 124 - 16]);
    assert.deepEqual(found?.reservations, HALF);
    assert.equal(found?.freeBlockCount, 6);
  });

  test('has no count of free blocks while nobody knows what others hold', () => {
    const found = podSubnet({ reservations: new Map([[POD_SUBNET, HALF]]) });
    assert.equal(found?.freeBlockCount, undefined);
    assert.deepEqual(found?.reservations, HALF);
  });
});
