// An agent that starts with a torn journal, or while the API cannot be reached.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { appendFileSync, readFileSync, truncateSync } from 'node:fs';
import { afterEach, beforeEach, test } from 'node:test';
import { eventually } from './support/eventually.ts';
import { makeNode, OUTSIDE_ADDRESS, type TestNode } from './support/node.ts';
import { addressOf, callPlugin, createPodNamespaces, type PodRun } from './support/plugin.ts';
import { whyNoNode } from './support/skip.ts';

const skip = whyNoNode() ?? false;

const namespaces = createPodNamespaces();
let node: TestNode;

beforeEach(async () => {
  if (skip !== false) return;
  node = await makeNode({ addressCount: 4, cooldownMs: 500, addWaitMs: 1000 });
  await node.startAgent().serving;
});
afterEach(async () => {
  namespaces.removeAll();
  if (skip === false) await node.close();
});

const sandbox = (name: string): PodRun => ({
  pod: name,
  containerId: name,
  netnsPath: namespaces.make(name),
});

const held = async (): Promise<Readonly<Record<string, readonly string[]>>> =>
  Object.fromEntries(
    (await node.describe()).allocations.map((one) => [one.sandbox.containerId, one.addresses]),
  );

test('a half-written line of the journal is dropped and told of; the pods before it are kept [RST-1]', {
  skip,
}, async () => {
  const [first, second] = [sandbox('first'), sandbox('second')];
  const address = addressOf(await callPlugin(node, 'ADD', first));
  await node.agent().kill();
  appendFileSync(node.journalPath, '0badc0de [{"type":"Alloc');
  await node.startAgent().serving;
  const told = node
    .log()
    .filter((line) => line.includes('the last write of the journal was cut off by a crash'));
  assert.equal(told.length, 1);
  assert.match(told[0] ?? '', /line \d+ of journal .*agent\.journal was cut off/);
  assert.deepEqual(await held(), { first: [address] });
  const other = addressOf(await callPlugin(node, 'ADD', second));
  await node.agent().kill();
  await node.startAgent().serving;
  assert.deepEqual(await held(), { first: [address], second: [other] }, 'the journal is sound again');
});

test('a journal cut off in the middle of an allocation gives no address away twice [RST-1] [IP-1]', {
  skip,
}, async () => {
  const [first, second] = [sandbox('first'), sandbox('second')];
  const address = addressOf(await callPlugin(node, 'ADD', first));
  addressOf(await callPlugin(node, 'ADD', second));
  await node.agent().kill();
  // The power went before the second allocation was on the disk: then its ADD was not answered, and its pod is not running.
  truncateSync(node.journalPath, readFileSync(node.journalPath).length - 20);
  await node.startAgent().serving;
  assert.deepEqual(await held(), { first: [address] });
  assert.equal((await callPlugin(node, 'DEL', second)).exitCode, 0);
  const third = addressOf(await callPlugin(node, 'ADD', { ...second, containerId: 'third' }));
  assert.notEqual(third, address);
});

/** Whether the pod reaches the host outside; throws when not. */
const ping = ({ netnsPath }: PodRun): void => {
  execFileSync('nsenter', [`--net=${netnsPath}`, 'busybox', 'ping', '-c', '1', '-W', '2', OUTSIDE_ADDRESS]);
};

test('an agent that loses the API goes on: ADD and DEL work with the addresses granted so far', {
  skip,
}, async () => {
  node.unpublish();
  const pods = node.granted.map((_, n) => sandbox(`p${n}`));
  const given: string[] = [];
  for (const pod of pods) given.push(addressOf(await callPlugin(node, 'ADD', pod)));
  assert.deepEqual(given.sort(), node.granted);
  for (const pod of pods) ping(pod);
  for (const pod of pods) assert.equal((await callPlugin(node, 'DEL', pod)).exitCode, 0);
  assert.match(addressOf(await callPlugin(node, 'ADD', sandbox('again'))), /^10\.1\.0\./);
});

test('an agent that starts without the API keeps running pods, and serves DEL at once and ADD soon, from what was granted [RST-1] [IP-1]', {
  skip,
}, async () => {
  const [first, second] = [sandbox('first'), sandbox('second')];
  addressOf(await callPlugin(node, 'ADD', first));
  const kept = addressOf(await callPlugin(node, 'ADD', second));
  await node.agent().kill();
  node.unpublish();
  const agent = node.startAgent();
  await agent.listening;
  await eventually('the journal is read', 5000, async () =>
    (await held())['first'] === undefined ? undefined : true,
  );
  ping(first);
  assert.equal((await callPlugin(node, 'DEL', first)).exitCode, 0);
  assert.deepEqual(namespaces.addresses('first'), []);
  ping(second);
  await agent.serving;
  assert.deepEqual(await held(), { second: [kept] });
  const others = [sandbox('third'), sandbox('fourth'), sandbox('fifth')];
  const given: string[] = [];
  for (const other of others) given.push(addressOf(await callPlugin(node, 'ADD', other)));
  assert.deepEqual([...given, kept].sort(), node.granted, 'each of the granted ones once');
  for (const other of others) ping(other);
  const before = await held();
  node.publish();
  const used = [...given, kept].sort().join();
  await eventually('the status tells the API what is used', 5000, () =>
    node
      .status()
      ?.used.map(({ ip }) => ip)
      .sort()
      .join() === used
      ? true
      : undefined,
  );
  assert.deepEqual(await held(), before);
  assert.equal((await callPlugin(node, 'DEL', second)).exitCode, 0);
});
