// The controller: watches the cluster, reads EC2, and reconciles one node at a time.

import { POD_ENI_CONFIG } from '../domain/eniconfig/pod-choice.ts';
import type { InstanceId, NodeName } from '../domain/ids.ts';
import { isOwned } from '../domain/ipam/tags.ts';
import type { Clock } from '../ports/clock.ts';
import type { ControllerCluster, Kind, KindMap, Subscription } from '../ports/cluster.ts';
import type { Ec2 } from '../ports/ec2.ts';
import type { Log } from '../ports/log.ts';
import type { Random } from '../ports/random.ts';
import { type Budget, createBudget } from './budget.ts';
import { type ClusterView, createClusterView, recordEvent } from './cluster-view.ts';
import type { ControllerFacts } from './controller-metrics.ts';
import type { ControllerSettings } from './controller-settings.ts';
import {
  collectGarbage,
  createGarbageMemory,
  GARBAGE_KEY,
  type GarbageDeps,
  type GarbageMemory,
} from './collect-garbage.ts';
import { createEc2View, type Ec2View } from './ec2-view.ts';
import { createNodeMemory, type NodeMemory } from './node-memory.ts';
import { type Ec2ReadLoop, startEc2ReadLoop } from './read-ec2.ts';
import { reportEniConfig } from './report-eni-config.ts';
import { reconcileClass } from './reconcile-class.ts';
import { ownersOf } from './own-eni-configs.ts';
import { reconcileNode } from './reconcile-node.ts';
import type { NodeChoices } from './select-for-node.ts';
import { createWorkQueue, type WorkQueue } from './work-queue.ts';

export interface ControllerDeps {
  readonly cluster: ControllerCluster;
  readonly ec2: Ec2;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly settings: ControllerSettings;
}

export interface Controller {
  /** For measurements. */
  facts(): ControllerFacts;
  /** Ends watches and loops; resolves when no call is under way any more. */
  stop(): Promise<void>;
}

/** Nodes worked on at once; each has at most one EC2 mutation in flight (API-2). */
const WORKER_COUNT = 32;
/** After a round that ended in a programming mistake. */
const CRASH_RETRY_MS = 5_000;
const ENI_CONFIG_KEY = 'ENIConfig/';
const CLASS_KEY = 'NodeNetworkClass/';

interface Parts extends ControllerDeps {
  readonly clusterView: ClusterView;
  readonly ec2View: Ec2View;
  readonly budget: Budget;
  /** node name -> memory */
  readonly memories: Map<string, NodeMemory>;
  readonly garbage: GarbageMemory;
  readonly choices: NodeChoices;
}

/** Starts the controller. It runs until stopped; every failure is logged, reported and tried again. */
export function startController(deps: ControllerDeps): Controller {
  const { clock, settings } = deps;
  const parts: Parts = {
    ...deps,
    clusterView: createClusterView(),
    ec2View: createEc2View(clock.now()),
    budget: createBudget({ clock, onTurn: (key) => queue.add(key) }),
    memories: new Map(),
    garbage: createGarbageMemory(clock.now()),
    choices: new Map(),
  };
  const reads = startEc2ReadLoop({
    ...parts,
    cluster: parts.clusterView,
    view: parts.ec2View,
    clusterName: settings.clusterName,
    onRead: (instances) => {
      for (const key of keysOf(parts, instances)) queue.add(key);
    },
  });
  const queue: WorkQueue = createWorkQueue({
    clock,
    workerCount: WORKER_COUNT,
    run: async (key) => {
      const nextLook = await runKey(parts, reads, key);
      if (nextLook !== undefined) queue.addAfter(key, nextLook);
    },
  });
  const watches = startWatches(parts, { reads, queue });
  queue.add(GARBAGE_KEY);
  return {
    facts: () => factsOf(parts),
    stop: async () => {
      for (const watch of watches) watch.close();
      await Promise.all([reads.stop(), queue.stop()]);
    },
  };
}

/** Keys to look at after a read of some instances, or of everything. */
function keysOf({ clusterView }: Parts, instances: ReadonlySet<InstanceId> | undefined): readonly string[] {
  const nodes = [...clusterView.nodes.values()];
  if (instances === undefined) {
    return [
      ...nodes.map((node) => node.name),
      ...[...clusterView.eniConfigs.keys()].map((name) => ENI_CONFIG_KEY + name),
      ...new Set([...clusterView.classes.keys(), ...ownersOf(clusterView)].map((name) => CLASS_KEY + name)),
    ];
  }
  return nodes
    .filter(({ instanceId }) => instanceId !== undefined && instances.has(instanceId))
    .map((node) => node.name);
}

async function runKey(parts: Parts, reads: Ec2ReadLoop, key: string): Promise<number | undefined> {
  try {
    if (key === GARBAGE_KEY) return await collectGarbage(garbageDeps(parts), parts.garbage);
    if (key.startsWith(ENI_CONFIG_KEY)) return await reportEniConfig(parts, key.slice(ENI_CONFIG_KEY.length));
    if (key.startsWith(CLASS_KEY)) return await reconcileClass(parts, key.slice(CLASS_KEY.length));
    const memory = parts.memories.get(key) ?? createNodeMemory();
    parts.memories.set(key, memory);
    return await reconcileNode({ ...parts, reads }, key as NodeName, memory);
  } catch (error) {
    // Only a mistake of ours gets here. The other nodes go on; this one is tried again.
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    parts.log.error('reconcile crashed', { key, error: text });
    return CRASH_RETRY_MS;
  }
}

function factsOf({ budget, clusterView, ec2View, garbage, settings }: Parts): ControllerFacts {
  const instances = new Set([...clusterView.nodes.values()].map((node) => node.instanceId));
  const foreign = [...ec2View.enis.values()].filter(
    ({ eni }) =>
      instances.has(eni.attachment?.instanceId) &&
      eni.attachment !== undefined &&
      eni.attachment.deviceIndex !== 0 &&
      !isOwned(eni.tags, settings.clusterName),
  );
  return {
    budget: budget.facts(),
    nodeCount: clusterView.nodes.size,
    foreignEniCount: foreign.length,
    leakSuspectCount: garbage.leaks.suspects.size,
    collectedEniCount: garbage.collectedCount,
  };
}

const garbageDeps = (parts: Parts): GarbageDeps => ({
  ...parts,
  api: parts.cluster,
  cluster: parts.clusterView,
  view: parts.ec2View,
  clusterName: parts.settings.clusterName,
});

/** Events only write the view and name the keys to look at. */
function startWatches(
  parts: Parts,
  { reads, queue }: { readonly reads: Ec2ReadLoop; readonly queue: WorkQueue },
): readonly Subscription[] {
  const { cluster, clusterView, ec2View, memories, choices, budget } = parts;
  const addAll = (): void => {
    for (const key of keysOf(parts, undefined)) queue.add(key);
  };
  const follow = <K extends Kind>(kind: K, onObject: (object: KindMap[K]) => void): Subscription =>
    cluster.watch({
      kind,
      onEvent: (event) => {
        const wasSynced = clusterView.synced.has(kind);
        for (const object of recordEvent(clusterView, kind, event)) onObject(object);
        if (!wasSynced) addAll();
      },
    });
  return [
    follow('Node', (node) => {
      if (!clusterView.nodes.has(node.name)) {
        memories.delete(node.name);
        budget.forget(node.name);
        choices.delete(node.name);
      }
      if (node.instanceId !== undefined && !ec2View.readInstances.has(node.instanceId)) reads.readMissing();
      queue.add(node.name);
    }),
    follow('Pod', (pod) => {
      if (pod.nodeName !== undefined) queue.add(pod.nodeName);
      // The first pod that asks for an ENIConfig can be scheduled only once nodes say what they have of it.
      else if (clusterView.wishedNames.get(pod.annotations[POD_ENI_CONFIG] ?? '') === 1) addAll();
    }),
    follow('EniConfig', () => {
      reads.readMissing();
      addAll();
    }),
    follow('NodeNetworkClass', ({ name }) => {
      reads.readMissing();
      queue.add(CLASS_KEY + name);
      addAll();
    }),
    follow('Namespace', addAll),
    follow('NodeNetwork', (record) => queue.add(record.name)),
  ];
}
