// One round for one node: snapshot, plan, then at most one effect. Every effect leads to another round.

import type { Ip } from '../domain/address/ip.ts';
import { prefixAddresses } from '../domain/address/prefix.ts';
import { type InstanceId, intentId, type NodeName } from '../domain/ids.ts';
import type { Action } from '../domain/ipam/action.ts';
import { emptyStatus } from '../domain/ipam/node-network.ts';
import type { NodeView, Obstacle } from '../domain/ipam/node-view.ts';
import { type Plan, plan } from '../domain/ipam/plan.ts';
import { sameData } from '../domain/same-data.ts';
import type { Clock } from '../ports/clock.ts';
import type { ClusterOutcome, ControllerCluster, NodeNetworkRecord } from '../ports/cluster.ts';
import type { Ec2Writer } from '../ports/ec2.ts';
import type { Log } from '../ports/log.ts';
import { type Random, randomHex, randomInt } from '../ports/random.ts';
import { claimAsking, recordBlockRefusal } from './block-refusals.ts';
import type { Budget } from './budget.ts';
import { type ClusterView, expectNodeNetwork, forgetNodeNetwork } from './cluster-view.ts';
import type { ControllerSettings } from './controller-settings.ts';
import { type Ec2View, recordSubnetFull } from './ec2-view.ts';
import { type Executed, execute } from './execute.ts';
import type { EniConfigUses } from './eni-config-uses.ts';
import { cureFor, isOvercome, subnetOf } from './failure-cure.ts';
import { failureText } from './failure-text.ts';
import { publishIpResources } from './ip-resources.ts';
import { keepNoAddressTaint } from './no-address-taint.ts';
import type { NodeMemory } from './node-memory.ts';
import type { Ec2ReadLoop } from './read-ec2.ts';
import { priorityOf } from './priority.ts';
import { readTrouble } from './read-trouble.ts';
import { emitEvents, tellGroups, tellRefusal, tellTrouble, withOwnConditions } from './report.ts';
import { removeStartupTaint } from './startup-taint.ts';
import { snapshotOf } from './snapshot.ts';
import { canWait, isGrowth, lateEnis } from './worth-a-write.ts';

export interface ReconcileDeps {
  readonly cluster: ControllerCluster;
  readonly ec2: Ec2Writer;
  readonly clusterView: ClusterView;
  readonly ec2View: Ec2View;
  readonly reads: Ec2ReadLoop;
  readonly budget: Budget;
  readonly clock: Clock;
  /** The machine's clock, for dates that people read. */
  readonly wallNow: () => number;
  readonly random: Random;
  readonly log: Log;
  readonly settings: ControllerSettings;
  readonly uses: EniConfigUses;
  /** What is to be done for the node is known. */
  readonly onDecided: () => void;
}

/** When to look at the node again although nothing happens, ms; `undefined`: only when something does. */
export type NextLook = number | undefined;

const NOW = 0;
/** The API server did not take a write. */
const CLUSTER_RETRY_MS = 1_000;
/** An attach or a detach takes a second or two: its instance is read again this soon. */
const TRANSITION_READ_MS = 1_500;
const BACK_OFF_MIN_MS = 500;
const BACK_OFF_MAX_MS = 30_000;

/** A refusal that was not tried again for so long after it could have been says nothing any more. */
const FORGET_MS = 600_000;

/** Runs one round for `name`. Rejects only on a programming mistake. */
export async function reconcileNode(
  deps: ReconcileDeps,
  name: NodeName,
  memory: NodeMemory,
): Promise<NextLook> {
  const now = deps.clock.now();
  const sources = {
    cluster: deps.clusterView,
    ec2: deps.ec2View,
    settings: deps.settings,
    uses: deps.uses,
    now,
    freshIntentId: intentId(`eniwhere-${randomHex(deps.random, 32)}`),
  };
  for (const { id } of deps.clusterView.nodeNetworks.get(name)?.spec.intents ?? [])
    if (!memory.intentSince.has(id)) memory.intentSince.set(id, now);
  const snapshot = snapshotOf(name, sources, memory);
  const whole = snapshot.ok ? plan(snapshot.value) : undefined;
  const trouble = readTrouble(deps.ec2View.troubles);
  if (!snapshot.ok || whole === undefined) {
    const waitingFor = snapshot.ok ? "the node's own subnet is not known" : snapshot.error;
    deps.log.debug('node cannot be decided yet', { node: name, waitingFor });
    if (trouble !== undefined && deps.clusterView.nodes.has(name))
      tellTrouble(deps.cluster, name, memory, trouble);
    deps.reads.readMissing();
    return undefined;
  }
  deps.onDecided();
  const view = snapshot.value;
  remember(memory, view, whole);
  for (const subnetId of whole.asksForBlocksOf) claimAsking(deps.ec2View.blockRefusals, subnetId, name, now);
  const isBackingOff = now < memory.backOffUntil;
  const { next, isWaiting } = withinBudget(deps, { name, view, whole, memory, isBackingOff });
  if (isInTransition(view)) deps.reads.readInstance(view.instance.instanceId, TRANSITION_READ_MS);
  if (view.enis.some((eni) => !view.subnets.has(eni.subnetId))) deps.reads.readMissing();

  const published = deps.clusterView.nodeNetworks.get(name);
  const action = isBackingOff ? undefined : next.actions[0];
  const lateMs = lateFor(memory, { published, next, now });
  const round = { name, next, published, memory };
  if (!isTold({ published, next, view, action, lateMs: lateMs ?? 0 })) return publish(deps, round);
  if (action !== undefined) {
    const acted = await act(deps, { name, view, next, action, memory });
    // What waits to be published with the ENI that this was for waits for no other try.
    if (acted !== 'NoBudget') return lateMs === undefined ? acted : NOW;
    if (lateMs !== undefined) return publish(deps, round);
  } else if (!isWaiting) deps.budget.forget(name);
  const reported = await report(deps, round);
  if (reported !== undefined) return reported;
  const taintRetryMs = await removeStartupTaint(deps, name, view.settings.targets);
  const noAddressRetryMs = await keepNoAddressTaint(deps, name, view, memory);
  const resourcesRetryMs = await publishIpResources(deps, name, view);
  const retries = [taintRetryMs, noAddressRetryMs, resourcesRetryMs].flatMap((ms) =>
    ms === undefined ? [] : [now + ms],
  );
  const times = [next.nextCheckAt, ...retries, isBackingOff ? memory.backOffUntil : undefined].filter(
    (at) => at !== undefined,
  );
  return times.length === 0 ? undefined : Math.max(0, Math.min(...times) - now);
}

/** Whether the object says what it has to say before `action` is carried out. */
function isTold(of: {
  readonly published: NodeNetworkRecord | undefined;
  readonly next: Plan;
  readonly view: NodeView;
  readonly action: Action | undefined;
  readonly lateMs: number;
}): boolean {
  const { published, next, view, action, lateMs } = of;
  if (published === undefined) return false;
  if (sameData(published.spec, next.spec)) return true;
  return canWait({ published, next: next.spec, enis: view.enis, action, lateMs });
}

/** For how long there have been ENIs that the object does not tell of, milliseconds; undefined: it tells of all. */
function lateFor(
  memory: NodeMemory,
  { published, next, now }: Pick<Round, 'published' | 'next'> & { readonly now: number },
): number | undefined {
  if (published === undefined || lateEnis(published.spec, next.spec).length === 0) {
    delete memory.lateSince;
    return undefined;
  }
  memory.lateSince ??= now;
  return now - memory.lateSince;
}

interface Affordable {
  readonly name: NodeName;
  readonly view: NodeView;
  readonly whole: Plan;
  readonly memory: NodeMemory;
  readonly isBackingOff: boolean;
}

/**
 * The plan as far as it can be paid for now. An intent lives for minutes only, since every later answer to its create
 * has to be waited for; so it is noted once the token for its create is there, and does not grow old in line.
 */
function withinBudget(deps: ReconcileDeps, of: Affordable): { next: Plan; isWaiting: boolean } {
  const { name, view, whole, memory, isBackingOff } = of;
  const noted = new Set(view.published?.spec.intents.map((intent) => intent.id));
  const isNew = whole.spec.intents.some((intent) => !noted.has(intent.id));
  if (!isNew || memory.hasCreateToken) return { next: whole, isWaiting: false };
  const wish = { key: name, priority: priorityOf('CreateEni', view, whole) };
  // A key stands in one line at a time: what is noted already goes first, or it would leave each line for the other. But
  // where nobody stands in line, the intent is noted with the ENI that has to be published anyway.
  const [action] = whole.actions;
  const isBusy = action !== undefined;
  const isPaid = (): boolean =>
    isBusy
      ? !isGrowth(action) && deps.budget.takeFree('CreateNetworkInterface')
      : deps.budget.take('CreateNetworkInterface', wish);
  if (!isBackingOff && isPaid()) {
    memory.hasCreateToken = true;
    return { next: whole, isWaiting: false };
  }
  const intents = whole.spec.intents.filter((intent) => noted.has(intent.id));
  return { next: { ...whole, spec: { ...whole.spec, intents } }, isWaiting: !isBackingOff && !isBusy };
}

/** Whether an ENI is on its way on or off. */
const isInTransition = (view: NodeView): boolean =>
  view.enis.some(({ attachment }) => attachment?.state === 'attaching' || attachment?.state === 'detaching');

function remember(memory: NodeMemory, view: NodeView, next: Plan): void {
  if (next.excessCount === 0) delete memory.excessSince;
  else memory.excessSince ??= view.now;
  memory.obstacles = memory.obstacles.filter((one) => one.until + FORGET_MS > view.now);
  const open = new Set(
    [...(view.published?.spec.intents ?? []), ...next.spec.intents].map((intent) => intent.id),
  );
  for (const id of memory.failedIntents) if (!open.has(id)) memory.failedIntents.delete(id);
  for (const id of memory.unsentIntents) if (!open.has(id)) memory.unsentIntents.delete(id);
  for (const id of memory.intentSince.keys()) if (!open.has(id)) memory.intentSince.delete(id);
}

interface Round {
  readonly name: NodeName;
  readonly next: Plan;
  readonly published: NodeNetworkRecord | undefined;
  readonly memory: NodeMemory;
}

async function publish(deps: ReconcileDeps, round: Round): Promise<NextLook> {
  const { name, next, published, memory } = round;
  const node = deps.clusterView.nodes.get(name);
  if (node === undefined) return undefined;
  const takeIn = expectNodeNetwork(deps.clusterView, name, published);
  const outcome =
    published === undefined
      ? await deps.cluster.createNodeNetwork(name, node, next.spec)
      : await deps.cluster.updateNodeNetworkSpec({ ...published, spec: next.spec });
  if (outcome.kind === 'ok') {
    takeIn(outcome.value);
    const known = new Set((published?.spec.intents ?? []).map((intent) => intent.id));
    for (const { id, notedAt } of next.spec.intents) {
      if (known.has(id)) continue;
      memory.unsentIntents.add(id);
      memory.intentSince.set(id, notedAt);
    }
    return NOW;
  }
  return afterClusterFailure(deps, name, outcome);
}

/** The object is not what we thought: reads it afresh and decides again. */
async function afterClusterFailure(
  deps: ReconcileDeps,
  name: NodeName,
  outcome: Exclude<ClusterOutcome<unknown>, { kind: 'ok' }>,
): Promise<NextLook> {
  const cause =
    outcome.kind === 'failed' ? `${outcome.failure.kind}: ${outcome.failure.message}` : outcome.cause;
  deps.log.info('NodeNetwork was not written', { node: name, cause });
  const takeIn = expectNodeNetwork(deps.clusterView, name);
  const fresh = await deps.cluster.get('NodeNetwork', name);
  if (fresh.kind !== 'ok') return CLUSTER_RETRY_MS;
  if (fresh.value === undefined) forgetNodeNetwork(deps.clusterView, name);
  else takeIn(fresh.value);
  return outcome.kind === 'failed' && outcome.failure.kind === 'conflict' ? NOW : CLUSTER_RETRY_MS;
}

interface Step {
  readonly name: NodeName;
  readonly view: NodeView;
  readonly next: Plan;
  readonly action: Action;
  readonly memory: NodeMemory;
}

/** `NoBudget`: nothing was done, and the budget calls the node when it can be. */
async function act(deps: ReconcileDeps, step: Step): Promise<NextLook | 'NoBudget'> {
  const { name, view, next, action, memory } = step;
  if (!(await stillValid(deps, step))) return CLUSTER_RETRY_MS;
  const { instanceId } = view.instance;
  const executed = await execute(
    {
      ec2: deps.ec2,
      view: deps.ec2View,
      budget: deps.budget,
      clock: deps.clock,
      clusterName: deps.settings.clusterName,
    },
    action,
    { instanceId, name, memory, priority: priorityOf(action.do, view, next) },
  );
  if (executed.kind === 'noBudget') return 'NoBudget';
  deps.log.info('EC2 action', {
    node: name,
    do: action.do,
    because: action.because,
    outcome: executed.kind,
  });
  return afterAction(deps, step, executed);
}

function afterAction(
  deps: ReconcileDeps,
  step: Step,
  executed: Exclude<Executed, { kind: 'noBudget' }>,
): NextLook {
  const { name, view, action, memory } = step;
  const { instanceId } = view.instance;
  switch (executed.kind) {
    case 'done':
      memory.failureCount = 0;
      memory.obstacles = memory.obstacles.filter((one) => !isOvercome(one, action));
      tellGroups(deps.cluster, name, action);
      return NOW;
    case 'unknown':
      deps.log.warn('EC2 call has an unknown outcome', { node: name, do: action.do, cause: executed.cause });
      deps.log.mark('unknown-outcome');
      return backOff(deps, memory, instanceId);
    case 'failed': {
      const { failure } = executed;
      deps.log.warn('EC2 call failed', {
        node: name,
        do: action.do,
        code: failure.code,
        cause: failure.message,
      });
      deps.log.mark(`ec2-${failure.kind}`);
      const cure = cureFor(failure, action, { ...view, now: deps.clock.now() });
      if (cure.obstacle !== undefined) noteObstacle(deps, step, cure.obstacle);
      const subnetId = subnetOf(action, view);
      if (subnetId !== undefined && cure.missingBlockCount !== undefined) {
        const refused = {
          message: failureText(failure),
          freeAddressCount: view.subnets.get(subnetId)?.freeAddressCount ?? 0,
          count: cure.missingBlockCount,
          now: deps.clock.now(),
        };
        recordBlockRefusal(deps.ec2View.blockRefusals, subnetId, refused);
      } else if (cure.pollSubnet && subnetId !== undefined) recordSubnetFull(deps.ec2View, subnetId);
      if (cure.pollSubnet && subnetId !== undefined) deps.reads.pollSubnet(subnetId);
      return backOff(deps, memory, cure.reread ? instanceId : undefined);
    }
  }
}

/** The newest of its kind and choice stands for all; one that says the same is no news. */
function noteObstacle({ cluster }: ReconcileDeps, { name, memory }: Step, obstacle: Obstacle): void {
  const before = memory.obstacles.find(
    (one) => one.of === obstacle.of && sameData(one.choice, obstacle.choice),
  );
  memory.obstacles = [...memory.obstacles.filter((one) => one !== before), obstacle];
  if (before?.message !== obstacle.message) tellRefusal(cluster, name, obstacle);
}

/** Waits longer after each failure in a row, with jitter so that nodes that failed together do not return together. */
function backOff(deps: ReconcileDeps, memory: NodeMemory, reread: InstanceId | undefined): NextLook {
  const doubled = Math.min(BACK_OFF_MAX_MS, BACK_OFF_MIN_MS * 2 ** Math.min(memory.failureCount, 10));
  memory.failureCount += 1;
  const waitMs = Math.floor(doubled / 2) + randomInt(deps.random, Math.ceil(doubled / 2) + 1);
  memory.backOffUntil = deps.clock.now() + waitMs;
  if (reread !== undefined) deps.reads.readInstance(reread, waitMs);
  return waitMs;
}

/**
 * Giving an address back is the one step that can hurt a live pod, so the object itself is asked once more, not the
 * cache: every address must stand in `withdrawing` and in `withdrawn` (WD-4).
 */
async function stillValid(deps: ReconcileDeps, { name, view, action }: Step): Promise<boolean> {
  if (!GIVES_BACK.has(action.do) || !('eniId' in action)) return true;
  const takeIn = expectNodeNetwork(deps.clusterView, name);
  const fresh = await deps.cluster.get('NodeNetwork', name);
  if (fresh.kind !== 'ok' || fresh.value === undefined) return false;
  takeIn(fresh.value);
  // A process that was stopped meanwhile may have heard first that the object is gone.
  if (deps.clusterView.nodeNetworks.get(name)?.uid !== fresh.value.uid) return false;
  const withdrawn = new Set(fresh.value.status.withdrawn);
  const spec = fresh.value.spec.enis.find((one) => one.eniId === action.eniId);
  if (spec === undefined) return false;
  const withdrawing = new Set(spec.withdrawing);
  const eni = view.enis.find((one) => one.eniId === action.eniId);
  const addresses = givenBackBy(action, [
    ...spec.addresses,
    ...(eni?.addresses ?? []),
    ...(eni?.prefixes ?? []).flatMap(prefixAddresses),
  ]);
  const isValid = addresses.every((ip) => withdrawn.has(ip) && withdrawing.has(ip));
  if (!isValid) deps.log.mark('stale-withdrawal-refused');
  return isValid;
}

const GIVES_BACK: ReadonlySet<Action['do']> = new Set(['UnassignAddresses', 'UnassignPrefixes', 'DetachEni']);

/** The addresses that pods lose by the action; of an ENI that is detached, all. */
function givenBackBy(action: Action, all: readonly Ip[]): readonly Ip[] {
  if (action.do === 'UnassignAddresses') return action.addresses;
  return action.do === 'UnassignPrefixes' ? action.prefixes.flatMap(prefixAddresses) : all;
}

/** Writes conditions and Events. Answers when to try again, if the write did not work. */
async function report(deps: ReconcileDeps, round: Round): Promise<NextLook> {
  const { name, next, published, memory } = round;
  const trouble = readTrouble(deps.ec2View.troubles);
  emitEvents(deps.cluster, name, { plan: next, trouble }, memory);
  for (const subnetId of next.fullSubnets) deps.reads.pollSubnet(subnetId);
  if (published === undefined) return undefined;
  const status = withOwnConditions(published.status ?? emptyStatus, next.conditions, deps.wallNow());
  if (status === undefined) return undefined;
  const takeIn = expectNodeNetwork(deps.clusterView, name, published);
  const outcome = await deps.cluster.updateNodeNetworkStatus({ ...published, status });
  if (outcome.kind !== 'ok') return afterClusterFailure(deps, name, outcome);
  takeIn(outcome.value);
  return undefined;
}
