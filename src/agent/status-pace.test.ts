// How soon the object says what has changed on the node.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Condition } from '../domain/ipam/node-network.ts';
import { createWorld, servingWorld, STATUS_GAP_MS, type World } from './testing-world.ts';

const BATCH_MS = 400;
/** After so long without a write a node is no longer coming up. */
const LONG_MS = 70_000;
const isReady = (world: World): boolean =>
  world.status()?.conditions.some(({ type, status }) => type === 'AgentReady' && status === 'True') === true;
const usedCount = (world: World): number | undefined => world.status()?.used.length;
const ADDRESSES = ['10.1.0.4', '10.1.0.5', '10.1.0.6'];

const SHORT: Condition = {
  type: 'AddressesAvailable',
  status: 'False',
  reason: 'SubnetFull',
  message: 'the subnet is full',
  lastTransitionAt: 0,
};

describe('the pace of the status [COST-2]', () => {
  test('after a quiet time a change is told at once, and those that follow soon are told together', async () => {
    const world = await servingWorld(ADDRESSES);
    await world.add('a');
    await world.wait(BATCH_MS);
    assert.equal(usedCount(world), 1);
    const writeCount = world.statusWriteCount();
    await world.add('b');
    await world.wait(BATCH_MS);
    await world.add('c');
    await world.wait(BATCH_MS);
    assert.equal(world.statusWriteCount(), writeCount, 'nobody waits for it');
    await world.wait(STATUS_GAP_MS);
    assert.deepEqual([usedCount(world), world.statusWriteCount()], [3, writeCount + 1]);
  });

  test('an answer to a withdrawal is told at once, though the status has just been written', async () => {
    const world = await servingWorld(ADDRESSES);
    await world.add('a');
    await world.wait(BATCH_MS);
    await world.publish({ enis: [{ addresses: ADDRESSES, withdrawing: ['10.1.0.6'] }] });
    assert.deepEqual(world.status()?.withdrawn, ['10.1.0.6']);
  });

  test('while addresses are short each change is told at once', async () => {
    const world = await servingWorld(ADDRESSES);
    await world.writeConditions([SHORT]);
    for (const [n, pod] of ['a', 'b', 'c'].entries()) {
      await world.add(pod);
      await world.wait(BATCH_MS);
      assert.equal(usedCount(world), n + 1);
    }
  });

  test('a new node says in one write that its agent serves and what the pods got that waited for it', async () => {
    const world = await createWorld();
    const names = ['a', 'b', 'c'];
    for (const name of names) world.applyPod(name, {});
    await world.start();
    await world.publish({ enis: [{ addresses: ADDRESSES }] });
    for (const name of names) await world.add(name);
    await world.wait(BATCH_MS);
    assert.deepEqual([isReady(world), usedCount(world), world.statusWriteCount()], [true, 3, 1]);
  });

  test('a new node whose pods do not come for an address says that its agent serves after the gap', async () => {
    const world = await createWorld();
    world.applyPod('a', {});
    await world.start();
    await world.publish({ enis: [{ addresses: ADDRESSES }] });
    await world.wait(STATUS_GAP_MS);
    assert.deepEqual([isReady(world), world.statusWriteCount()], [true, 1]);
  });

  test('a new node without pods that wait says at once that its agent serves', async () => {
    const world = await createWorld();
    await world.start();
    // It is there for a second before this goes on.
    await world.publish({ enis: [{ addresses: ADDRESSES }] });
    assert.equal(isReady(world), true);
  });

  const generationLag = (world: World): number =>
    (world.agent().describe().spec?.generation ?? 0) - (world.status()?.observedGeneration ?? 0);
  const MORE = [{ addresses: ADDRESSES }, { deviceIndex: 2, addresses: ['10.1.0.14'] }];

  test('[K8S-3] while a node comes up each ENI is answered soon', async () => {
    const world = await servingWorld(ADDRESSES);
    await world.publish({ enis: MORE });
    await world.wait(STATUS_GAP_MS);
    assert.equal(generationLag(world), 0);
  });

  test('an ENI that comes later is answered in the write that tells of the next pod', async () => {
    const world = await servingWorld(ADDRESSES);
    await world.wait(LONG_MS);
    const writeCount = world.statusWriteCount();
    await world.publish({ enis: MORE });
    await world.wait(LONG_MS);
    assert.deepEqual([generationLag(world), world.statusWriteCount()], [1, writeCount]);
    await world.add('a');
    await world.wait(BATCH_MS);
    assert.deepEqual(
      [generationLag(world), usedCount(world), world.statusWriteCount()],
      [0, 1, writeCount + 1],
    );
  });

  test('an ENI that comes later is answered within minutes though no pod starts', async () => {
    const world = await servingWorld(ADDRESSES);
    await world.wait(LONG_MS);
    await world.publish({ enis: MORE });
    await world.wait(5 * LONG_MS);
    assert.equal(generationLag(world), 0);
  });
});
