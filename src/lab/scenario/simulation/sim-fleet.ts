// The nodes of a seeded run: launched, rebooted, stopped, terminated and replaced.

import type { InstanceId, NodeName } from '../../../domain/ids.ts';
import { assert } from '../../../domain/result.ts';
import { isOptedOut } from '../../checkers/opt-out-checker.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { Subscription } from '../../../ports/cluster.ts';
import { startTicks, type TickOptions } from '../../faults/ticks.ts';
import { chance, drawBetween } from '../../kernel/draw.ts';
import type { ChoiceModel } from './sim-choice.ts';
import { createSimNode, type NodeSurroundings, type SimNode } from './sim-node.ts';
import { INSTANCE_TYPE, type SimVpcPlan, type Zone, ZONES } from './sim-vpc.ts';

export interface FleetDeps extends NodeSurroundings {
  readonly vpc: SimVpcPlan;
  readonly choices: ChoiceModel;
  readonly tell: (text: string) => void;
}

export interface Fleet {
  /** Those that have not been terminated. */
  nodes(): readonly SimNode[];
  instanceOf(name: NodeName): InstanceId | undefined;
  /** Undefined: EC2 refuses, the nodes' subnet is full. */
  launch(zone: Zone): SimNode | undefined;
  reboot(node: SimNode): void;
  stop(node: SimNode): void;
  /** The Node object goes, and is registered anew by its kubelet. */
  register(node: SimNode): void;
  /** Its NodeNetwork goes. */
  forget(node: SimNode): void;
  /** The instance goes, later the Node object, and another instance joins. */
  replace(node: SimNode): void;
}

const DOWN_MS = { min: 3_000, max: 40_000 };
/** From an instance's end to the deletion of its Node by the cloud provider's controller. */
const NODE_GONE_MS = { min: 1_000, max: 60_000 };
const REGISTER_MS = { min: 100, max: 20_000 };
/** From a node's label to what the controller of the DaemonSet makes of it. */
const DAEMON_SET_MS = { min: 100, max: 10_000 };
const REPLACEMENT_MS = { min: 1_000, max: 60_000 };

export function createFleet(deps: FleetDeps): Fleet {
  const { kernel, ec2, cluster, vpc, choices, tell } = deps;
  const random = kernel.random.fork('fleet');
  const clock = kernel.clock('world');
  const nodes = new Map<NodeName, SimNode>();
  const instances = new Map<NodeName, InstanceId>();
  const zones = new Map<NodeName, Zone>();

  const launch = (zone: Zone): SimNode | undefined => {
    const subnetId = vpc.nodeSubnets.get(zone);
    assert(subnetId !== undefined, `zone ${zone} has a node subnet`);
    const request = { instanceType: INSTANCE_TYPE, subnetId, securityGroupIds: [vpc.nodesGroup] };
    const launched = ec2.admin.launchInstance(request);
    if (!launched.ok) return undefined;
    const name = `n${instances.size + 1}` as NodeName;
    const { instanceId } = launched.value;
    instances.set(name, instanceId);
    zones.set(name, zone);
    choices.addNode(name, zone, launched.value.primaryAddress);
    cluster.admin.applyNode({ name, instanceId, zone });
    const node = createSimNode({ ...deps, name, instanceId });
    nodes.set(name, node);
    node.powerOn();
    tell(`node ${name} (${instanceId}) joins in ${zone}`);
    return node;
  };
  const later = (range: { readonly min: number; readonly max: number }, label: string, run: () => void) =>
    clock.timer(drawBetween(random, range), label, run);
  keepDaemonSet(deps, nodes);
  return {
    nodes: () => [...nodes.values()],
    instanceOf: (name) => instances.get(name),
    launch,
    reboot: (node) => {
      if (!node.isOn()) return;
      tell(`node ${node.name} reboots`);
      node.powerOff();
      later(DOWN_MS, 'boot', () => {
        if (nodes.has(node.name)) node.powerOn();
      });
    },
    stop: (node) => {
      if (!node.isOn() || !ec2.admin.setInstancePower(node.instanceId, false).ok) return;
      tell(`instance ${node.instanceId} of ${node.name} is stopped`);
      node.powerOff();
      later(DOWN_MS, 'instance started', () => {
        if (!ec2.admin.setInstancePower(node.instanceId, true).ok) return;
        node.powerOn();
      });
    },
    register: ({ name }) => {
      if (!deleteNodeObject(deps, name)) return;
      later(REGISTER_MS, 'node registers', () => registerAnew(deps, nodes.get(name), zones.get(name)));
    },
    forget: ({ name }) => deleteNodeNetwork(deps, name),
    replace: (node) => {
      tell(`instance ${node.instanceId} of ${node.name} is terminated`);
      node.dispose();
      nodes.delete(node.name);
      ec2.admin.terminateInstance(node.instanceId);
      later(NODE_GONE_MS, 'node gone', () => cluster.admin.deleteNode(node.name));
      later(REPLACEMENT_MS, 'node launched', () =>
        relaunch({ launch, clock }, zones.get(node.name) ?? ZONES[0]),
      );
    },
  };
}

/** Agents run on the nodes that have not the label (deploy/chart): it is put on and taken off while they run. */
function keepDaemonSet({ kernel, cluster }: FleetDeps, nodes: ReadonlyMap<NodeName, SimNode>): void {
  const random = kernel.random.fork('daemon set');
  const look = (name: NodeName): void => {
    kernel.clock('world').timer(drawBetween(random, DAEMON_SET_MS), 'daemon set', () => {
      const node = nodes.get(name);
      if (node?.halt.isHalted() === true) look(name);
      else node?.wantAgent(!isOptedOut(cluster.admin.get('Node', name)));
    });
  };
  cluster.admin.onChange((change) => {
    if (change.kind !== 'Node') return;
    const isOut = change.type === 'Applied' && isOptedOut(change.object);
    if (isOut !== isOptedOut(change.before ?? change.object)) look(change.object.name);
  });
}

/** False: it was not there. */
function deleteNodeObject({ cluster, choices, tell }: FleetDeps, name: NodeName): boolean {
  if (!cluster.admin.deleteNode(name)) return false;
  tell(`Node ${name} is deleted`);
  choices.forgetWords(name);
  return true;
}

/** Unless it is there again, or its instance gone. */
function registerAnew({ cluster, tell }: FleetDeps, node: SimNode | undefined, zone: Zone | undefined): void {
  if (node === undefined || zone === undefined) return;
  const { name, instanceId } = node;
  if (cluster.admin.get('Node', name) !== undefined) return;
  cluster.admin.applyNode({ name, instanceId, zone });
  tell(`Node ${name} is registered anew`);
}

function deleteNodeNetwork({ cluster, tell }: FleetDeps, name: NodeName): void {
  const record = cluster.admin.nodeNetwork(name);
  if (record === undefined) return;
  tell(`NodeNetwork ${name} is deleted`);
  void cluster.client().deleteNodeNetwork(record);
}

const RELAUNCH_MS = 10_000;

function relaunch({ launch, clock }: { launch: Fleet['launch']; clock: Clock }, zone: Zone): void {
  if (launch(zone) === undefined)
    clock.timer(RELAUNCH_MS, 'node launched', () => relaunch({ launch, clock }, zone));
}

/** Each second until closed, by the profile's odds, something happens to a node: at any time between any two of its steps. */
export function startFleetFaults(fleet: Fleet, { kernel, dial, struck }: NodeSurroundings): Subscription {
  const random = kernel.random.fork('fleet faults');
  const onTick: TickOptions['onTick'] = (oddsAtTick) => {
    const { node: odds, person } = dial.profile();
    const nodes = fleet.nodes();
    // What people do is counted for the whole world, not per node.
    const rates: readonly (readonly [fault: string, perHour: number, run: (node: SimNode) => unknown])[] = [
      ['', odds.agentCrashesPerHour, inGuest((node) => node.agent.crash())],
      ['node.agentClockJumpsPerHour', odds.agentClockJumpsPerHour, inGuest((node) => node.agent.setClock())],
      ['node.agentHangsPerHour', odds.agentHangsPerHour, (node) => node.agent.hang()],
      ['node.rebootsPerHour', odds.rebootsPerHour, fleet.reboot],
      ['', odds.haltsPerHour, (node) => node.isOn() && node.halt.begin()],
      ['node.collectionsPerHour', odds.collectionsPerHour, inGuest((node) => node.collect())],
      ['person.stopsPerHour', person.stopsPerHour / nodes.length, fleet.stop],
      ['person.nodeDeletionsPerHour', person.nodeDeletionsPerHour / nodes.length, fleet.register],
      ['person.nodeNetworkDeletionsPerHour', person.nodeNetworkDeletionsPerHour / nodes.length, fleet.forget],
      ['person.terminationsPerHour', person.terminationsPerHour / nodes.length, fleet.replace],
    ];
    for (const node of nodes) {
      for (const [fault, perHour, run] of rates) {
        if (!chance(random, oddsAtTick(perHour))) continue;
        if (fault !== '') struck(fault);
        run(node);
      }
    }
  };
  const ticks = startTicks({ clock: kernel.clock('world'), random, label: 'fleet tick', onTick });
  return {
    close: () => {
      ticks.close();
      for (const { agent, halt } of fleet.nodes()) {
        agent.goOn();
        halt.end();
      }
    },
  };
}

/** Nothing happens in a machine that is halted. */
const inGuest =
  (run: (node: SimNode) => void) =>
  (node: SimNode): void => {
    if (!node.halt.isHalted()) run(node);
  };

export const zoneOfIndex = (index: number): Zone => ZONES[index % ZONES.length] ?? ZONES[0];
