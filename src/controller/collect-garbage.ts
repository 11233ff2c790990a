// Collects ENIs of ours that belong to no node any more: looked for by tag, and deleted one by one when tokens are idle.

import type { InstanceId, NodeName } from '../domain/ids.ts';
import { parseNodeName } from '../domain/ids.ts';
import { findLeaks, type Leaks, type LeakStep, type OwnEni } from '../domain/ipam/leaked-enis.ts';
import { CREATED_AT_TAG, INSTANCE_TAG, isOwned, NODE_TAG } from '../domain/ipam/tags.ts';
import type { ClusterReader } from '../ports/cluster.ts';
import type { Ec2Eni, Ec2Writer } from '../ports/ec2.ts';
import type { Log } from '../ports/log.ts';
import type { Budget } from './budget.ts';
import { type ClusterView, isSynced } from './cluster-view.ts';
import { type DescribeDeps, readOwnEnis } from './describe-ec2.ts';
import { ownWrites } from './ec2-view.ts';

export interface GarbageDeps extends Omit<DescribeDeps, 'cluster'> {
  readonly ec2: DescribeDeps['ec2'] & Ec2Writer;
  readonly api: ClusterReader;
  readonly cluster: ClusterView;
  readonly budget: Budget;
  readonly log: Log;
}

/** What is remembered between two looks. All of it can be lost: then everything needs two sightings again. */
export interface GarbageMemory {
  leaks: Leaks;
  nextLookAt: number;
  collectedCount: number;
}

export const createGarbageMemory = (now: number): GarbageMemory => ({
  leaks: { suspects: new Map(), steps: [] },
  nextLookAt: now + LOOK_MS,
  collectedCount: 0,
});

/** Under this key the work queue and the budget know the collector. No node has such a name. */
export const GARBAGE_KEY = 'Garbage/';

/** All own ENIs are read this often: one paginated call. */
const LOOK_MS = 60_000;
/** Longer than any describe is stale. */
const SUSPICION_MS = 60_000;
/** Longer than an intent lives (snapshot.ts). */
const YOUNG_MS = 150_000;

/** One step: a look, or one ENI. Answers when to come again, ms; undefined when the budget will call. */
export async function collectGarbage(deps: GarbageDeps, memory: GarbageMemory): Promise<number | undefined> {
  const { clock, view, cluster } = deps;
  // Missing knowledge never frees (RST-1).
  if (!isSynced(cluster) || clock.now() < view.trustedFrom) return LOOK_MS;
  const [step, ...rest] = memory.leaks.steps;
  if (step === undefined) {
    if (clock.now() < memory.nextLookAt) return memory.nextLookAt - clock.now();
    await look(deps, memory);
    return 0;
  }
  const action = step.do === 'DeleteEni' ? 'DeleteNetworkInterface' : 'ModifyNetworkInterfaceAttribute';
  if (!deps.budget.take(action, { key: GARBAGE_KEY, priority: 'Garbage' })) return undefined;
  memory.leaks = { ...memory.leaks, steps: rest };
  if (await isStillLeaked(deps, step)) await perform(deps, memory, step);
  return 0;
}

async function look(deps: GarbageDeps, memory: GarbageMemory): Promise<void> {
  const { clock, cluster } = deps;
  memory.nextLookAt = clock.now() + LOOK_MS;
  const enis = await readOwnEnis(deps);
  if (enis === undefined) return;
  memory.leaks = findLeaks({
    now: clock.now(),
    enis: enis.filter((eni) => isOwned(eni.tags, deps.clusterName)).map(ownEni),
    nodeInstances: instancesOf(cluster),
    suspects: memory.leaks.suspects,
    lifeMs: YOUNG_MS,
    suspicionMs: SUSPICION_MS,
  });
}

const instancesOf = (cluster: ClusterView): ReadonlySet<InstanceId> =>
  new Set([...cluster.nodes.values()].flatMap(({ instanceId }) => instanceId ?? []));

function ownEni({ eniId, tags, attachment }: Ec2Eni): OwnEni {
  const instanceId = attachment?.instanceId ?? (tags[INSTANCE_TAG] as InstanceId | undefined);
  const createdAt = Number(tags[CREATED_AT_TAG]);
  const node = parseNodeName(tags[NODE_TAG] ?? '');
  return {
    eniId,
    ...(instanceId === undefined ? {} : { instanceId }),
    ...(node.ok ? { nodeName: node.value } : {}),
    ...(Number.isFinite(createdAt) ? { createdAt } : {}),
    ...(attachment === undefined ? {} : { attachment: { ...attachment, state: attachment.status } }),
  };
}

/** The watch may be old, so the API server itself is asked whether the node is there again. */
async function isStillLeaked({ api, cluster }: GarbageDeps, { eni }: LeakStep): Promise<boolean> {
  if (eni.instanceId !== undefined && instancesOf(cluster).has(eni.instanceId)) return false;
  if (eni.nodeName === undefined) return true;
  const node = await api.get<'Node'>('Node', eni.nodeName satisfies NodeName);
  return node.kind === 'ok' && (node.value === undefined || node.value.instanceId !== eni.instanceId);
}

async function perform(deps: GarbageDeps, memory: GarbageMemory, step: LeakStep): Promise<void> {
  const { ec2, view, clock, log, budget } = deps;
  const { eniId } = step.eni;
  const sentAt = clock.now();
  const outcome =
    step.do === 'DeleteEni'
      ? await ec2.deleteNetworkInterface({ eniId })
      : await ec2.setDeleteOnTermination({ eniId, attachmentId: step.attachmentId });
  log.info('leaked ENI', { do: step.do, because: step.because, outcome: outcome.kind });
  log.mark('leak-collected');
  if (outcome.kind === 'ok') {
    memory.collectedCount += 1;
    if (step.do === 'DeleteEni') ownWrites.deleted(view, eniId, clock.now());
    return;
  }
  // Whatever went wrong: the next look sees how it is, and it needs no second one.
  const cause =
    outcome.kind === 'failed' ? `${outcome.failure.code}: ${outcome.failure.message}` : outcome.cause;
  if (outcome.kind === 'failed' && outcome.failure.kind === 'throttled') {
    budget.throttled(
      step.do === 'DeleteEni' ? 'DeleteNetworkInterface' : 'ModifyNetworkInterfaceAttribute',
      sentAt,
    );
  }
  log.warn('leaked ENI was not collected', { eniId, cause });
}
