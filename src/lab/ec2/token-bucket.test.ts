// The token buckets have exactly the sizes of ec2-api-throttling.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { type BucketName, createTokenBuckets } from './token-bucket.ts';

const cases: readonly { name: BucketName; capacity: number; refillPerSecond: number }[] = [
  { name: 'CreateNetworkInterface', capacity: 100, refillPerSecond: 5 },
  { name: 'AssignPrivateIpAddresses', capacity: 100, refillPerSecond: 5 },
  { name: 'AssignIpv6Addresses', capacity: 100, refillPerSecond: 5 },
  { name: 'UnassignIpv6Addresses', capacity: 100, refillPerSecond: 5 },
  { name: 'AttachNetworkInterface', capacity: 50, refillPerSecond: 5 },
  { name: 'DetachNetworkInterface', capacity: 50, refillPerSecond: 5 },
  { name: 'DescribeNetworkInterfaces', capacity: 100, refillPerSecond: 20 },
  { name: 'DescribeNetworkInterfaces (unfiltered)', capacity: 50, refillPerSecond: 10 },
];

for (const { name, capacity, refillPerSecond } of cases) {
  test(`${name}: ${capacity} at once, then ${refillPerSecond} per second, exactly`, () => {
    let now = 0;
    const buckets = createTokenBuckets(() => now);
    const takeAll = (): number => {
      let count = 0;
      while (buckets.take(name, 0)) count += 1;
      return count;
    };
    assert.equal(takeAll(), capacity);
    now += 1000 / refillPerSecond - 1;
    assert.equal(takeAll(), 0);
    now += 1;
    assert.equal(takeAll(), 1);
    now += 60_000;
    assert.equal(takeAll(), Math.min(capacity, 60 * refillPerSecond));
  });
}

test('over any time, no more calls pass than the bucket held and refilled', () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 3000 }), { maxLength: 300 }), (waits) => {
      let now = 0;
      let passed = 0;
      const buckets = createTokenBuckets(() => now);
      for (const wait of waits) {
        now += wait;
        for (let n = 0; n < 10; n++) if (buckets.take('AttachNetworkInterface', 0)) passed += 1;
        assert.ok(passed <= 50 + Math.floor((now * 5) / 1000), `${passed} passed in ${now} ms`);
      }
    }),
    { seed: 4711, numRuns: 100 },
  );
});

test('other spenders slow the refill, or stop it', () => {
  let now = 0;
  const buckets = createTokenBuckets(() => now);
  buckets.spend('AttachNetworkInterface', 50);
  now += 1000;
  assert.equal(buckets.take('AttachNetworkInterface', 4), true, 'one of five is left');
  assert.equal(buckets.take('AttachNetworkInterface', 4), false);
  now += 10_000;
  assert.equal(buckets.take('AttachNetworkInterface', 7), false);
});

test('buckets are apart: one that is empty holds up no other', () => {
  const buckets = createTokenBuckets(() => 0);
  buckets.spend('CreateNetworkInterface', 1000);
  assert.equal(buckets.take('CreateNetworkInterface', 0), false);
  assert.equal(buckets.take('DeleteNetworkInterface', 0), true);
  assert.equal(buckets.level('CreateNetworkInterface'), 0);
});
