// One simulated node: an instance, a kernel, an agent, and a kubelet with its runtime; with power, or without.

import type { InstanceId, NodeName } from '../../../domain/ids.ts';
import type { Log } from '../../../ports/log.ts';
import type { SimCluster } from '../../cluster/sim-cluster.ts';
import type { SimEc2 } from '../../ec2/sim-ec2.ts';
import { calm, type FaultDial } from '../../faults/fault-profile.ts';
import { chance, drawBetween } from '../../kernel/draw.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import type { SeededRandom } from '../../kernel/seeded-random.ts';
import { createMemoryKernel, type MemoryKernel } from '../../linux/memory-kernel.ts';
import { nftElements } from '../../linux/nft-elements.ts';
import { startKubelet } from '../kubelet.ts';
import { createHalt, type SimHalt } from './sim-halt.ts';
import { createSimAgent, type SimAgent } from './sim-agent.ts';
import { type MortalClient, mortalClient } from './sim-client.ts';
import { createSimRuntime, type PodRegister, type SimRuntime } from './sim-runtime.ts';

/** What all nodes share. */
export interface NodeSurroundings {
  readonly kernel: Kernel;
  readonly ec2: SimEc2;
  readonly cluster: SimCluster;
  readonly dial: FaultDial;
  readonly log: Log;
  readonly register: PodRegister;
  /** Told of each fault, as `world.field`, when it strikes. */
  readonly struck: (fault: string) => void;
  /** A node's disk is lost, and with it what its agent remembered. */
  readonly onDiskLost: (node: NodeName) => void;
}

export interface SimNodeDeps extends NodeSurroundings {
  readonly name: NodeName;
  readonly instanceId: InstanceId;
}

export interface SimNode {
  readonly name: NodeName;
  readonly instanceId: InstanceId;
  readonly agent: SimAgent;
  isOn(): boolean;
  /** Its machine is halted: nothing in it happens. */
  readonly halt: SimHalt;
  /** Everything that runs is gone, the kernel's state too; the disk stays, as a rule. */
  powerOff(): void;
  powerOn(): void;
  /** The DaemonSet of the agents wants the node, or does no more. */
  wantAgent(isWanted: boolean): void;
  /** The runtime calls GC. */
  collect(): void;
  /** Addresses that the node's kernel lets reach instance metadata. */
  imdsOpen(): readonly string[];
  /** The instance is gone for ever. */
  dispose(): void;
}

const BOOT_MS = { min: 100, max: 3_000 };
/** Of a refused ADD. A kubelet waits for some 15 s; while there are faults, more tries meet more of them. */
const BACKOFF_MAX_MS = 2_000;
const CALM_BACKOFF_MAX_MS = 16_000;
/** How often a kubelet looks whether pods can start: seldom where no agent is to be for long. */
const READY_POLL_MS = 200;
const LEFT_ALONE_POLL_MS = 5_000;

/** A node without power: see `powerOn`. */
export function createSimNode(deps: SimNodeDeps): SimNode {
  const { name, instanceId, kernel, cluster, dial, log } = deps;
  const owner = `node/${name}`;
  const random = kernel.random.fork(owner);
  const host = createMemoryKernel();
  const profile = () => dial.profile().node;
  const agent = createSimAgent({ nodeName: name, kernel, cluster, host, profile, log, struck: deps.struck });
  const links = createLinks(deps, host);
  const tell = (text: string): void => log.info(text);
  const halt = createHalt({
    node: name,
    kernel,
    owners: [owner, agent.owner],
    perHour: () => profile().haltsPerHour,
    struck: () => deps.struck('node.haltsPerHour'),
    tell,
  });
  let bootCount = 0;
  let on: Pods | undefined;

  const powerOff = (): void => {
    if (on === undefined) return;
    halt.end();
    on.connection.end();
    on = undefined;
    const diskLost = chance(random, profile().journalLostOdds);
    agent.powerOff(diskLost);
    kernel.kill(owner);
    for (const { node, containerId } of deps.register.live.values()) {
      if (node === name) deps.register.ending(containerId);
    }
    host.reboot();
    if (!diskLost) return;
    deps.struck('node.journalLostOdds');
    deps.onDiskLost(name);
  };
  const powerOn = (): void => {
    bootCount += 1;
    links.catchUp();
    const bootMs = drawBetween(random, BOOT_MS);
    kernel.clock(owner).timer(bootMs, 'agent starts', agent.start);
    // Container ids of one boot must not come again in the next.
    on = startPods(deps, { host, agent, halt, random: random.fork(`boot-${bootCount}`) });
  };
  return {
    name,
    instanceId,
    agent,
    isOn: () => on !== undefined,
    halt,
    powerOff,
    powerOn,
    wantAgent: (isWanted) => {
      agent.setWanted(isWanted);
      if (isWanted && on !== undefined) agent.start();
    },
    collect: () => void on?.runtime.collect(),
    imdsOpen: () => ['imds_allowed', 'imds_allowed6'].flatMap((set) => nftElements(host, set)),
    dispose: () => {
      powerOff();
      links.close();
    },
  };
}

interface Pods {
  readonly connection: MortalClient;
  readonly runtime: SimRuntime;
}

/** A kubelet and its runtime. */
function startPods(
  { name, kernel, cluster, dial, log, register, struck }: SimNodeDeps,
  {
    host,
    agent,
    halt,
    random,
  }: {
    readonly host: MemoryKernel;
    readonly agent: SimAgent;
    readonly halt: SimHalt;
    readonly random: SeededRandom;
  },
): Pods {
  const owner = `node/${name}`;
  const clock = kernel.clock(owner);
  // The model of a kubelet trusts what it is told: it is not what is tested here.
  const connection = mortalClient(cluster.client({ clock, staleLists: false }));
  const runtime = createSimRuntime({
    node: name,
    clock,
    random: random.fork('runtime'),
    host,
    register,
    profile: () => dial.profile().node,
    struck,
    ask: (request) => {
      halt.mayBeginInRequest();
      return kernel.guard(owner, agent.ask(request), request.command);
    },
  });
  startKubelet({
    node: name,
    cluster: connection.client,
    isReady: () => agent.isUp(),
    readyPollMs: () => (agent.isWanted() ? READY_POLL_MS : LEFT_ALONE_POLL_MS),
    runtime,
    onGone: (pod) => {
      if (cluster.admin.get('Pod', pod)?.deleting === true) cluster.admin.deletePod(pod);
    },
    backoffMaxMs: () => (dial.profile() === calm ? CALM_BACKOFF_MAX_MS : BACKOFF_MAX_MS),
    clock,
    random: random.fork('kubelet'),
    log,
  });
  return { connection, runtime };
}

interface Links {
  /** What was attached and detached while the power was off. */
  catchUp(): void;
  close(): void;
}

/** ENIs appear as links late after EC2 says attached, and go at once when it says detached. */
function createLinks({ kernel, ec2, dial, name, instanceId }: SimNodeDeps, host: MemoryKernel): Links {
  const random = kernel.random.fork(`links/${name}`);
  const plugged = new Set<string>();
  const macs = (): readonly string[] =>
    ec2.truth
      .enisOf(instanceId)
      .filter(({ attachment }) => attachment?.status === 'attached')
      .map(({ mac }) => mac);
  const plug = (mac: string): void => {
    if (plugged.has(mac) || !macs().includes(mac)) return;
    plugged.add(mac);
    host.plugLink(mac);
  };
  const unplug = (mac: string): void => {
    if (plugged.delete(mac)) host.unplugLink(mac);
  };
  const subscription = ec2.onAttachmentAt(instanceId, ({ eni, status }) => {
    if (status === 'detached') unplug(eni.mac);
    if (status !== 'attached') return;
    const lateMs = drawBetween(random, { min: 0, max: dial.profile().node.linkLateMaxMs });
    kernel.clock(`node/${name}`).timer(lateMs, `link ${eni.mac}`, () => plug(eni.mac));
  });
  return {
    catchUp: () => {
      const now = macs();
      for (const mac of plugged) if (!now.includes(mac)) unplug(mac);
      for (const mac of now) plug(mac);
    },
    close: () => subscription.close(),
  };
}
