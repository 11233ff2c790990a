// The controller: watches the cluster, reads EC2, and reconciles one node at a time.

import { POD_ENI_CONFIG } from '../domain/eniconfig/pod-choice.ts';
import type { InstanceId, NodeName } from '../domain/ids.ts';
import { isOwned } from '../domain/ipam/tags.ts';
import { sameData } from '../domain/same-data.ts';
import type { Clock } from '../ports/clock.ts';
import type {
  ControllerCluster,
  EniConfigRecord,
  Kind,
  KindMap,
  NodeNetworkClassRecord,
  Subscription,
} from '../ports/cluster.ts';
import type { Ec2 } from '../ports/ec2.ts';
import type { Log } from '../ports/log.ts';
import type { Random } from '../ports/random.ts';
import { type Budget, createBudget } from './budget.ts';
import { type ClusterView, createClusterView, known, recordEvent } from './cluster-view.ts';
import type { ControllerFacts } from './controller-metrics.ts';
import type { ControllerSettings } from './controller-settings.ts';
import {
  collectGarbage,
  createGarbageMemory,
  GARBAGE_KEY,
  type GarbageDeps,
  type GarbageMemory,
} from './collect-garbage.ts';
import { createEniConfigUses, type EniConfigUses } from './eni-config-uses.ts';
import { createEc2View, type Ec2View, forgetInstance } from './ec2-view.ts';
import { createNodeMemory, type NodeMemory } from './node-memory.ts';
import { type Ec2ReadLoop, startEc2ReadLoop } from './read-ec2.ts';
import { reportEniConfig } from './report-eni-config.ts';
import { reconcileClass } from './reconcile-class.ts';
import { ownersOf } from './own-eni-configs.ts';
import { reconcileNode } from './reconcile-node.ts';
import { steadyClock } from './steady-clock.ts';
import { createWorkQueue, type WorkQueue } from './work-queue.ts';

export interface ControllerDeps {
  readonly cluster: ControllerCluster;
  readonly ec2: Ec2;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly settings: ControllerSettings;
  readonly rounds?: RoundObserver;
}

/** For measurements: told of each key that has news, and of each round. */
export interface RoundObserver {
  queued(key: string): void;
  began(key: string): void;
  /** What is to be done for the node is known; not called when it cannot be decided yet. */
  decided(key: string): void;
  ended(key: string): void;
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
  /** Goes on evenly: durations are measured by it. */
  readonly clock: Clock;
  /** The machine's clock, for dates that people read. */
  readonly wallNow: () => number;
  readonly clusterView: ClusterView;
  readonly ec2View: Ec2View;
  readonly budget: Budget;
  /** node name -> memory */
  readonly memories: Map<string, NodeMemory>;
  readonly garbage: GarbageMemory;
  readonly uses: EniConfigUses;
}

/** Starts the controller. It runs until stopped; every failure is logged, reported and tried again. */
export function startController(deps: ControllerDeps): Controller {
  const { settings } = deps;
  const clock = steadyClock(deps.clock);
  const clusterView = createClusterView();
  const parts: Parts = {
    ...deps,
    clock,
    wallNow: () => deps.clock.now(),
    clusterView,
    ec2View: createEc2View(clock.now()),
    budget: createBudget({ clock, onTurn: (key) => onNews(key) }),
    memories: new Map(),
    garbage: createGarbageMemory(clock.now()),
    uses: createEniConfigUses(clusterView),
  };
  const reads = startEc2ReadLoop({
    ...parts,
    cluster: parts.clusterView,
    view: parts.ec2View,
    clusterName: settings.clusterName,
    onRead: ({ instances, ofEniConfigs, ofAll }) => {
      for (const key of nodesOf(parts, instances)) onNews(key);
      if (ofAll) lookAt(allKeys(parts));
      else if (ofEniConfigs) lookAt(sharedKeys(parts));
    },
  });
  const onNews = (key: string): void => {
    deps.rounds?.queued(key);
    queue.add(key);
  };
  const lookAt = (keys: readonly string[]): void => {
    for (const key of keys) deps.rounds?.queued(key);
    queue.lookAt(keys);
  };
  const queue: WorkQueue = createWorkQueue({
    clock,
    workerCount: WORKER_COUNT,
    run: async (key) => {
      deps.rounds?.began(key);
      const nextLook = await runKey(parts, reads, key);
      deps.rounds?.ended(key);
      if (nextLook !== undefined) queue.addAfter(key, nextLook);
    },
  });
  const watches = startWatches(parts, { reads, onNews, lookAtAll: () => lookAt(allKeys(parts)) });
  queue.add(GARBAGE_KEY);
  return {
    facts: () => factsOf(parts),
    stop: async () => {
      for (const watch of watches) watch.close();
      await Promise.all([reads.stop(), queue.stop()]);
    },
  };
}

/** Everything that there is to decide. */
const allKeys = (parts: Parts): readonly string[] => [
  ...parts.clusterView.nodes.keys(),
  ...sharedKeys(parts),
];

const sharedKeys = ({ clusterView }: Parts): readonly string[] => [
  ...[...clusterView.eniConfigs.keys()].map((name) => ENI_CONFIG_KEY + name),
  ...new Set([...clusterView.classes.keys(), ...ownersOf(clusterView)].map((name) => CLASS_KEY + name)),
];

const nodesOf = ({ clusterView }: Parts, instances: ReadonlySet<InstanceId>): readonly string[] =>
  [...instances].flatMap((id) => [...(clusterView.nodesOfInstance.get(id) ?? [])]);

async function runKey(parts: Parts, reads: Ec2ReadLoop, key: string): Promise<number | undefined> {
  try {
    if (key === GARBAGE_KEY) return await collectGarbage(garbageDeps(parts), parts.garbage);
    if (key.startsWith(ENI_CONFIG_KEY)) return await reportEniConfig(parts, key.slice(ENI_CONFIG_KEY.length));
    if (key.startsWith(CLASS_KEY)) return await reconcileClass(parts, key.slice(CLASS_KEY.length));
    const memory = parts.memories.get(key) ?? createNodeMemory();
    parts.memories.set(key, memory);
    const onDecided = (): void => parts.rounds?.decided(key);
    return await reconcileNode({ ...parts, reads, onDecided }, key as NodeName, memory);
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

/** Statuses are our own, and are written whenever a count moves: no node is decided by them. */
const isStatusOnly = <T extends EniConfigRecord | NodeNetworkClassRecord>(now: T, before?: T): boolean =>
  before !== undefined && sameData({ ...before, ...versionOf(now) }, now);

const versionOf = ({ resourceVersion, status }: EniConfigRecord | NodeNetworkClassRecord): object => ({
  resourceVersion,
  status,
});

interface WatchEvents {
  readonly reads: Ec2ReadLoop;
  readonly onNews: (key: string) => void;
  readonly lookAtAll: () => void;
}

/** Events only write the view and name the keys to look at. */
function startWatches(parts: Parts, { reads, onNews, lookAtAll }: WatchEvents): readonly Subscription[] {
  const { cluster, clusterView, ec2View, memories, uses, budget } = parts;
  const follow = <K extends Kind>(
    kind: K,
    onObject: (object: KindMap[K], before: KindMap[K] | undefined) => void,
  ): Subscription =>
    cluster.watch({
      kind,
      onEvent: (event) => {
        const wasSynced = clusterView.synced.has(kind);
        const before = event.type === 'Applied' ? known(clusterView, kind, event.object) : undefined;
        for (const object of recordEvent(clusterView, kind, event)) onObject(object, before);
        if (!wasSynced) lookAtAll();
      },
    });
  return [
    follow('Node', (node) => {
      if (!clusterView.nodes.has(node.name)) {
        memories.delete(node.name);
        budget.forget(node.name);
        uses.forget(node.name);
        const { instanceId } = node;
        if (instanceId !== undefined && !clusterView.nodesOfInstance.has(instanceId))
          forgetInstance(ec2View, instanceId);
      } else if (node.instanceId !== undefined && !ec2View.readInstances.has(node.instanceId))
        reads.readMissing();
      onNews(node.name);
    }),
    follow('Pod', (pod) => {
      if (pod.nodeName !== undefined) onNews(pod.nodeName);
      // The first pod that asks for an ENIConfig can be scheduled only once nodes say what they have of it.
      else if (clusterView.wishedNames.get(pod.annotations[POD_ENI_CONFIG] ?? '') === 1) lookAtAll();
    }),
    follow('EniConfig', (eniConfig, before) => {
      onNews(ENI_CONFIG_KEY + eniConfig.name);
      if (isStatusOnly(eniConfig, before)) return;
      reads.readMissing();
      lookAtAll();
    }),
    follow('NodeNetworkClass', (one, before) => {
      onNews(CLASS_KEY + one.name);
      if (isStatusOnly(one, before)) return;
      reads.readMissing();
      lookAtAll();
    }),
    follow('Namespace', (namespace, before) => {
      if (before === undefined || !sameData(before.annotations, namespace.annotations)) lookAtAll();
    }),
    follow('NodeNetwork', (record, before) => {
      // The echo of an own write says what its answer has said.
      if (before?.resourceVersion !== record.resourceVersion) onNews(record.name);
    }),
  ];
}
