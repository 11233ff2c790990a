// Composes a run: EC2 and cluster, the controller, and for each node its agent and kubelet.

import { startAgent } from '../../agent/start-agent.ts';
import { type ControllerSettings, parseControllerSettings } from '../../controller/controller-settings.ts';
import { type Controller, startController } from '../../controller/start-controller.ts';
import type { NodeName } from '../../domain/ids.ts';
import { assert } from '../../domain/result.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Journal } from '../../ports/journal.ts';
import type { Log } from '../../ports/log.ts';
import type { Random } from '../../ports/random.ts';
import { createSimCluster, type SimCluster } from '../cluster/sim-cluster.ts';
import { demoEc2 } from '../ec2/ec2-profile.ts';
import { type LabEc2, labEc2Of } from '../ec2/lab-ec2.ts';
import { createSimEc2 } from '../ec2/sim-ec2.ts';
import { buildVpc } from './build-vpc.ts';
import { startKubelet } from './kubelet.ts';
import type { Lab, LabNode } from './lab.ts';
import type { LabNetwork, Seat } from './lab-network.ts';
import { launchInstanceOf } from './launch-instance.ts';
import { logWith } from './log-with.ts';
import { applyEniConfig, applyNodeNetworkClass } from './perform.ts';
import type { Scenario } from './scenario.ts';
import type { ScenarioNode } from './world-schema.ts';

export interface LabDeps {
  readonly clock: Clock;
  readonly random: Random;
  /** Of controller and agents. */
  readonly log: Log;
  /** Of the lab itself: what it writes as an error is a fault of the lab, not of the product. */
  readonly labLog: Log;
  /** The durable memory of a node's agent: the same one for every life of it. */
  readonly journalOf: (node: NodeName) => Journal;
  readonly networkOn: (world: World) => Promise<LabNetwork>;
  /** An empty one. In this process when absent. The lab closes it. */
  readonly ec2?: LabEc2;
}

/** What a network is laid over. */
export interface World {
  readonly scenario: Scenario;
  readonly ec2: LabEc2;
  readonly cluster: SimCluster;
}

/** Shorter than in life, as the kubelet's back-off is: what waits shows sooner why, and the lab ends sooner. */
const ADD_WAIT_MS = 3_000;
const ZONE_LABEL = 'topology.kubernetes.io/zone';

/** Starts everything and launches the scenario's nodes. What was started is stopped again when a later part fails. */
export async function startLab(scenario: Scenario, deps: LabDeps): Promise<Lab> {
  const { clock, random } = deps;
  const ec2 = deps.ec2 ?? labEc2Of(createSimEc2({ clock, random, profile: () => demoEc2 }));
  const cluster = createSimCluster({ clock, random });
  await buildVpc(scenario, ec2.hand);
  for (const manifest of scenario.eniConfigs) applyEniConfig({ cluster }, manifest);
  for (const manifest of scenario.nodeNetworkClasses) applyNodeNetworkClass({ cluster }, manifest);
  const network = await deps.networkOn({ scenario, ec2, cluster });
  const nodes = new Map<string, LabNode>();
  let controller: Controller | undefined;

  const lab: Lab = {
    scenario,
    clock,
    ec2,
    cluster,
    nodes,
    ...(network.packets === undefined ? {} : { packets: network.packets }),
    places: network.places,
    launchNode: async (name) => {
      const wanted = scenario.nodes.find((node) => node.name === name);
      assert(wanted !== undefined, `the scenario's references are checked: node ${name}`);
      const node = await launchNode({ scenario, ec2, cluster }, deps, { network, wanted });
      nodes.set(name, node);
      return node;
    },
    restartController: async (changes) => {
      await controller?.stop();
      controller = startController({
        cluster: cluster.client(),
        ec2: ec2.client('controller'),
        clock,
        random,
        log: logWith(deps.log, { component: 'controller' }),
        settings: settingsOf(scenario, changes),
      });
    },
    close: async () => {
      await Promise.all([...nodes.values()].map((node) => node.stop()));
      await controller?.stop();
      await network.packets?.close();
      await network.close();
      await ec2.close();
    },
  };
  try {
    await lab.restartController({});
    for (const { name, launch } of scenario.nodes) if (launch === 'AtStart') await lab.launchNode(name);
    return lab;
  } catch (error) {
    await lab.close();
    throw error;
  }
}

function settingsOf(scenario: Scenario, changes: Readonly<Record<string, string>>): ControllerSettings {
  const settings = parseControllerSettings({ ...scenario.settings, ...changes });
  assert(settings.ok, `the scenario's settings are checked: ${settings.ok ? '' : settings.error.join('; ')}`);
  return settings.value;
}

interface Launch {
  readonly network: LabNetwork;
  readonly wanted: ScenarioNode;
}

async function launchNode(world: World, deps: LabDeps, { network, wanted }: Launch): Promise<LabNode> {
  const { scenario, ec2, cluster } = world;
  const { name } = wanted;
  const { instanceId, zone } = await launchInstanceOf(scenario, wanted, ec2.hand);
  const seat = await network.joinNode({ name, instanceId });
  cluster.admin.applyNode({
    name,
    instanceId,
    zone,
    labels: { ...wanted.labels, [ZONE_LABEL]: zone },
    annotations: wanted.annotations,
  });
  return startNode({ world, deps, seat, name, instanceId });
}

interface NodeParts {
  readonly world: World;
  readonly deps: LabDeps;
  readonly seat: Seat;
  readonly name: NodeName;
  readonly instanceId: LabNode['instanceId'];
}

async function startNode({ world, deps, seat, name, instanceId }: NodeParts): Promise<LabNode> {
  const { cluster } = world;
  const { clock, random, log, labLog } = deps;
  const journal = deps.journalOf(name);
  const startLife = async (): Promise<{ stop(): Promise<void> }> => {
    const stack = seat.openStack();
    const agent = await startAgent({
      nodeName: name,
      cluster: cluster.client(),
      stack,
      journal,
      clock,
      random,
      log: logWith(log, { component: 'agent', node: name }),
      addWaitMs: ADD_WAIT_MS,
    });
    const served = await seat.serve((request) => agent.handleCni(request));
    return {
      stop: async () => {
        await served.close();
        await agent.stop();
        await stack.close();
      },
    };
  };
  let life = await startLife();
  const kubelet = startKubelet({
    node: name,
    cluster: cluster.client(),
    isReady: () =>
      cluster.admin
        .nodeNetwork(name)
        ?.status.conditions.some(({ type, status }) => type === 'AgentReady' && status === 'True') ?? false,
    runtime: seat.runtime,
    onGone: (pod) => {
      cluster.admin.deletePod(pod);
    },
    clock,
    random,
    log: logWith(labLog, { node: name }),
  });
  return {
    name,
    instanceId,
    ...(seat.netnsPath === undefined ? {} : { netnsPath: seat.netnsPath }),
    kubelet,
    restartAgent: async () => {
      await life.stop();
      life = await startLife();
    },
    stop: async () => {
      await kubelet.stop();
      await life.stop();
    },
  };
}
