// Starts the agent of a node: its loops, and the handler of the runtime's requests.

import type { NodeName } from '../domain/ids.ts';
import type { CniReply, CniRequest } from '../protocol/agent-socket/cni-message.ts';
import type { Clock } from '../ports/clock.ts';
import type { AgentCluster, Subscription } from '../ports/cluster.ts';
import type { Journal } from '../ports/journal.ts';
import type { Log } from '../ports/log.ts';
import type { NetworkStack } from '../ports/network-stack.ts';
import type { Random } from '../ports/random.ts';
import { type AgentContext, initialState, notServing } from './agent-context.ts';
import { type AgentSnapshot, describeAgent } from './agent-snapshot.ts';
import { type CniHandler, createCniHandler } from './cni-handler.ts';
import { createCooldowns } from './cooldowns.ts';
import { createHostKeeper } from './host-keeper.ts';
import { createKeyedLock } from './keyed-lock.ts';
import { createLedgerStore } from './ledger-store.ts';
import { followNodeNetwork } from './node-network-follower.ts';
import { followPods } from './pod-follower.ts';
import { createPool, type Pool } from './pool.ts';
import { createReaper } from './reaper.ts';
import { createPodRepairer } from './repair-pods.ts';
import { createSpecFollower } from './spec-follower.ts';
import type { StatusChange } from './status-change.ts';
import { isReadinessNews, planStatus } from './status-pace.ts';
import { createStatusWriter } from './status-writer.ts';
import { createWorker, type Worker } from './worker.ts';

/** kubelet tries a failed sandbox again about every ten seconds; waiting for longer would only hold its worker. */
const ADD_WAIT_MS = 10_000;
const LOAD_RETRY_MS = 2000;

export interface AgentDeps {
  readonly nodeName: NodeName;
  readonly cluster: AgentCluster;
  readonly stack: NetworkStack;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** How long ADD waits for an address, milliseconds; ten seconds unless given. */
  readonly addWaitMs?: number;
}

export interface Agent {
  handleCni(request: CniRequest): Promise<CniReply>;
  describe(): AgentSnapshot;
  /** Resolves once ADD can be served for the first time: then the CNI configuration file may be written (CNI-4). */
  whenServing(): Promise<void>;
  /** Ends the loops. What pods have stays as it is. */
  stop(): Promise<void>;
}

/**
 * Resolves at once; the agent then answers STATUS with an error until it has read its journal, its NodeNetwork and the
 * kernel. It waits for each of them for ever: to go on without one would be to guess (RST-1).
 */
export async function startAgent(deps: AgentDeps): Promise<Agent> {
  const parts = assemble(deps);
  parts.loader.wake();
  return {
    handleCni: (request) => parts.handler.handle(request),
    describe: () => describeAgent(parts),
    whenServing: () => parts.serving,
    stop: async () => {
      for (const watch of parts.watches) watch.close();
      for (const worker of parts.workers) await worker.stop();
      parts.stopCooldowns();
    },
  };
}

interface Parts {
  readonly context: AgentContext;
  readonly pool: Pool;
  readonly handler: CniHandler;
  readonly loader: Worker;
  /** In the order in which they are stopped. */
  readonly workers: readonly Worker[];
  readonly watches: readonly Subscription[];
  readonly serving: Promise<void>;
  readonly stopCooldowns: () => void;
}

/** Wires the parts to each other: which change wakes which loop. */
function assemble(deps: AgentDeps): Parts {
  const { nodeName, cluster, stack, clock, log, journal } = deps;
  const shared = initialState();
  const store = createLedgerStore({ journal, clock, log, onChange: (change) => onLedgerChange(change) });
  const context: AgentContext = { nodeName, cluster, stack, clock, log, store, shared };
  const pool = createPool(context);
  const lock = createKeyedLock();
  const { promise: serving, resolve: nowServing } = Promise.withResolvers<void>();
  const cooldowns = createCooldowns({
    clock,
    ledger: () => store.ledger(),
    cooldownMs: () => shared.accepted?.spec.cooldownMs,
    endCooldown: (addresses) => store.endCooldown(addresses),
  });

  const onProgress = (change: StatusChange): void => {
    if (notServing(context) === undefined) nowServing();
    pool.notify();
    onChange(change);
  };
  const onChange = (change: StatusChange): void => status.wakeWithin(planStatus(context, change));
  const host = createHostKeeper(context, {
    onRouted: () => {
      // Of the host the status says only whether it serves, which is awaited.
      onProgress('Generation');
      podRepairer.wake();
    },
    onFailed: () => onChange('Usage'),
  });
  const spec = createSpecFollower(context, {
    onAccepted: () => {
      cooldowns.track();
      host.wake();
    },
    onAnswered: onProgress,
  });
  const status = createStatusWriter(context, { onRecord: () => spec.wake() });
  const onLedgerChange = (change: StatusChange): void => {
    cooldowns.track();
    spec.wake();
    host.onPods();
    pool.notify();
    onChange(change);
  };
  const podRepairer = createPodRepairer(context, lock);
  const reaper = createReaper(context, lock);
  const loader = createLoader(context, () => {
    spec.wake();
    reaper.wake();
  });
  const watches = [
    followNodeNetwork(context, () => spec.wake()),
    followPods(context, () => {
      host.onPods();
      pool.notify();
      // The first readiness is told together with the pods that wait, if there are any.
      if (isReadinessNews(context)) onChange('Generation');
    }),
  ];
  return {
    context,
    pool,
    handler: createCniHandler(context, { pool, lock, addWaitMs: deps.addWaitMs ?? ADD_WAIT_MS }),
    loader,
    workers: [loader, spec, host, podRepairer, status, reaper],
    watches,
    serving,
    stopCooldowns: () => cooldowns.stop(),
  };
}

function createLoader(context: AgentContext, onLoaded: () => void): Worker {
  const { clock, log } = context;
  return createWorker({ clock, log, label: 'load journal', run: () => loadJournal(context, onLoaded) });
}

async function loadJournal(context: AgentContext, onLoaded: () => void): Promise<number | undefined> {
  const { shared, store, log } = context;
  const loaded = await store.load();
  if (!loaded.ok) {
    log.error('the journal cannot be read; the agent waits', { failure: loaded.error });
    return LOAD_RETRY_MS;
  }
  const { recordCount, knowsPods, torn } = loaded.value;
  if (torn !== undefined) {
    log.mark('journal-torn');
    log.warn('the last write of the journal was cut off by a crash', { torn });
  }
  log.info('journal read', { recordCount, allocationCount: store.ledger().allocations.size });
  shared.startedEmpty = !knowsPods;
  shared.loaded = true;
  shared.loadedAt = context.clock.now();
  onLoaded();
  return undefined;
}
