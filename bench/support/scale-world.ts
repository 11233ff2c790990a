// A large cluster in virtual time: the real controller and agents, one per node, without faults.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { parseControllerSettings } from '../../src/controller/controller-settings.ts';
import { type Controller, startController } from '../../src/controller/start-controller.ts';
import type { NodeName } from '../../src/domain/ids.ts';
import { assert } from '../../src/domain/result.ts';
import { createSimCluster, type SimCluster } from '../../src/lab/cluster/sim-cluster.ts';
import { createSimEc2, type SimEc2 } from '../../src/lab/ec2/sim-ec2.ts';
import { calm, createFaultDial } from '../../src/lab/faults/fault-profile.ts';
import type { LiveSandbox } from '../../src/lab/checkers/checker.ts';
import { createKernel, type Kernel } from '../../src/lab/kernel/kernel.ts';
import {
  createSimNode,
  type NodeSurroundings,
  type SimNode,
} from '../../src/lab/scenario/simulation/sim-node.ts';
import type { PodRegister } from '../../src/lab/scenario/simulation/sim-runtime.ts';
import type { ControllerCluster } from '../../src/ports/cluster.ts';
import type { Log } from '../../src/ports/log.ts';
import { createMeter, type Meter } from './scale-meter.ts';
import { launchIn, makeScaleVpc, ZONES } from './scale-vpc.ts';

export interface ScalePlan {
  readonly nodeCount: number;
  readonly podsPerNode: number;
}

export interface ScaleWorld extends Fleet {
  readonly meter: Meter;
  now(): number;
  pass(ms: number): Promise<void>;
  ec2Calls(): { readonly all: number; readonly writes: number };
  /** Puts another controller in the first one's place, told everything in copies of its own: MiB of heap that it takes. */
  controllerMemoryMiB(): Promise<number>;
}

const silent: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {}, mark: () => {} };

interface Parts {
  readonly kernel: Kernel;
  readonly ec2: SimEc2;
  readonly cluster: SimCluster;
  readonly meter: Meter;
  readonly plan: ScalePlan;
}

export function startScaleWorld(plan: ScalePlan, drain: () => Promise<void>): ScaleWorld {
  const kernel = createKernel({ seed: 1, recentPerOwner: 1 });
  const clock = kernel.clock('world');
  const dial = createFaultDial({ ...calm, ec2: { ...calm.ec2, randomAddresses: false } });
  const ec2 = createSimEc2({ clock, random: kernel.random.fork('ec2'), profile: () => dial.ec2() });
  const cluster = createSimCluster({ clock, random: kernel.random.fork('cluster') });
  makeScaleVpc(ec2, cluster);
  const meter = createMeter(() => kernel.now());
  const parts: Parts = { kernel, ec2, cluster, meter, plan };
  const first = start(parts, 'controller', (client) => meter.ofController(client));
  const fleet = createFleet(parts, {
    kernel,
    ec2,
    cluster: { ...cluster, client: (options) => meter.ofAgent(cluster.client(options)) },
    dial,
    log: silent,
    struck: () => {},
    onDiskLost: () => {},
  });
  const pass = async (ms: number): Promise<void> => {
    const drainTurn = async (): Promise<void> => {
      await drain();
      meter.turnEnded();
    };
    await kernel.run({ untilMs: kernel.now() + ms, drain: drainTurn });
  };
  return {
    ...fleet,
    meter,
    now: () => kernel.now(),
    pass,
    ec2Calls: () => ({ all: ec2.calls.total(), writes: ec2.calls.writeCount() }),
    controllerMemoryMiB: () => measureController(parts, first, pass),
  };
}

function start(
  { kernel, ec2, cluster, meter, plan }: Parts,
  name: string,
  wrap: (client: ControllerCluster) => ControllerCluster,
): Controller {
  const settings = parseControllerSettings({
    CLUSTER_NAME: 'scale',
    AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG: 'true',
    WARM_IP_TARGET: String(WARM_COUNT),
    // Nodes are full of addresses before pods come: EC2 makes five ENIs a second, pods start by the hundred.
    MINIMUM_IP_TARGET: String(plan.podsPerNode),
  });
  assert(settings.ok, 'the settings are valid');
  const clock = meter.clock(kernel.clock(name));
  return startController({
    cluster: wrap(cluster.client({ clock })),
    ec2: ec2.client({ name, clock }),
    clock,
    random: kernel.random.fork(name),
    log: silent,
    settings: settings.value,
    rounds: meter.rounds,
  });
}

/** Addresses that each node holds ahead of its pods. */
export const WARM_COUNT = 2;

const STOP_MS = 30_000;
const SETTLE_MS = 150_000;

async function measureController(parts: Parts, first: Controller, pass: ScaleWorld['pass']): Promise<number> {
  const stopped = first.stop();
  await pass(STOP_MS);
  await stopped;
  parts.kernel.kill('controller');
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  const before = process.memoryUsage().heapUsed;
  // What it is told is its own, as if it had come over the wire, and shared with nobody.
  start(parts, 'second', (client) =>
    parts.meter.ofController({
      ...client,
      watch: (request) =>
        client.watch({ ...request, onEvent: (event) => request.onEvent(structuredClone(event)) }),
    }),
  );
  await pass(SETTLE_MS);
  collect();
  return Math.round((process.memoryUsage().heapUsed - before) / 2 ** 20);
}

interface Fleet {
  joinAll(): void;
  /** Every node holds an address for each of its pods, and with `spare` so many more. */
  allHold(spare: number): boolean;
  /** Every agent has answered the newest spec of its node. */
  allAnswered(): boolean;
  startPods(): void;
  allPodsLive(): boolean;
  /** One after the other: the instance ends, another one joins, and gets as many pods. */
  replace(count: number): void;
  loseZone(): void;
  isZoneForgotten(): boolean;
}

const JOIN_MS = 100;
const BIND_MS = 1;
const REPLACE_MS = 2_000;
const NODE_GONE_MS = 30_000;

function createFleet(
  { kernel, ec2, cluster, meter, plan }: Parts,
  surroundings: Omit<NodeSurroundings, 'register'>,
): Fleet {
  const clock = kernel.clock('world');
  const nodes = new Map<NodeName, { readonly node: SimNode; readonly zone: number }>();
  let lost: readonly NodeName[] = [];
  let launchedCount = 0;
  let podCount = 0;
  let replacingCount = 0;
  const pods = createPodCount(meter);
  const launch = (zone: number): NodeName => {
    launchedCount += 1;
    const name = `n${launchedCount}` as NodeName;
    const { instanceId } = launchIn(ec2, zone);
    cluster.admin.applyNode({ name, instanceId, zone: ZONES[zone] ?? '' });
    const node = createSimNode({ ...surroundings, register: pods.createRegister(), name, instanceId });
    nodes.set(name, { node, zone });
    node.powerOn();
    return name;
  };
  const bindPods = (nodeName: NodeName): void => {
    for (let n = 0; n < plan.podsPerNode; n += 1) {
      podCount += 1;
      const pod = cluster.admin.applyPod({ namespace: 'default', name: `p${podCount}`, nodeName });
      meter.podBound(pod.key);
    }
  };
  const end = (name: NodeName): void => {
    const entry = nodes.get(name);
    if (entry === undefined) return;
    entry.node.dispose();
    nodes.delete(name);
    ec2.admin.terminateInstance(entry.node.instanceId);
    clock.timer(NODE_GONE_MS, 'node gone', () => cluster.admin.deleteNode(name));
  };
  const grantedCount = (name: NodeName): number =>
    (cluster.admin.nodeNetwork(name)?.spec.enis ?? []).reduce((sum, eni) => sum + eni.addresses.length, 0);
  return {
    joinAll: () => {
      for (let n = 0; n < plan.nodeCount; n += 1)
        clock.timer(n * JOIN_MS, 'join', () => launch(n % ZONES.length));
    },
    allHold: (spare) =>
      launchedCount >= plan.nodeCount &&
      [...nodes.keys()].every((name) => grantedCount(name) >= plan.podsPerNode + spare),
    allAnswered: () => [...nodes.keys()].every((name) => isAnswered(cluster, name)),
    startPods: () => {
      [...nodes.keys()].forEach((name, n) => {
        clock.timer(n * plan.podsPerNode * BIND_MS, 'bind', () => bindPods(name));
      });
    },
    allPodsLive: () => replacingCount === 0 && pods.liveCount() === nodes.size * plan.podsPerNode,
    replace: (count) => {
      replacingCount = count;
      [...nodes].slice(0, count).forEach(([name, { zone }], n) => {
        clock.timer(n * REPLACE_MS, 'replace', () => {
          end(name);
          bindPods(launch(zone));
          replacingCount -= 1;
        });
      });
    },
    loseZone: () => {
      lost = [...nodes].filter(([, { zone }]) => zone === 0).map(([name]) => name);
      for (const name of lost) end(name);
    },
    isZoneForgotten: () => lost.every((name) => cluster.admin.nodeNetwork(name) === undefined),
  };
}

function isAnswered(cluster: SimCluster, name: NodeName): boolean {
  const record = cluster.admin.nodeNetwork(name);
  return record?.status.observedGeneration === record?.generation;
}

interface PodCount {
  /** A register per node: whoever ends a node looks through it. */
  createRegister(): PodRegister;
  liveCount(): number;
}

function createPodCount(meter: Meter): PodCount {
  let liveCount = 0;
  return {
    liveCount: () => liveCount,
    createRegister: () => {
      const live = new Map<string, LiveSandbox>();
      return {
        live,
        added: (sandbox) => {
          if (!live.has(sandbox.containerId)) {
            liveCount += 1;
            meter.podStarted(sandbox.pod);
          }
          live.set(sandbox.containerId, sandbox);
        },
        ending: (containerId) => {
          if (live.delete(containerId)) liveCount -= 1;
        },
        broken: (rule, what) => assert(false, `${rule}: ${what}`),
      };
    },
  };
}
