// What people write on a pod, followed through the whole agent: the permission to reach instance metadata.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { addressIn, COOLDOWN_MS, createWorld, errorIn, servingWorld } from './testing-world.ts';

const ALLOW = { 'eniwhere.io/allow-imds': 'true' };

describe('a pod and instance metadata', () => {
  test('[NET-1] nobody has access by default', async () => {
    const world = await servingWorld(['10.1.0.4']);
    await world.add('a', 'a', world.applyPod('a', {}));
    await world.wait(1000);
    assert.deepEqual(world.imdsAllowed(), []);
  });

  test('[NET-1] a pod that was annotated before its ADD has access as soon as its address is chosen', async () => {
    const world = await servingWorld(['10.1.0.4']);
    const uid = world.applyPod('a', ALLOW);
    await world.wait(1000);
    await world.add('a', 'a', uid);
    await world.wait(1);
    assert.deepEqual(world.imdsAllowed(), ['10.1.0.4']);
    assert.deepEqual(world.agent().describe().imdsAllowed, ['10.1.0.4']);
  });

  test('[NET-1] the annotation is followed while the pod runs, both ways', async () => {
    const world = await servingWorld(['10.1.0.4']);
    await world.add('a', 'a', world.applyPod('a', {}));
    world.applyPod('a', ALLOW);
    await world.wait(1000);
    assert.deepEqual(world.imdsAllowed(), ['10.1.0.4']);
    world.applyPod('a', { 'eniwhere.io/allow-imds': 'false' });
    await world.wait(1000);
    assert.deepEqual(world.imdsAllowed(), []);
  });

  test('[NET-1] access ends with the pod, and its successor of the same name does not inherit it', async () => {
    const world = await servingWorld(['10.1.0.4', '10.1.0.5']);
    await world.add('a', 'web-0', world.applyPod('web-0', ALLOW));
    await world.wait(1000);
    assert.deepEqual(world.imdsAllowed(), ['10.1.0.4']);
    await world.del('a', 'web-0');
    await world.wait(1000);
    assert.deepEqual(world.imdsAllowed(), []);
    // The API server still shows the old pod when the runtime starts the new one.
    await world.add('b', 'web-0', 'uid-of-the-next');
    await world.wait(1000);
    assert.deepEqual(world.imdsAllowed(), []);
  });

  test('[NET-1] an agent that starts while the API server is away allows nobody, until it has read the pods', async () => {
    const world = await servingWorld(['10.1.0.4']);
    await world.add('a', 'a', world.applyPod('a', ALLOW));
    await world.wait(1000);
    world.takeApiDown(60_000);
    world.crash();
    await world.start();
    await world.wait(30_000);
    assert.equal(world.agent().describe().notServing, undefined, 'it serves from its journal');
    assert.deepEqual(world.imdsAllowed(), []);
    await world.wait(60_000);
    assert.deepEqual(world.imdsAllowed(), ['10.1.0.4']);
  });

  test('[NET-1] while the API server is away, what it said last stands', async () => {
    const world = await servingWorld(['10.1.0.4']);
    await world.add('a', 'a', world.applyPod('a', ALLOW));
    await world.wait(1000);
    world.takeApiDown(60_000);
    await world.wait(30_000);
    assert.deepEqual(world.imdsAllowed(), ['10.1.0.4']);
  });

  test('[NET-1] an address that the kernel may still let through goes to no other pod', async () => {
    const world = await servingWorld(['10.1.0.4'], { addWaitMs: 100 });
    await world.add('a', 'a', world.applyPod('a', ALLOW));
    await world.wait(1000);
    world.refuse = (step) =>
      step === 'applyHost' ? { step, errno: 'ENOBUFS', message: 'no buffers' } : undefined;
    await world.del('a');
    await world.wait(COOLDOWN_MS + 5000);
    assert.deepEqual(world.imdsAllowed(), ['10.1.0.4'], 'the kernel refuses the new table');
    assert.equal(errorIn(await world.add('b')).code, 11);
    world.refuse = () => undefined;
    await world.wait(5000);
    assert.deepEqual(world.imdsAllowed(), []);
    assert.equal(addressIn(await world.add('c')), '10.1.0.4/32');
  });

  test('a wrong value gives no access, and one Event with the fix', async () => {
    const world = await createWorld();
    await world.start();
    await world.publish({ enis: [{ addresses: ['10.1.0.4'] }] });
    await world.add('a', 'a', world.applyPod('a', { 'eniwhere.io/allow-imds': 'yes' }));
    world.applyPod('a', { 'eniwhere.io/allow-imds': 'yes', other: '1' });
    await world.wait(1000);
    assert.deepEqual(world.imdsAllowed(), []);
    const events = world.events().filter((event) => event.includes('AnnotationInvalid'));
    assert.equal(events.length, 1, events.join('\n'));
    assert.match(events[0] ?? '', /is "yes", so the pod gets no access .* write "true" or "false"/);
  });
});
