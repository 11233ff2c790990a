// Thousands of nodes in virtual time: a join storm, a scale-out, a rolling replacement, a zone lost.
//
// `node bench/simulation-scale.ts [NODES [PODS_PER_NODE [REPLACED]]]`, 1,000 nodes when absent; `make scale` takes 5,000.
// The controller and every agent are the real ones. Prints what each phase took, and the figures against their aims.

import { performance } from 'node:perf_hooks';
import { setImmediate } from 'node:timers/promises';
import { type MeterCounts, WRITES } from './support/scale-meter.ts';
import { startScaleWorld, WARM_COUNT } from './support/scale-world.ts';

const [nodes = '1000', podsPerNode = '30', replaced = '100'] = process.argv.slice(2);
const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const PHASE_MINUTES_MAX = 240;

/** The aims of issue 7. */
const WALL_MINUTES_AIM = 10;
const HEAP_MIB_AIM = 1024;
const DECISION_MS_AIM = 50;
const WRITES_PER_POD_AIM = 0.2;

const world = startScaleWorld({ nodeCount: Number(nodes), podsPerNode: Number(podsPerNode) }, () =>
  setImmediate(),
);
const { meter } = world;
const startedAt = performance.now();

const cpuSeconds = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
};
const wallSeconds = (): number => (performance.now() - startedAt) / SECOND_MS;
const mib = (bytes: number): number => Math.round(bytes / 2 ** 20);
const percentile = (sorted: Float64Array, share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;

const sumOf = (writes: MeterCounts['writes']): number =>
  WRITES.reduce((sum, which) => sum + writes[which], 0);
const since = (before: MeterCounts, after: MeterCounts): MeterCounts => ({
  decisions: after.decisions - before.decisions,
  podsStarted: after.podsStarted - before.podsStarted,
  writes: {
    'objects made': after.writes['objects made'] - before.writes['objects made'],
    specs: after.writes.specs - before.writes.specs,
    'conditions of the controller':
      after.writes['conditions of the controller'] - before.writes['conditions of the controller'],
    'status of agents': after.writes['status of agents'] - before.writes['status of agents'],
  },
  bytes: after.bytes - before.bytes,
  controllerMs: after.controllerMs - before.controllerMs,
});

interface Phase {
  readonly counts: MeterCounts;
  /** Milliseconds from a pod's event to the decision, 99th percentile. */
  readonly p99: number;
  readonly isDone: boolean;
}

/** Runs a phase until it is over, and says what it took. */
async function phase(name: string, begin: () => void, isOver: () => boolean): Promise<Phase> {
  const before = { cpu: cpuSeconds(), wall: wallSeconds(), at: world.now(), ...meter.counts() };
  const ec2Before = world.ec2Calls();
  meter.resetWaits();
  begin();
  const untilMs = world.now() + PHASE_MINUTES_MAX * MINUTE_MS;
  do await world.pass(SECOND_MS);
  while (!isOver() && world.now() < untilMs);
  const counts = since(before, meter.counts());
  const ec2 = world.ec2Calls();
  const isDone = isOver();
  const virtualSeconds = Math.round((world.now() - before.at) / SECOND_MS);
  const { heapUsed, rss } = process.memoryUsage();
  const lines = [
    `${name}: ${isDone ? 'done' : 'NOT DONE'} in ${virtualSeconds} virtual s; ${(wallSeconds() - before.wall).toFixed(0)} s of wall time, ${(cpuSeconds() - before.cpu).toFixed(0)} of CPU time of the whole simulation; then ${mib(heapUsed)} MiB of heap, ${mib(rss)} resident`,
    `  controller: ${counts.decisions} decisions in ${(counts.controllerMs / SECOND_MS).toFixed(1)} s of its own turns, ${Math.round((counts.decisions / counts.controllerMs) * SECOND_MS)} per second`,
    `  EC2: ${ec2.all - ec2Before.all} calls, ${ec2.writes - ec2Before.writes} of them writes that took effect`,
    `  writes of NodeNetworks: ${WRITES.map((which) => `${counts.writes[which]} ${which}`).join(', ')}`,
  ];
  const { own, withCalls } = meter.waits();
  const started = counts.podsStarted;
  if (started > 0) {
    const spread = (times: Float64Array, digits = 1): string =>
      [0.5, 0.99, 1].map((share) => percentile(times, share).toFixed(digits)).join(', ');
    lines.push(
      `  ${started} pods started; per pod ${(sumOf(counts.writes) / started).toFixed(3)} writes of NodeNetworks, ${Math.round(counts.bytes / started)} bytes`,
      `  from a pod's event to the decision, the queue included: p50, p99, max ${spread(own)} ms; with calls under way for the same node ${spread(withCalls)} ms`,
      `  from a pod's binding to its address: p50, p99, max ${spread(meter.startTimes(), 0)} ms`,
    );
  }
  console.log(lines.join('\n'));
  return { counts, p99: percentile(own, 0.99), isDone };
}

const join = await phase(`${nodes} nodes join`, world.joinAll, () => world.allHold(0));
const start = await phase(`scale-out to ${podsPerNode} pods a node`, world.startPods, world.allPodsLive);
const scaleOutMinutes = wallSeconds() / 60;
const refill = await phase(
  'warm pools fill up again',
  () => {},
  // Agents answer the last of it minutes later: those writes belong to no later phase.
  () => world.allHold(WARM_COUNT) && world.allAnswered(),
);
const heapMib = await world.controllerMemoryMiB();
const replacedCount = Number(replaced);
const replacement = await phase(
  `rolling replacement of ${replacedCount} nodes`,
  () => world.replace(replacedCount),
  world.allPodsLive,
);
const zone = await phase('a zone is lost', world.loseZone, world.isZoneForgotten);

const perPod = (...phases: readonly Phase[]): number =>
  phases.reduce((sum, { counts }) => sum + sumOf(counts.writes), 0) /
  phases.reduce((sum, { counts }) => sum + counts.podsStarted, 0);
const tell = (what: string, value: number, aim: number, unit: string): void => {
  const digits = unit === '' ? 3 : 1;
  console.log(
    `${value < aim ? 'met   ' : 'MISSED'}  ${what}: ${value.toFixed(digits)}${unit}, aim under ${aim}${unit}`,
  );
};
console.log(`all phases done: ${[join, start, refill, replacement, zone].every(({ isDone }) => isDone)}`);
tell('nodes joined and pods started, wall time', scaleOutMinutes, WALL_MINUTES_AIM, ' min');
tell('everything, wall time', wallSeconds() / 60, WALL_MINUTES_AIM, ' min');
tell('heap of a controller alone, started anew over the same cluster', heapMib, HEAP_MIB_AIM, ' MiB');
tell("a pod's event to the decision, p99, scale-out", start.p99, DECISION_MS_AIM, ' ms');
tell("a pod's event to the decision, p99, rolling replacement", replacement.p99, DECISION_MS_AIM, ' ms');
tell(
  'writes of NodeNetworks per pod, scale-out and its refill',
  perPod(start, refill),
  WRITES_PER_POD_AIM,
  '',
);
tell('the same with the joining of the nodes', perPod(join, start, refill), WRITES_PER_POD_AIM, '');
tell('the same, rolling replacement', perPod(replacement), WRITES_PER_POD_AIM, '');
