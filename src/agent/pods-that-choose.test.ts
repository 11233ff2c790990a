// ADD for pods that chose an ENIConfig: an address of theirs or none, whatever the agent knows at that moment.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { podKey } from '../domain/ids.ts';
import type { PodDecision } from '../domain/eniconfig/pod-choice.ts';
import type { Choosing } from '../domain/ipam/node-network.ts';
import type { CniReply } from '../protocol/agent-socket/cni-message.ts';
import { addRequest, createWorld, type World } from './testing-world.ts';

const OWN = { deviceIndex: 1, addresses: ['10.1.0.10', '10.1.0.11'] } as const;
const RED = { deviceIndex: 2, addresses: ['10.1.0.20'], eniConfig: 'red', chosenOnly: true } as const;
const WISH = { 'eniwhere.io/eni-config': 'red' };
const nobody: Choosing = { namespaces: [], pods: [] };

const decision = (name: string, uid: string, eniConfig = 'red'): PodDecision => ({
  kind: 'EniConfig',
  pod: podKey('shop', name),
  uid,
  eniConfig,
});

async function start(choosing: Choosing, addWaitMs = 0): Promise<World> {
  const world = await createWorld({ addWaitMs });
  await world.publish({ enis: [OWN, RED], choosing });
  await world.start();
  await world.wait(3000);
  return world;
}

const addressOf = (reply: CniReply): string =>
  reply.kind === 'Result'
    ? (reply.result.ips[0]?.address ?? '')
    : reply.kind === 'Error'
      ? reply.error.details
      : '';

suite('[POD-3] a pod that chose', () => {
  test('gets an address of its ENIConfig, and others never get one of those', async () => {
    const world = await start(nobody);
    const uid = world.applyPod('cart', WISH);
    const other = world.applyPod('web', {});
    await world.publish({ enis: [OWN, RED], choosing: { namespaces: [], pods: [decision('cart', uid)] } });
    await world.wait(2000);
    assert.equal(addressOf(await world.add('c1', 'cart', uid)), '10.1.0.20/32');
    assert.equal(addressOf(await world.add('c2', 'web', other)), '10.1.0.10/32');
    const more = ['w1', 'w2'].map((name) => [name, world.applyPod(name, {})] as const);
    await world.wait(2000);
    const answers: string[] = [];
    for (const [name, podUid] of more) answers.push(addressOf(await world.add(name, name, podUid)));
    assert.equal(answers[0], '10.1.0.11/32');
    assert.match(answers[1] ?? '', /none of the 2 granted addresses is free/);
  });

  test('waits while the controller has not decided, and is served as soon as it has', async () => {
    const world = await start(nobody, 8000);
    const uid = world.applyPod('cart', WISH);
    await world.wait(2000);
    const adding = world.add('c1', 'cart', uid);
    await world.publish({ enis: [OWN, RED], choosing: { namespaces: [], pods: [decision('cart', uid)] } });
    assert.equal(addressOf(await adding), '10.1.0.20/32');
  });

  test('gets nothing of another subnet when nothing is decided', async () => {
    const world = await start(nobody);
    const uid = world.applyPod('cart', WISH);
    await world.wait(2000);
    const reply = await world.add('c1', 'cart', uid);
    assert.match(
      addressOf(reply),
      /asks for an ENIConfig of its own, and the controller has not decided yet/,
    );
  });

  test('and is refused is told why', async () => {
    const world = await start(nobody);
    const uid = world.applyPod('cart', { 'eniwhere.io/eni-config': 'ghost' });
    const message = 'it asks for ENIConfig "ghost", which does not exist; create it';
    const refused: PodDecision = {
      kind: 'Refused',
      pod: podKey('shop', 'cart'),
      uid,
      reason: 'EniConfigNotFound',
      message,
    };
    await world.publish({ enis: [OWN, RED], choosing: { namespaces: [], pods: [refused] } });
    await world.wait(2000);
    assert.equal(addressOf(await world.add('c1', 'cart', uid)), message);
  });

  test('made anew under the old name is another pod', async () => {
    const world = await start(nobody);
    const old = world.applyPod('cart', WISH);
    await world.publish({ enis: [OWN, RED], choosing: { namespaces: [], pods: [decision('cart', old)] } });
    world.deletePod('cart');
    const uid = world.applyPod('cart', { 'eniwhere.io/eni-config': 'blue' });
    await world.wait(2000);
    assert.match(addressOf(await world.add('c1', 'cart', uid)), /the controller has not decided yet/);
  });
});

suite('[POD-3] a pod of which the API server has not told', () => {
  test('waits: it might have chosen', async () => {
    const world = await start(nobody);
    assert.match(
      addressOf(await world.add('c1', 'cart', 'uid-9')),
      /is not known: the API server has not told/,
    );
  });

  test('is served from what the runtime passes, although the API server cannot be reached', async () => {
    const world = await start(nobody);
    world.takeApiDown(600_000);
    const request = addRequest(world.host, 'c1', 'web');
    assert.equal(addressOf(await world.cni({ ...request, podAnnotations: {} })), '10.1.0.10/32');
    const choosing = addRequest(world.host, 'c2', 'cart');
    const reply = await world.cni({ ...choosing, podAnnotations: WISH });
    assert.match(addressOf(reply), /the controller has not decided yet/);
  });

  test('waits too when an old pod of its name is known', async () => {
    const world = await start(nobody);
    world.applyPod('cart', {});
    await world.wait(2000);
    assert.match(addressOf(await world.add('c1', 'cart', 'uid-new')), /is not known/);
  });

  test('is served as ever where pods may not choose', async () => {
    const world = await createWorld({ addWaitMs: 0 });
    await world.publish({ enis: [OWN] });
    await world.start();
    await world.wait(3000);
    assert.equal(addressOf(await world.add('c1', 'web', 'uid-9')), '10.1.0.10/32');
  });
});

test('[POD-3] a namespace that chooses: its pods wait for their decision', async () => {
  const world = await start({ namespaces: ['shop'], pods: [] });
  const uid = world.applyPod('cart', {});
  await world.wait(2000);
  assert.match(addressOf(await world.add('c1', 'cart', uid)), /the controller has not decided yet/);
  await world.publish({
    enis: [OWN, RED],
    choosing: { namespaces: ['shop'], pods: [decision('cart', uid)] },
  });
  await world.wait(2000);
  assert.equal(addressOf(await world.add('c1', 'cart', uid)), '10.1.0.20/32');
});
