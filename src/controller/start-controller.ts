// The controller: watches the cluster, reads EC2, and reconciles one node at a time.

import type { NodeName } from '../domain/ids.ts';
import type { Clock } from '../ports/clock.ts';
import type { ControllerCluster, Kind, KindMap, Subscription } from '../ports/cluster.ts';
import type { Ec2 } from '../ports/ec2.ts';
import type { Log } from '../ports/log.ts';
import type { Random } from '../ports/random.ts';
import { createBudget } from './budget.ts';
import { createClusterView, recordEvent } from './cluster-view.ts';
import type { ControllerSettings } from './controller-settings.ts';
import { createEc2View } from './ec2-view.ts';
import { createNodeMemory, type NodeMemory } from './node-memory.ts';
import { startEc2ReadLoop } from './read-ec2.ts';
import { reportEniConfig } from './report-eni-config.ts';
import { reconcileNode } from './reconcile-node.ts';
import { createWorkQueue } from './work-queue.ts';

export interface ControllerDeps {
  readonly cluster: ControllerCluster;
  readonly ec2: Ec2;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly settings: ControllerSettings;
}

export interface Controller {
  /** Ends watches and loops; resolves when no call is under way any more. */
  stop(): Promise<void>;
}

/** Nodes worked on at once; each has at most one EC2 mutation in flight (API-2). */
const WORKER_COUNT = 32;
/** After a round that ended in a programming mistake. */
const CRASH_RETRY_MS = 5_000;
const ENI_CONFIG_KEY = 'ENIConfig/';

/** Starts the controller. It runs until stopped; every failure is logged, reported and tried again. */
export function startController(deps: ControllerDeps): Controller {
  const { cluster, ec2, clock, random, log, settings } = deps;
  const clusterView = createClusterView();
  const ec2View = createEc2View(clock.now());
  const budget = createBudget(clock);
  const memories = new Map<string, NodeMemory>(); // node name -> memory
  const instancesToNodes = (): Map<string, string> =>
    new Map([...clusterView.nodes.values()].map((node) => [node.instanceId ?? '', node.name]));

  const reads = startEc2ReadLoop({
    ec2,
    clusterName: settings.clusterName,
    cluster: clusterView,
    view: ec2View,
    budget,
    clock,
    log,
    onRead: (instances) => {
      if (instances === undefined) {
        addAll();
        return;
      }
      const names = instancesToNodes();
      for (const id of instances) {
        const name = names.get(id);
        if (name !== undefined) queue.add(name);
      }
    },
  });

  const reconcileDeps = { cluster, ec2, clusterView, ec2View, reads, budget, clock, random, log, settings };
  const queue = createWorkQueue({
    clock,
    workerCount: WORKER_COUNT,
    run: async (key) => {
      try {
        const nextLook = await runKey(key);
        if (nextLook !== undefined) queue.addAfter(key, nextLook);
      } catch (error) {
        // Only a mistake of ours gets here. The other nodes go on; this one is tried again.
        log.error('reconcile crashed', {
          key,
          error: error instanceof Error ? (error.stack ?? error.message) : String(error),
        });
        queue.addAfter(key, CRASH_RETRY_MS);
      }
    },
  });
  const runKey = (key: string): Promise<number | undefined> => {
    if (key.startsWith(ENI_CONFIG_KEY)) {
      return reportEniConfig({ cluster, clusterView, ec2View, log }, key.slice(ENI_CONFIG_KEY.length));
    }
    const memory = memories.get(key) ?? createNodeMemory();
    memories.set(key, memory);
    return reconcileNode(reconcileDeps, key as NodeName, memory);
  };
  function addAll(): void {
    for (const name of clusterView.nodes.keys()) queue.add(name);
    for (const name of clusterView.eniConfigs.keys()) queue.add(ENI_CONFIG_KEY + name);
  }

  const follow = <K extends Kind>(kind: K, onObject: (object: KindMap[K]) => void): Subscription =>
    cluster.watch({
      kind,
      onEvent: (event) => {
        const wasSynced = clusterView.synced.has(kind);
        for (const object of recordEvent(clusterView, kind, event)) onObject(object);
        if (!wasSynced) addAll();
      },
    });
  const watches = [
    follow('Node', (node) => {
      if (!clusterView.nodes.has(node.name)) memories.delete(node.name);
      if (node.instanceId !== undefined && !ec2View.readInstances.has(node.instanceId)) reads.readMissing();
      queue.add(node.name);
    }),
    follow('Pod', (pod) => {
      if (pod.nodeName !== undefined) queue.add(pod.nodeName);
    }),
    follow('EniConfig', () => {
      reads.readMissing();
      addAll();
    }),
    follow('NodeNetwork', (record) => queue.add(record.name)),
  ];

  return {
    stop: async () => {
      for (const watch of watches) watch.close();
      await Promise.all([reads.stop(), queue.stop()]);
    },
  };
}
