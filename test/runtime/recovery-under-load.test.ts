// The agent killed at random moments while pods come and go: nothing is lost, doubled or left behind.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { seededRandom } from '../../src/lab/kernel/seeded-random.ts';
import { eventually } from './support/eventually.ts';
import { killRepeatedly, runLoad } from './support/load.ts';
import { kernelChanges, kernelState, makeNode, type TestNode } from './support/node.ts';
import { addressOf, callPlugin, createPodNamespaces } from './support/plugin.ts';
import { whyNoNode } from './support/skip.ts';

const skip = whyNoNode() ?? false;

const SEED = Number(process.env['SEED'] ?? 1);
const CYCLE_COUNT = 500;
const PARALLEL_COUNT = 10;
const ADDRESS_COUNT = 40;
const COOLDOWN_MS = 1000;

const namespaces = createPodNamespaces();
let node: TestNode;

before(async () => {
  if (skip === false) {
    node = await makeNode({ addressCount: ADDRESS_COUNT, cooldownMs: COOLDOWN_MS, addWaitMs: 2000 });
  }
});
after(async () => {
  namespaces.removeAll();
  if (skip === false) await node.close();
});

/** Waits until no pod holds an address and none rests. */
const allFree = (): Promise<true> =>
  eventually('every address is free again', 15_000, async () => {
    const { allocations, cooling, notServing } = await node.describe();
    return allocations.length === 0 && cooling.length === 0 && notServing === undefined ? true : undefined;
  });

test('SIGKILL under 500 ADD and DEL, 10 at a time: no address in two pods, none lost, nothing left behind [RST-1] [IP-1] [IP-5] [CNI-2]', {
  skip,
}, async (t) => {
  await node.startAgent().serving;
  const untouched = kernelState(node.host);
  await node.agent().kill();

  const random = seededRandom(SEED);
  let isOver = false;
  const killing = killRepeatedly(node, random.fork('kills'), () => isOver);
  const load = runLoad({
    node,
    namespaces,
    random: random.fork('load'),
    cycleCount: CYCLE_COUNT,
    parallelCount: PARALLEL_COUNT,
    cooldownMs: COOLDOWN_MS,
  }).finally(() => {
    isOver = true;
  });
  const [schedule, report] = await Promise.all([killing, load]);
  t.diagnostic(`seed ${SEED}: ${schedule.length} kills, ${report.retryCount} calls repeated`);
  t.diagnostic(`killed at (milliseconds after): ${schedule.join(' ')}`);

  assert.deepEqual(report.faults, []);
  assert.equal(report.cycleCount, CYCLE_COUNT);
  assert.ok(schedule.length >= 10, `only ${schedule.length} kills: the load was over too soon to prove much`);
  await allFree();
  assert.deepEqual(kernelChanges(untouched, kernelState(node.host)), []);
});

test('every address can be given out after that', { skip }, async () => {
  const runs = node.granted.map((_, n) => ({
    pod: `last-${n}`,
    containerId: `last-${n}`,
    netnsPath: namespaces.make(`last-${n}`),
  }));
  const given: string[] = [];
  for (const run of runs) given.push(addressOf(await callPlugin(node, 'ADD', run)));
  assert.deepEqual([...given].sort(), [...node.granted].sort());
  for (const run of runs) assert.equal((await callPlugin(node, 'DEL', run)).exitCode, 0);
  await allFree();
});
