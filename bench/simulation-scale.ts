// Thousands of nodes in virtual time: a join storm, a scale-out, a rolling replacement, a zone lost.
//
// `node bench/simulation-scale.ts [NODES [PODS_PER_NODE [REPLACED]]]`, 1,000 nodes when absent; `make scale` takes 5,000.
// Durations are CPU time, since others may use the machine. The controller and every agent are the real ones.

import { setImmediate } from 'node:timers/promises';
import { startScaleWorld } from './support/scale-world.ts';

const [nodes = '1000', podsPerNode = '30', replaced = '100'] = process.argv.slice(2);
const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const PHASE_MINUTES_MAX = 240;

const world = startScaleWorld({ nodeCount: Number(nodes), podsPerNode: Number(podsPerNode) }, () =>
  setImmediate(),
);
const { meter } = world;

const cpuSeconds = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
};
const mib = (bytes: number): number => Math.round(bytes / 2 ** 20);
const percentile = (sorted: Float64Array, share: number): string =>
  (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(2);

/** Runs a phase until it is over, and says what it took. */
async function phase(name: string, begin: () => void, isOver: () => boolean): Promise<void> {
  const before = { cpu: cpuSeconds(), at: world.now(), ...meter.counts(), ec2: world.ec2Calls() };
  meter.resetTimes();
  begin();
  const untilMs = world.now() + PHASE_MINUTES_MAX * MINUTE_MS;
  do await world.pass(SECOND_MS);
  while (!isOver() && world.now() < untilMs);
  const after = { cpu: cpuSeconds(), ...meter.counts(), ec2: world.ec2Calls() };
  const cpu = after.cpu - before.cpu;
  const rounds = after.rounds - before.rounds;
  const started = after.podsStarted - before.podsStarted;
  const virtualSeconds = Math.round((world.now() - before.at) / SECOND_MS);
  const lines = [
    `${name}: ${isOver() ? 'done' : 'NOT DONE'} in ${virtualSeconds} virtual s; ${cpu.toFixed(1)} CPU s, ${mib(process.memoryUsage().rss)} MiB resident, of the whole simulation`,
    `  controller: ${rounds} decisions, ${Math.round(rounds / cpu)} per CPU second of the whole simulation`,
    `  EC2: ${after.ec2.all - before.ec2.all} calls, ${after.ec2.writes - before.ec2.writes} of them writes that took effect`,
  ];
  if (started > 0) {
    const times = meter.decisionTimes();
    lines.push(
      `  ${started} pods started; per pod ${((after.writes - before.writes) / started).toFixed(3)} writes of NodeNetworks, ${Math.round((after.bytes - before.bytes) / started)} bytes`,
      `  from a pod's event to the controller's decision: p50 ${percentile(times, 0.5)} ms, p99 ${percentile(times, 0.99)} ms, max ${percentile(times, 1)} ms of the machine`,
    );
  }
  console.log(lines.join('\n'));
}

await phase(`${nodes} nodes join`, world.joinAll, world.allHaveWarmPool);
await phase(`scale-out to ${podsPerNode} pods a node`, world.startPods, world.allPodsLive);
console.log(`a controller alone, started anew: ${await world.controllerMemoryMiB()} MiB of heap`);
const replacedCount = Number(replaced);
await phase(
  `rolling replacement of ${replacedCount} nodes`,
  () => world.replace(replacedCount),
  world.allPodsLive,
);
await phase('a zone is lost', world.loseZone, world.isZoneForgotten);
