// A runtime that speaks CNI 1.1 and calls STATUS: containerd 2, built from its Go module. Debian's does not.

import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { type Containerd, makeContainerd } from './support/containerd.ts';
import { makeNode, type TestNode } from './support/node.ts';
import { callPlugin, createPodNamespaces } from './support/plugin.ts';
import { buildTool, whyNoRuntime } from './support/runtime-programs.ts';

const skip = whyNoRuntime() ?? false;

const namespaces = createPodNamespaces();
let node: TestNode;
let containerd: Containerd;

before(async () => {
  if (skip !== false) return;
  node = await makeNode({ addressCount: 4, cooldownMs: 100, addWaitMs: 2000 });
  await node.startAgent().serving;
  containerd = await makeContainerd(node, {
    program: buildTool('containerd'),
    cniVersion: '1.1.0',
    chained: [],
  });
  await containerd.start();
});
after(async () => {
  namespaces.removeAll();
  if (skip !== false) return;
  await containerd.powerOff();
  await node.close();
});

test('the node is not ready while the agent is down or knows no addresses, and ready again after [CNI-6]', {
  skip,
}, async () => {
  assert.deepEqual(await containerd.condition('NetworkReady'), { status: true, message: '' });
  await node.agent().kill();
  const down = await containerd.condition('NetworkReady');
  assert.equal(down.status, false);
  assert.match(down.message, /the eniwhere agent cannot be reached/);
  // A node that has never known an address.
  rmSync(node.journalPath);
  node.unpublish();
  await node.startAgent().listening;
  const starting = await containerd.condition('NetworkReady');
  assert.equal(starting.status, false);
  assert.match(starting.message, /there is no NodeNetwork n0 yet/);
  node.publish();
  await node.agent().serving;
  assert.deepEqual(await containerd.condition('NetworkReady'), { status: true, message: '' });
});

test('the node stays ready when addresses have run out', { skip }, async () => {
  const runs = node.granted.map((_, n) => ({
    pod: `p${n}`,
    containerId: `p${n}`,
    netnsPath: namespaces.make(`p${n}`),
  }));
  for (const run of runs) assert.equal((await callPlugin(node, 'ADD', run)).exitCode, 0);
  await assert.rejects(containerd.runPod('one-more'), /none of the 4 granted addresses is free/);
  assert.deepEqual(await containerd.condition('NetworkReady'), { status: true, message: '' });
  for (const run of runs) assert.equal((await callPlugin(node, 'DEL', run)).exitCode, 0);
});

test('a pod lives and ends in version 1.1.0, with a container in it [CNI-5]', { skip }, async () => {
  const pod = await containerd.runPod('newest');
  const container = await containerd.runContainer(pod, 'newest', ['/bin/sleep', '2147483647']);
  const address = await containerd.addressOf(pod);
  assert.match(
    await containerd.exec(container, 'ip', 'addr', 'show', 'eth0'),
    new RegExp(`inet ${address}/32 `),
  );
  assert.deepEqual(
    (await node.describe()).allocations.flatMap((one) => one.addresses),
    [address],
  );
  await containerd.removePod(pod);
  assert.deepEqual((await node.describe()).allocations, []);
});
