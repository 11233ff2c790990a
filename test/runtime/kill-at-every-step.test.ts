// The agent killed at each step of an ADD and of a DEL: what the runtime does next always succeeds, and nothing is left.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, afterEach, before, test } from 'node:test';
import { eventually } from './support/eventually.ts';
import type { Death } from './support/mortal.ts';
import { kernelChanges, kernelState, makeNode, OUTSIDE_ADDRESS, type TestNode } from './support/node.ts';
import { addressOf, callPlugin, createPodNamespaces, type PodRun } from './support/plugin.ts';
import { whyNoNode } from './support/skip.ts';

const skip = whyNoNode() ?? false;

const namespaces = createPodNamespaces();
let node: TestNode;
let untouched: readonly string[];

before(async () => {
  if (skip !== false) return;
  node = await makeNode({ addressCount: 2, cooldownMs: 100, addWaitMs: 1000 });
  await node.startAgent().serving;
  untouched = kernelState(node.host);
});
afterEach(() => namespaces.removeAll());
after(async () => {
  if (skip === false) await node.close();
});

const sandbox = (containerId: string): PodRun => ({
  pod: 'cart',
  containerId,
  netnsPath: namespaces.make(containerId),
});

/** Starts an agent that will die so, asks for what it dies of, and starts a healthy one. */
async function dieOf(death: Death, run: PodRun): Promise<void> {
  await node.agent().kill();
  const mortal = node.startAgent(death);
  await mortal.serving;
  const asked = await callPlugin(node, death.command, run);
  assert.equal(asked.exitCode, 1, `the agent died before it answered ${asked.stdout}`);
  await mortal.ended;
  await node.startAgent().serving;
}

const held = async (): Promise<readonly string[]> =>
  (await node.describe()).allocations.flatMap(({ addresses }) => addresses);

async function nothingIsLeft(): Promise<void> {
  await eventually('both addresses are free', 5000, async () => {
    const { allocations, cooling } = await node.describe();
    return allocations.length + cooling.length === 0 ? true : undefined;
  });
  assert.deepEqual(kernelChanges(untouched, kernelState(node.host)), []);
}

async function runsWell(run: PodRun): Promise<void> {
  const address = addressOf(await callPlugin(node, 'ADD', run));
  assert.deepEqual(await held(), [address]);
  assert.deepEqual(namespaces.addresses(run.containerId), [address]);
  const ping = ['busybox', 'ping', '-c', '1', '-W', '2', OUTSIDE_ADDRESS];
  execFileSync('nsenter', [`--net=${run.netnsPath}`, ...ping]);
  assert.equal((await callPlugin(node, 'DEL', run)).exitCode, 0);
}

const ADD_DEATHS: readonly Pick<Death, 'moment' | 'step'>[] = [
  { moment: 'before', step: 'journal' },
  { moment: 'after', step: 'journal' },
  { moment: 'before', step: 'wire' },
  { moment: 'after', step: 'wire' },
  { moment: 'before', step: 'reply' },
];

for (const { moment, step } of ADD_DEATHS) {
  test(`killed ${moment} the ${step} of an ADD: ADD again for the same sandbox works [CNI-1] [CNI-2]`, {
    skip,
  }, async () => {
    const run = sandbox('first');
    await dieOf({ command: 'ADD', moment, step }, run);
    await runsWell(run);
    await nothingIsLeft();
  });

  test(`killed ${moment} the ${step} of an ADD: DEL and another sandbox of the pod work [CNI-1] [CNI-2]`, {
    skip,
  }, async () => {
    const run = sandbox('first');
    await dieOf({ command: 'ADD', moment, step }, run);
    assert.equal((await callPlugin(node, 'DEL', run)).exitCode, 0);
    await runsWell(sandbox('second'));
    await nothingIsLeft();
  });
}

const DEL_DEATHS: readonly Pick<Death, 'moment' | 'step'>[] = [
  { moment: 'before', step: 'unwire' },
  { moment: 'after', step: 'unwire' },
  { moment: 'before', step: 'journal' },
  { moment: 'after', step: 'journal' },
  { moment: 'before', step: 'reply' },
];

for (const { moment, step } of DEL_DEATHS) {
  test(`killed ${moment} the ${step} of a DEL: DEL again works, and the pod's next sandbox too [CNI-2]`, {
    skip,
  }, async () => {
    const run = sandbox('first');
    addressOf(await callPlugin(node, 'ADD', run));
    await dieOf({ command: 'DEL', moment, step }, run);
    assert.equal((await callPlugin(node, 'DEL', run)).exitCode, 0);
    assert.deepEqual(await held(), []);
    await runsWell(sandbox('second'));
    await nothingIsLeft();
  });
}
