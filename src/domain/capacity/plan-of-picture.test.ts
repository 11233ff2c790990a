// A cluster written down as a plan: what others have of its subnets, where a part of them is reserved.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { cidr, ip } from '../address/testing.ts';
import type { Ec2Picture } from '../explain/picture.ts';
import { picture, POD_SUBNET, subnet } from '../explain/testing.ts';
import { planOfPicture, type WrittenPlan } from './plan-of-picture.ts';

/** Of 251 addresses the node's ENI has five: its own, 100.64.0.4, and four for pods. */
function podSubnet(
  freeAddressCount: number,
  told: Partial<Ec2Picture> = {},
): WrittenPlan['subnets'][number] | undefined {
  const { ec2, ...facts } = picture({ subnets: [subnet({ freeAddressCount })] });
  assert.ok(typeof ec2 !== 'string');
  return planOfPicture(picture({ ...facts, ec2: { ...ec2, ...told } })).subnets[0];
}

const reserved = (prefix: readonly string[], explicit: readonly string[]) =>
  new Map([[POD_SUBNET, { prefix: prefix.map(cidr), explicit: explicit.map(cidr) }]]);

suite('subnets of a cluster as a plan', () => {
  test('what is neither free nor its own is in use by others', () => {
    assert.deepEqual(podSubnet(200), {
      name: 'eu-west-1a',
      zone: 'eu-west-1a',
      cidr: '100.64.0.0/24',
      for: 'pods',
      used: 251 - 200 - 5,
    });
  });

  test('what is reserved is no use by others, and is written down', () => {
    const found = podSubnet(100, { reservations: reserved(['100.64.0.128/25'], ['100.64.0.64/28']) });
    assert.deepEqual(
      [found?.used, found?.reservedForPrefixes, found?.reserved, found?.usedBlocks],
      [108 - 100 - 5, ['100.64.0.128/25'], ['100.64.0.64/28'], undefined],
    );
  });

  test('its own addresses in a reservation are none of those outside', () => {
    const found = podSubnet(100, { reservations: reserved(['100.64.0.0/25'], []) });
    assert.equal(found?.used, 127 - 100);
  });

  test('blocks that others have of a reservation are told, its own are not', () => {
    const used = [cidr('100.64.0.160/28'), ip('100.64.0.200'), ip('100.64.0.4'), cidr('100.64.0.16/28')];
    const found = podSubnet(100, {
      reservations: reserved(['100.64.0.0/24'], []),
      used: new Map([[POD_SUBNET, used]]),
    });
    assert.equal(found?.usedBlocks, 3);
  });
});
