// Many new nodes at once, in virtual time: how long until the last one serves, over what EC2's token buckets allow at
// best; the same for a loop per node with back-off; and what a node and a pod cost in EC2 writes.
// `node bench/scale-out.ts [NODE_COUNT...]`

import { setImmediate as macrotask } from 'node:timers/promises';
import { createFleet, type Fleet } from '../src/lab/scenario/simulation/fleet.ts';
import { scaleOutByNodeLoops } from './support/node-loops.ts';

/** AttachNetworkInterface: the bucket and its refill per second. https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-throttling.html */
const ATTACH_BUCKET = 50;
const ATTACH_PER_SECOND = 5;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

const floorSeconds = (nodeCount: number): number => (nodeCount - ATTACH_BUCKET) / ATTACH_PER_SECOND;

interface Outcome {
  readonly seconds: number;
  readonly writesPerNode: number;
  readonly throttledCount: number;
  readonly readCount: number;
}

function countCalls(
  { ec2 }: Fleet,
  isCounted: (call: { action: string; result: string }) => boolean,
): number {
  return ec2.calls
    .counts()
    .filter(isCounted)
    .reduce((sum, { count }) => sum + count, 0);
}

const isThrottled = ({ result }: { result: string }): boolean => result === 'RequestLimitExceeded';
const isRead = ({ action }: { action: string }): boolean => action.startsWith('Describe');

function outcomeOf(fleet: Fleet, nodeCount: number, seconds: number): Outcome {
  return {
    seconds,
    writesPerNode: fleet.ec2.calls.writeCount() / nodeCount,
    throttledCount: countCalls(fleet, isThrottled),
    readCount: countCalls(fleet, isRead),
  };
}

/** The controller, over a cluster in which `nodeCount` nodes appear at one moment, with a pod waiting on each. */
async function scaleOut(nodeCount: number): Promise<Outcome> {
  const fleet = createFleet(() => macrotask());
  const nodes = Array.from({ length: nodeCount }, (_, n) => fleet.launch(`n${n}`));
  fleet.startController();
  await fleet.run(MINUTE_MS);
  const startMs = fleet.kernel.now();
  for (const node of nodes) {
    fleet.join(node);
    fleet.startPod(`p-${node.name}`, node.name);
  }
  await fleet.run(HOUR_MS, () => fleet.servedAt.size === nodeCount);
  if (fleet.servedAt.size < nodeCount) throw new Error(`${fleet.servedAt.size} of ${nodeCount} nodes serve`);
  const seconds = (Math.max(...fleet.servedAt.values()) - startMs) / 1000;
  // What is done after the last pod is served belongs to the nodes, too.
  await fleet.run(5 * MINUTE_MS);
  return outcomeOf(fleet, nodeCount, seconds);
}

async function scaleOutByLoops(nodeCount: number): Promise<Outcome> {
  const fleet = createFleet(() => macrotask());
  const nodes = Array.from({ length: nodeCount }, (_, n) => fleet.launch(`n${n}`));
  const seconds = await scaleOutByNodeLoops(fleet, nodes);
  return outcomeOf(fleet, nodeCount, seconds);
}

/** Ten nodes with twelve pods each, of which ten a minute are replaced, for an hour: EC2 writes per pod. */
async function churn(): Promise<{ readonly podCount: number; readonly writeCount: number }> {
  const nodeCount = 10;
  const podsPerNode = 12;
  const fleet = createFleet(() => macrotask());
  fleet.startController({ IP_COOLDOWN_PERIOD: '30', WARM_IP_TARGET: '3' });
  const nodes = Array.from({ length: nodeCount }, (_, n) => fleet.launch(`n${n}`));
  const living = nodes.map((node) => {
    fleet.join(node);
    return Array.from({ length: podsPerNode }, (_, n) => fleet.startPod(`p-${node.name}-${n}`, node.name));
  });
  await fleet.run(5 * MINUTE_MS);
  const before = fleet.ec2.calls.writeCount();
  let podCount = 0;
  for (let turn = 0; turn < 600; turn += 1) {
    for (const [n, node] of nodes.entries()) {
      const oldest = living[n]?.shift();
      if (oldest !== undefined) fleet.deletePod(oldest);
      podCount += 1;
      living[n]?.push(fleet.startPod(`q-${node.name}-${turn}`, node.name));
    }
    await fleet.run(6_000);
  }
  return { podCount, writeCount: fleet.ec2.calls.writeCount() - before };
}

function tell(
  who: string,
  nodeCount: number,
  { seconds, throttledCount, writesPerNode, readCount }: Outcome,
): void {
  const floor = floorSeconds(nodeCount);
  console.log(
    `${String(nodeCount).padStart(5)} nodes  ${who.padEnd(14)} last one serves after ${seconds.toFixed(1).padStart(7)} s, ` +
      `${(seconds / floor).toFixed(3)} of the floor (${floor} s); ${writesPerNode.toFixed(2)} EC2 writes a node, ` +
      `${readCount} reads, ${throttledCount} throttled calls`,
  );
}

const asked = process.argv.slice(2).map(Number);
for (const nodeCount of asked.length > 0 ? asked : [1_000, 5_000]) {
  tell('Eniwhere', nodeCount, await scaleOut(nodeCount));
  tell('loop per node', nodeCount, await scaleOutByLoops(nodeCount));
}
const { podCount, writeCount } = await churn();
console.log(
  `churn: ${podCount} pods in an hour on 10 nodes (10 a minute each): ${writeCount} EC2 writes, ${(writeCount / podCount).toFixed(4)} a pod`,
);
