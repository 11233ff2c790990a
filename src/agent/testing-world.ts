// A node to test the agent on: virtual time, a kernel and a Kubernetes in memory, a journal that survives crashes.

import { setImmediate } from 'node:timers/promises';
import { type NodeName, podKey } from '../domain/ids.ts';
import type { Choosing, Condition, NodeNetworkSpec, NodeNetworkStatus } from '../domain/ipam/node-network.ts';
import { type EniOptions, nodeNetworkSpec, primaryEni, specEni } from '../domain/ipam/testing-node.ts';
import { type ClusterProfile, calmCluster } from '../lab/cluster/cluster-profile.ts';
import { createSimCluster } from '../lab/cluster/sim-cluster.ts';
import { createMemoryJournal, type MemoryJournal } from '../lab/journal/memory-journal.ts';
import { createKernel, type Kernel } from '../lab/kernel/kernel.ts';
import { settle } from '../lab/kernel/settle.ts';
import { createMemoryKernel, type MemoryKernel } from '../lab/linux/memory-kernel.ts';
import { createMemoryStack, type MemoryStackStep } from '../lab/linux/memory-stack.ts';
import { nftElements } from '../lab/linux/nft-elements.ts';
import type { AgentCluster, NodeNetworkRecord } from '../ports/cluster.ts';
import type { StackFailure } from '../ports/network-stack.ts';
import type { AddRequest, CniReply, CniRequest } from '../protocol/agent-socket/cni-message.ts';
import { type Agent, startAgent } from './start-agent.ts';

export const NODE = 'n0' as NodeName;
export const COOLDOWN_MS = 30_000;

export interface Publication {
  readonly enis: readonly EniOptions[];
  readonly cooldownMs?: number;
  readonly selection?: NodeNetworkSpec['selection'];
  readonly choosing?: Choosing;
  /** IPv4 unless given. */
  readonly addressFamilies?: NodeNetworkSpec['addressFamilies'];
}

export interface World {
  readonly kernel: Kernel;
  readonly host: MemoryKernel;
  readonly journal: MemoryJournal;
  /** Coverage marks that the agent has passed. */
  readonly marks: Set<string>;
  /** The kernel refuses the steps that this names. */
  refuse: (step: MemoryStackStep) => StackFailure | undefined;
  profile: ClusterProfile;
  agent(): Agent;
  start(): Promise<void>;
  /** SIGKILL, or with `tear` a power cut in the middle of a write; the kernel lives on. */
  crash(tear?: boolean): void;
  /** The controller writes the spec; the object is made when it is not there. */
  publish(publication: Publication): Promise<NodeNetworkRecord>;
  /** Somebody deletes the object. */
  deleteObject(): Promise<void>;
  /** The controller's own conditions. */
  writeConditions(conditions: readonly Condition[]): Promise<void>;
  status(): NodeNetworkStatus | undefined;
  /** How often the agent has asked for the status to be written. */
  statusWriteCount(): number;
  /** Events on pods, as `pod reason: message`. */
  events(): readonly string[];
  /** Somebody makes the pod `shop/NAME` of this node, or writes on it. Answers its uid. */
  applyPod(name: string, annotations: Readonly<Record<string, string>>): string;
  deletePod(name: string): void;
  /** Addresses that the kernel lets reach instance metadata. */
  imdsAllowed(): readonly string[];
  takeApiDown(ms: number): void;
  /** Lets so much virtual time pass. */
  wait(ms: number): Promise<void>;
  /** Lets time pass until the work is done. */
  run<T>(work: Promise<T>): Promise<T>;
  cni(request: CniRequest): Promise<CniReply>;
  add(containerId: string, pod?: string, uid?: string): Promise<CniReply>;
  del(containerId: string, pod?: string): Promise<CniReply>;
}

const drain = (): Promise<void> => setImmediate();

/** The primary ENI, and those given; a link for each of them is in the kernel unless the test unplugs it. */
const specOf = ({
  enis,
  cooldownMs = COOLDOWN_MS,
  selection,
  choosing,
  addressFamilies = ['IPv4'],
}: Publication): NodeNetworkSpec =>
  nodeNetworkSpec({
    ...(selection === undefined ? {} : { selection }),
    addressFamilies,
    enis: [primaryEni, ...enis.map(specEni)],
    cooldownMs,
    ...(choosing === undefined ? {} : { choosing }),
  });

export interface WorldOptions {
  readonly addWaitMs?: number;
  readonly seed?: number;
}

export async function createWorld(options: WorldOptions = {}): Promise<World> {
  const kernel = createKernel({ seed: options.seed ?? 1 });
  const host = createMemoryKernel();
  for (const index of [0, 1, 2]) host.plugLink(`02:00:00:00:00:0${index}`);
  const journal = createMemoryJournal();
  const marks = new Set<string>();
  const cluster = createSimCluster({
    clock: kernel.clock('cluster'),
    random: kernel.random.fork('cluster'),
    profile: () => world.profile,
  });
  const controller = cluster.client({ clock: kernel.clock('controller') });
  const node = cluster.admin.applyNode({ name: NODE, zone: 'us-west-2a' });
  let agent: Agent | undefined;
  let statusWriteCount = 0;
  const counted = (client: AgentCluster): AgentCluster => ({
    ...client,
    updateNodeNetworkStatus: (record) => {
      statusWriteCount += 1;
      return client.updateNodeNetworkStatus(record);
    },
  });
  const quiet = (): void => {};
  const run = <T>(work: Promise<T>): Promise<T> => settle(kernel, work, { drain });

  const world: World = {
    kernel,
    host,
    journal,
    marks,
    refuse: () => undefined,
    profile: calmCluster,
    agent: () => {
      if (agent === undefined) throw new Error('the agent is not running');
      return agent;
    },
    start: async () => {
      const clock = kernel.clock('agent');
      agent = await startAgent({
        nodeName: NODE,
        cluster: counted(cluster.client({ clock })),
        stack: createMemoryStack({
          kernel: host,
          clock,
          delayMs: () => 1,
          refuse: (step) => world.refuse(step),
        }),
        journal: journal.open(clock),
        clock,
        random: kernel.random.fork('agent'),
        log: { debug: quiet, info: quiet, warn: quiet, error: quiet, mark: (name) => marks.add(name) },
        ...(options.addWaitMs !== undefined && { addWaitMs: options.addWaitMs }),
      });
    },
    crash: (tear = false) => {
      agent = undefined;
      kernel.kill('agent');
      journal.crash(tear);
    },
    publish: async (publication) => {
      const spec = specOf(publication);
      const before = cluster.admin.nodeNetwork(NODE);
      const outcome = await run(
        before === undefined
          ? controller.createNodeNetwork(NODE, node, spec)
          : controller.updateNodeNetworkSpec({ ...before, spec }),
      );
      if (outcome.kind !== 'ok') throw new Error(`not published: ${JSON.stringify(outcome)}`);
      await world.wait(1000);
      return outcome.value;
    },
    deleteObject: async () => {
      const record = cluster.admin.nodeNetwork(NODE);
      if (record !== undefined) await run(controller.deleteNodeNetwork(record));
      await world.wait(1000);
    },
    writeConditions: async (conditions) => {
      const record = cluster.admin.nodeNetwork(NODE);
      if (record === undefined) throw new Error('there is no NodeNetwork');
      const others = record.status.conditions.filter(({ type }) => type === 'AgentReady');
      const status = { ...record.status, conditions: [...others, ...conditions] };
      await run(controller.updateNodeNetworkStatus({ ...record, status }));
      await world.wait(1000);
    },
    status: () => cluster.admin.nodeNetwork(NODE)?.status,
    statusWriteCount: () => statusWriteCount,
    events: () =>
      cluster.admin.events().map(({ about, reason, message }) => `${about.name} ${reason}: ${message}`),
    applyPod: (name, annotations) =>
      cluster.admin.applyPod({ namespace: 'shop', name, nodeName: NODE, annotations }).uid,
    deletePod: (name) => cluster.admin.deletePod(podKey('shop', name)),
    imdsAllowed: () => nftElements(host, 'imds_allowed'),
    takeApiDown: (ms) => cluster.admin.takeDown(ms),
    wait: async (ms) => {
      await kernel.run({ untilMs: kernel.now() + ms, drain });
    },
    run,
    cni: (request) => run(world.agent().handleCni(request)),
    add: (containerId, pod = containerId, uid = `uid-${pod}`) => {
      const request = addRequest(host, containerId, pod);
      return world.cni({ ...request, pod: { ...request.pod, uid } });
    },
    del: (containerId, pod = containerId) =>
      world.cni({
        command: 'DEL',
        sandbox: { containerId, ifName: 'eth0' },
        pod: { namespace: 'shop', name: pod, uid: '' },
      }),
  };
  return world;
}

/** The request, and the namespace that the runtime makes before it asks. */
export function addRequest(host: MemoryKernel, containerId: string, pod: string): AddRequest {
  const netnsPath = `/run/netns/${containerId}`;
  if (!host.namespaces.has(netnsPath)) host.makeNamespace(netnsPath);
  return {
    command: 'ADD',
    sandbox: { containerId, ifName: 'eth0' },
    netnsPath,
    pod: { namespace: 'shop', name: pod, uid: `uid-${pod}` },
  };
}

/** Longer than the agent waits between two writes of the status. */
export const STATUS_GAP_MS = 4_000;

/** A node whose agent serves, with these addresses on its ENI 1. */
export async function servingWorld(addresses: readonly string[], options: WorldOptions = {}): Promise<World> {
  const world = await createWorld(options);
  await world.start();
  await world.publish({ enis: [{ addresses }] });
  await world.wait(STATUS_GAP_MS);
  return world;
}

/** The address of an ADD that succeeded. */
export function addressIn(reply: CniReply): string {
  if (reply.kind !== 'Result') throw new Error(`ADD failed: ${JSON.stringify(reply)}`);
  return reply.result.ips[0]?.address ?? '';
}

/** Code, message and details of a request that failed. */
export function errorIn(reply: CniReply): { readonly code: number; readonly text: string } {
  if (reply.kind !== 'Error') throw new Error(`no error: ${JSON.stringify(reply)}`);
  return { code: reply.error.code, text: `${reply.error.msg}: ${reply.error.details}` };
}
