// The withdrawal handshake and the status, through the whole agent.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  addressIn,
  addRequest,
  COOLDOWN_MS,
  createWorld,
  errorIn,
  servingWorld,
  type World,
} from './testing-world.ts';

const withdrawn = (world: World): readonly string[] | undefined => world.status()?.withdrawn;
const free = { addresses: ['10.1.0.4'] };
const asked = { addresses: ['10.1.0.4'], withdrawing: ['10.1.0.4'] };
const gone = { addresses: [] };

describe('withdrawal', () => {
  test('of a free address is answered at once; closed by the controller, it is forgotten [IP-6]', async () => {
    const world = await servingWorld(['10.1.0.4']);
    await world.publish({ enis: [asked] });
    assert.deepEqual(withdrawn(world), ['10.1.0.4']);
    await world.publish({ enis: [gone] });
    assert.deepEqual(withdrawn(world), []);
    await world.publish({ enis: [free] });
    assert.equal(addressIn(await world.add('a')), '10.1.0.4/32', 'granted anew, it serves again');
  });

  test('of a used address is answered when its pod is gone and its cooldown is over, not before [IP-6] [IP-5]', async () => {
    const world = await servingWorld(['10.1.0.4']);
    await world.add('a');
    await world.publish({ enis: [asked] });
    assert.deepEqual(withdrawn(world), []);
    await world.del('a');
    await world.wait(COOLDOWN_MS - 1000);
    assert.deepEqual(withdrawn(world), []);
    await world.wait(2000);
    assert.deepEqual(withdrawn(world), ['10.1.0.4']);
  });

  test('stops the address from being offered though it is not answered yet', async () => {
    const world = await servingWorld(['10.1.0.4'], { addWaitMs: 60_000 });
    await world.add('a');
    await world.publish({ enis: [asked] });
    await world.del('a');
    assert.equal(errorIn(await world.add('b')).code, 11);
  });

  test('once told survives a crash, of whatever kind, right after the status was written [IP-6]', async () => {
    for (const tear of [false, true]) {
      const world = await servingWorld(['10.1.0.4'], { addWaitMs: 100 });
      await world.publish({ enis: [asked] });
      assert.deepEqual(withdrawn(world), ['10.1.0.4']);
      world.crash(tear);
      await world.start();
      await world.wait(2000);
      assert.deepEqual(world.agent().describe().withdrawn, ['10.1.0.4']);
      assert.equal(errorIn(await world.add('a')).code, 11);
    }
  });

  test('is not told while the journal cannot be written, and told once it can [IP-6]', async () => {
    const world = await servingWorld(['10.1.0.4']);
    world.journal.refuse({ message: 'EIO' });
    await world.publish({ enis: [asked] });
    await world.wait(10_000);
    assert.deepEqual(withdrawn(world), []);
    world.journal.refuse(undefined);
    await world.wait(5000);
    assert.deepEqual(withdrawn(world), ['10.1.0.4']);
  });

  test('told once is remembered though the journal is lost: the status has it [IP-6]', async () => {
    const world = await servingWorld(['10.1.0.4']);
    await world.publish({ enis: [asked] });
    world.crash();
    await world.run(world.journal.open(world.kernel.clock('disk')).rewrite([]));
    await world.start();
    await world.wait(2000);
    assert.ok(world.marks.has('withdrawn-adopted'));
    assert.deepEqual(world.agent().describe().withdrawn, ['10.1.0.4']);
  });

  test('holds over a NodeNetwork made anew, until a later spec of the new one closes it [IP-6]', async () => {
    const world = await servingWorld(['10.1.0.4'], { addWaitMs: 100 });
    await world.publish({ enis: [asked] });
    await world.deleteObject();
    await world.publish({ enis: [free] });
    assert.deepEqual(withdrawn(world), ['10.1.0.4']);
    assert.equal(errorIn(await world.add('a')).code, 11);
    await world.publish({ enis: [gone] });
    await world.publish({ enis: [free] });
    assert.equal(addressIn(await world.add('a')), '10.1.0.4/32');
  });
});

describe('the status', () => {
  test('is written once for many changes', async () => {
    const addresses = Array.from({ length: 10 }, (_, n) => `10.1.0.${n + 4}`);
    const world = await servingWorld(addresses);
    const before = world.statusWriteCount();
    await Promise.all(addresses.map((_, n) => world.add(`p${n}`)));
    await world.wait(2000);
    assert.equal(world.status()?.used.length, 10);
    assert.equal(world.statusWriteCount() - before, 1);
  });

  test('is not written at all while nothing changes: no flapping [LV-2]', async () => {
    const world = await servingWorld(['10.1.0.4']);
    const before = world.statusWriteCount();
    await world.wait(600_000);
    assert.equal(world.statusWriteCount(), before);
  });

  test('answers conflicts, lost answers and an API server that is down, and is right in the end', async () => {
    const others = Array.from({ length: 10 }, (_, n) => `10.1.0.${n + 5}`);
    const world = await servingWorld(['10.1.0.4', ...others]);
    await world.add('a');
    await world.publish({ enis: [{ addresses: ['10.1.0.4', ...others], withdrawing: ['10.1.0.4'] }] });
    world.profile = { ...world.profile, conflictOdds: 0.5, lostAnswerOdds: 0.3, lostRequestOdds: 0.3 };
    await world.del('a');
    for (const ip of others) {
      await world.add(ip);
      await world.wait(5000);
      await world.del(ip);
    }
    world.takeApiDown(20_000);
    await world.wait(120_000);
    assert.deepEqual(world.status()?.used, []);
    assert.deepEqual(withdrawn(world), ['10.1.0.4']);
    assert.ok(world.marks.has('status-conflict') && world.marks.has('status-write-unknown'));
  });

  test("keeps the controller's conditions", async () => {
    const world = await servingWorld(['10.1.0.4']);
    const full = {
      type: 'AddressesAvailable',
      status: 'False',
      reason: 'SubnetFull',
      message: 'subnet-0000000b has no free address',
      lastTransitionAt: 1,
    } as const;
    await world.writeConditions([full]);
    await world.add('a');
    await world.wait(1000);
    assert.deepEqual(
      world
        .status()
        ?.conditions.map(({ type }) => type)
        .toSorted(),
      ['AddressesAvailable', 'AgentReady'],
    );
    const { text } = errorIn(await world.add('b'));
    assert.match(text, /AddressesAvailable: SubnetFull: subnet-0000000b has no free address/);
  });

  test('answers the generation that it is about', async () => {
    const world = await servingWorld(['10.1.0.4']);
    const record = await world.publish({ enis: [asked] });
    assert.equal(world.status()?.observedGeneration, record.generation);
  });
});

describe('a spec', () => {
  test('that is gone offers nothing any more, and pods keep what they have', async () => {
    const world = await servingWorld(['10.1.0.4', '10.1.0.5'], { addWaitMs: 100 });
    await world.add('a');
    await world.deleteObject();
    assert.match(errorIn(await world.add('b')).text, /NodeNetwork n0 is gone/);
    assert.equal(world.agent().describe().allocations.length, 1);
    await world.publish({ enis: [{ addresses: ['10.1.0.4', '10.1.0.5'] }] });
    assert.equal(addressIn(await world.add('b')), '10.1.0.5/32');
  });

  test('with a shorter or longer cooldown: no rest ends before the cooldown now in force [IP-5]', async () => {
    const world = await servingWorld(['10.1.0.4']);
    await world.add('a');
    await world.del('a');
    await world.publish({ enis: [free], cooldownMs: 4 * COOLDOWN_MS });
    await world.wait(3 * COOLDOWN_MS);
    assert.deepEqual(world.status()?.cooling, ['10.1.0.4']);
    await world.wait(COOLDOWN_MS);
    assert.deepEqual(world.status()?.cooling, []);
  });
});

test('STATUS is an error 50 until ADD can be served, and none for want of addresses', async () => {
  const world = await createWorld();
  await world.start();
  await world.wait(1000);
  const { code, text } = errorIn(await world.cni({ command: 'STATUS' }));
  assert.deepEqual([code, /there is no NodeNetwork n0 yet/.test(text)], [50, true]);
  await world.publish({ enis: [] });
  assert.equal((await world.cni({ command: 'STATUS' })).kind, 'Done');
  const add = addRequest(world.host, 'a', 'a');
  assert.equal(errorIn(await world.cni(add)).code, 11);
});
