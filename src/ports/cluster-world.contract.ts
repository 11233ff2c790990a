// The world that every ControllerCluster's contract is checked in, and how its answers are looked at.

import assert from 'node:assert/strict';
import type {
  EniId,
  InstanceId,
  IntentId,
  NodeName,
  SecurityGroupId,
  SubnetId,
  VpcId,
} from '../domain/ids.ts';
import type { Ip } from '../domain/address/ip.ts';
import type { Condition, NodeNetworkSpec } from '../domain/ipam/node-network.ts';
import type { Clock } from './clock.ts';
import type {
  ClusterFailure,
  ClusterOutcome,
  ControllerCluster,
  EniConfigRecord,
  Kind,
  KindMap,
  NodeNetworkClassRecord,
  NodeNetworkRecord,
  NodeRecord,
  NodeTaint,
  StatusWriter,
  WatchEvent,
  WatchScope,
} from './cluster.ts';

export interface ClusterContractWorld {
  readonly cluster: ControllerCluster;
  /** As an agent writes its part of a status. */
  readonly agent: StatusWriter;
  readonly clock: Clock;
  /** Runs work to its end; a simulated world moves its time meanwhile. */
  run<T>(work: () => Promise<T>): Promise<T>;
  /** By other hands than the port's. The Node is without labels, or with the one label given. */
  applyNode(name: NodeName, label?: { readonly key: string; readonly value: string }): Promise<NodeRecord>;
  deleteNode(name: NodeName): Promise<void>;
  applyPod(pod: {
    readonly namespace: string;
    readonly name: string;
    readonly nodeName?: NodeName;
  }): Promise<void>;
  deletePod(pod: { readonly namespace: string; readonly name: string }): Promise<void>;
  applyEniConfig(name: string, subnetId: SubnetId): Promise<EniConfigRecord>;
  /** Sets the node's taints. */
  taintNode(name: NodeName, taints: readonly NodeTaint[]): Promise<void>;
  /** One that matches every node and lists the ENIConfigs given. */
  applyNodeNetworkClass(name: string, eniConfigs: readonly string[]): Promise<NodeNetworkClassRecord>;
  applyNamespace(name: string, annotation: { readonly key: string; readonly value: string }): Promise<void>;
}

export const NODE = 'node-1' as NodeName;
export const SUBNET = 'subnet-0123456789abcdef0' as SubnetId;
const POLL_MS = 100;
const POLL_MAX = 300;

export function value<T>(outcome: ClusterOutcome<T>): T {
  if (outcome.kind !== 'ok') assert.fail(`expected an answer, got ${JSON.stringify(outcome)}`);
  return outcome.value;
}

export function failsWith(outcome: ClusterOutcome<unknown>, kind: ClusterFailure['kind']): void {
  assert.ok(outcome.kind === 'failed', JSON.stringify(outcome));
  assert.equal(outcome.failure.kind, kind);
  assert.notEqual(outcome.failure.message, '');
}

export async function eventually(
  world: ClusterContractWorld,
  what: string,
  holds: () => boolean | Promise<boolean>,
): Promise<void> {
  for (let poll = 0; poll < POLL_MAX; poll++) {
    if (await holds()) return;
    await world.clock.sleep(POLL_MS, 'poll');
  }
  assert.fail(`never: ${what}`);
}

/** Time enough for an event that must not come to come. */
export const waitForNothing = (world: ClusterContractWorld): Promise<void> =>
  world.clock.sleep(2000, 'nothing');

export const group = 'sg-0123456789abcdef0' as SecurityGroupId;

export const spec = (cooldownMs: number): NodeNetworkSpec => ({
  mode: 'SecondaryIP',
  addressFamilies: ['IPv4'],
  instance: {
    instanceId: 'i-0123456789abcdef0' as InstanceId,
    instanceType: 'm5.large',
    zone: 'a',
    vpcId: 'vpc-0123456789abcdef0' as VpcId,
    primaryEniId: 'eni-0123456789abcdef0' as EniId,
    primaryAddress: '10.0.0.4' as Ip,
    primarySubnetId: SUBNET,
    primarySecurityGroupIds: [group],
  },
  selection: {
    kind: 'EniConfig',
    name: 'a',
    subnetId: SUBNET,
    securityGroupIds: [group],
    source: 'Zone',
    reason: 'the ENIConfig of the zone',
  },
  intents: [
    {
      id: 'intent-1' as IntentId,
      kind: 'CreateEni',
      subnetId: SUBNET,
      securityGroupIds: [group],
      addressCount: 3,
      prefixCount: 0,
      ipv6PrefixCount: 0,
      eniConfig: 'a',
      notedAt: 1,
    },
  ],
  enis: [],
  settings: { externalSnat: false, directCidrs: [], mtu: 9001, vethPrefix: 'eni', randomizeSnat: 'prng' },
  cooldownMs,
});

/** A condition of the controller's. */
export const selected = (status: Condition['status']): Condition => ({
  type: 'EniConfigSelected',
  status,
  reason: 'Selected',
  message: 'the ENIConfig of the zone',
  lastTransitionAt: 1_000,
});

/** The agent's own. */
export const agentReady: Condition = {
  type: 'AgentReady',
  status: 'True',
  reason: 'Serving',
  message: 'pods get addresses',
  lastTransitionAt: 2_000,
};

export async function createNodeNetwork(
  world: ClusterContractWorld,
  name = NODE,
): Promise<NodeNetworkRecord> {
  const node = await world.applyNode(name);
  return value(await world.cluster.createNodeNetwork(name, node, spec(1)));
}

interface Seen<K extends Kind> {
  readonly events: WatchEvent<KindMap[K]>[];
  readonly close: () => void;
}

/** Starts a watch and waits for its first snapshot. */
export async function watching<K extends Kind>(
  world: ClusterContractWorld,
  kind: K,
  scope?: WatchScope,
): Promise<Seen<K>> {
  const events: WatchEvent<KindMap[K]>[] = [];
  const subscription = world.cluster.watch({
    kind,
    ...(scope === undefined ? {} : { scope }),
    onEvent: (event) => events.push(event),
  });
  await eventually(world, `${kind} are listed`, () => events.length > 0);
  assert.equal(events[0]?.type, 'Snapshot');
  return { events, close: () => subscription.close() };
}

/** Events as short texts: a type, and of what. */
export const told = (events: readonly WatchEvent<KindMap[Kind]>[]): string[] =>
  events.map((event) =>
    event.type === 'Snapshot'
      ? `Snapshot ${event.objects.map(({ name }) => name).join(' ')}`.trimEnd()
      : `${event.type} ${event.object.name}`,
  );

/** Registers one rule as a test in a world of its own. */
export type Rule = (title: string, body: (world: ClusterContractWorld) => Promise<void>) => void;
