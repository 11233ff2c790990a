// How far a cluster can grow, and which subnet ends it: the users' cases.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { cidr } from '../address/testing.ts';
import { forecast } from './grow.ts';
import { group, subnet } from './testing.ts';

const warmIp = (count: number) => ({ warmIp: count, warmEni: 1, warmPrefix: 0 });

suite('forecast', () => {
  test('U07 shows what is used and what is held idle, and warm targets by address hold less than whole ENIs', () => {
    const subnets = ['a', 'b', 'c'].map((zone, n) =>
      subnet(`pods-${zone}`, `100.64.${2 * n}.0/23`, { zone }),
    );
    const zones = ['a', 'b', 'c'];
    const byEni = forecast({
      subnets,
      groups: [group({ type: 'm5.xlarge', zones, nodeCount: 48, podsPerNode: 10 })],
    });
    assert.deepEqual(
      byEni.present.map(({ usedCount, idleCount, podCount }) => [usedCount, idleCount, podCount]),
      [
        [416, 224, 160],
        [416, 224, 160],
        [416, 224, 160],
      ],
    );
    const byAddress = forecast({
      subnets,
      groups: [group({ type: 'm5.xlarge', zones, nodeCount: 48, podsPerNode: 10, targets: warmIp(2) })],
    });
    assert.deepEqual(
      byAddress.present.map(({ idleCount }) => idleCount),
      [32, 32, 32],
    );
    assert.ok(byAddress.nodeMax > byEni.nodeMax);
  });

  test('U06 a second subnet in the zone adds its room, and no node has to be replaced', () => {
    const groups = [group({ targets: warmIp(1), podsPerNode: 9, nodeCount: 10 })];
    const one = forecast({ subnets: [subnet('pods-a', '100.64.0.0/24')], groups });
    const two = forecast({
      subnets: [subnet('pods-a', '100.64.0.0/24'), subnet('pods-a2', '100.64.1.0/24')],
      groups,
    });
    assert.equal(one.nodeMax * 2, two.nodeMax);
    assert.deepEqual(
      one.full.map((full) => full.subnet),
      ['pods-a'],
    );
  });

  test('U49 siblings fill alike: 20 nodes go 10 and 10 to subnets of 250 and 249 free addresses', () => {
    const { present } = forecast({
      subnets: [
        subnet('one', '100.64.0.0/24', { otherCount: 1 }),
        subnet('two', '100.64.1.0/24', { otherCount: 2 }),
      ],
      groups: [group({ nodeCount: 20, podsPerNode: 8, targets: warmIp(2) })],
    });
    assert.deepEqual(
      present.map(({ nodeCount }) => nodeCount),
      [10, 10],
    );
  });

  test('U04 a full zone stops its own nodes only, and is named', () => {
    const zones = ['a', 'b'];
    const { full, present, nodeMax } = forecast({
      subnets: [
        subnet('pods-a', '100.64.0.0/24', { zone: 'a', otherCount: 251 }),
        subnet('pods-b', '100.64.1.0/24', { zone: 'b' }),
      ],
      groups: [group({ zones, podsPerNode: 8, targets: warmIp(2) })],
    });
    assert.deepEqual(full[0], { subnet: 'pods-a', zone: 'a', nodeCount: 0, podCount: 0 });
    assert.equal(present[0]?.usedCount, 251);
    // 20 nodes of 8 pods, 2 warm addresses and 2 ENIs; the last one has its pods, and a smaller warm pool.
    assert.equal(nodeMax, 21);
  });

  test('U103 raising WARM_ENI_TARGET in a full subnet asks for 400 more addresses, which it has not', () => {
    const at = (warmEni: number) =>
      forecast({
        subnets: [subnet('pods-a', '100.64.0.0/21', { otherCount: 2043 - 40 * 10 })],
        groups: [group({ nodeCount: 40, podsPerNode: 0, targets: { warmEni, warmPrefix: 0 } })],
      });
    const [one, two] = [at(1), at(2)];
    assert.equal(one.short.get('pods-a'), undefined);
    assert.equal(two.wantedCount - one.wantedCount, 400);
    assert.equal(two.short.get('pods-a'), 400);
  });

  test('a subnet of nodes ends growth, too', () => {
    const { full, nodeMax } = forecast({
      subnets: [subnet('nodes-a', '10.0.0.0/28', { for: 'nodes' }), subnet('pods-a', '100.64.0.0/20')],
      groups: [group()],
    });
    assert.equal(nodeMax, 11);
    assert.equal(full[0]?.subnet, 'nodes-a');
  });

  test('growth that finds no end within thousands of nodes is cut, and says so', () => {
    const { isCut, full } = forecast({
      subnets: [subnet('pods-a', '100.64.0.0/10')],
      groups: [group({ podsPerNode: 1 })],
    });
    assert.equal(isCut, true);
    assert.deepEqual(full, []);
  });

  test('under Hash a node may fall to the full sibling; the other still fills', () => {
    const { full } = forecast({
      subnets: [subnet('one', '100.64.0.0/26'), subnet('two', '100.64.1.0/24')],
      groups: [group({ strategy: 'Hash', targets: warmIp(1) })],
    });
    assert.deepEqual(full.map((one) => one.subnet).sort(), ['one', 'two']);
  });

  test('U07 what is reserved for prefixes is no room for single addresses', () => {
    const groups = [group({ targets: warmIp(1), podsPerNode: 8 })];
    const half = { prefix: [cidr('100.64.0.128/25')], explicit: [] };
    const { nodeMax, present } = forecast({
      subnets: [subnet('pods-a', '100.64.0.0/24', { reservations: half })],
      groups,
    });
    // Ten addresses a node, its ENI's own and a warm one among them, of 124.
    assert.equal(nodeMax, 12);
    assert.equal(present[0]?.usableCount, 124);
  });

  test('U08 prefixes are taken of nothing else, and do not use up what single addresses are taken of', () => {
    const prefixes = group({ mode: 'Prefix', targets: { warmEni: 0, warmPrefix: 0 }, podsPerNode: 16 });
    const grown = (otherBlockCount: number, blocks = '100.64.0.128/25') =>
      forecast({
        subnets: [
          subnet('pods-a', '100.64.0.0/24', {
            reservations: { prefix: [cidr(blocks)], explicit: [] },
            otherBlockCount,
          }),
        ],
        groups: [{ ...prefixes, nodeCount: 4 }],
      });
    const { present } = grown(0);
    assert.deepEqual([present[0]?.freeBlockCount, present[0]?.usedCount], [7 - 4, 4]);
    assert.deepEqual([grown(2).present[0]?.freeBlockCount, grown(2).present[0]?.podCount], [1, 64]);
    assert.equal(grown(0, '100.64.0.64/27').present[0]?.freeBlockCount, 0);
  });

  test('named addresses are free to nobody', () => {
    const explicit = { prefix: [], explicit: [cidr('100.64.0.0/25')] };
    const { present } = forecast({
      subnets: [subnet('pods-a', '100.64.0.0/24', { reservations: explicit })],
      groups: [group({ mode: 'Prefix' })],
    });
    assert.deepEqual([present[0]?.usableCount, present[0]?.freeBlockCount], [127, 7]);
  });
});
