// The one reader of EC2: a describe loop for the whole cluster, and at once what is new, changed or missing.

import type { EniConfig } from '../domain/eniconfig/eni-config.ts';
import type { InstanceId, SecurityGroupId, SubnetId, VpcId } from '../domain/ids.ts';
import { OWNER_TAG } from '../domain/ipam/tags.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ec2Outcome, Ec2Reader } from '../ports/ec2.ts';
import type { Log } from '../ports/log.ts';
import type { Budget } from './budget.ts';
import type { ClusterView } from './cluster-view.ts';
import { type Ec2View, knownValue, recordAnswer, recordEnis } from './ec2-view.ts';
import { createWakeup } from './wakeup.ts';

/** Everything is read again this often. */
export const RESYNC_MS = 30_000;
/** Subnets that somebody waits for are read again this often. */
const SUBNET_POLL_MS = 5_000;
/** Requests that come within this time are answered by one describe. */
const GATHER_MS = 50;
/** After a describe that failed, or that does not know an instance which has just become a node. */
const RETRY_MS = 2_000;
/** A node whose instance EC2 does not show is asked for early this often; afterwards the resync has to do. */
const EARLY_RETRY_COUNT_MAX = 5;
/** DescribeInstances and the instance filter of DescribeNetworkInterfaces take up to this many ids a call. */
const IDS_PER_CALL = 200;

export interface Ec2ReaderDeps {
  readonly ec2: Ec2Reader;
  readonly clusterName: string;
  readonly cluster: ClusterView;
  readonly view: Ec2View;
  readonly budget: Budget;
  readonly clock: Clock;
  readonly log: Log;
  /** Called after the view changed; `undefined` means: anything may have. */
  readonly onRead: (instances: ReadonlySet<InstanceId> | undefined) => void;
}

export interface Ec2ReadLoop {
  /** Reads the ENIs of one instance soon. */
  readInstance(id: InstanceId, delayMs: number): void;
  /** Reads what the cluster names and the view does not know yet. */
  readMissing(): void;
  /** Somebody waits for an address of this subnet: reads it every few seconds until told otherwise by a resync. */
  pollSubnet(id: SubnetId): void;
  stop(): Promise<void>;
}

/** Starts the loop. Failed describes are logged and tried again; the view then stays as it was. */
export function startEc2ReadLoop(deps: Ec2ReaderDeps): Ec2ReadLoop {
  const { clock } = deps;
  const wakeup = createWakeup(clock, 'ec2 read loop');
  const due = {
    full: clock.now(),
    missing: Infinity, // when to read what is named and not known
    missingNotBefore: 0,
    instances: new Map<InstanceId, number>(), // instance -> when to read it
    subnets: new Map<SubnetId, number>(), // waited-for subnet -> when to read it
  };
  const state = { stopped: false };

  const earlyRetries = new Map<InstanceId, number>(); // instance that EC2 did not show -> times asked early
  const asksEarly = (): boolean => {
    const missing = [...deps.view.instances]
      .filter(([, known]) => known.kind === 'Missing')
      .map(([id]) => id);
    const early = missing.filter((id) => (earlyRetries.get(id) ?? 0) < EARLY_RETRY_COUNT_MAX);
    for (const id of early) earlyRetries.set(id, (earlyRetries.get(id) ?? 0) + 1);
    return early.length > 0;
  };

  const step = async (): Promise<void> => {
    const now = clock.now();
    if (due.full <= now) {
      due.full = now + RESYNC_MS;
      due.missing = Infinity;
      due.instances.clear();
      due.subnets.clear();
      const wholly = await readAll(deps);
      if (!wholly || asksEarly()) due.full = Math.min(due.full, clock.now() + RETRY_MS);
      deps.onRead(undefined);
      return;
    }
    const instances = takeDue(due.instances, now);
    const subnets = takeDue(due.subnets, now);
    if (due.missing <= now) {
      due.missing = Infinity;
      const read = await readMissing(deps);
      // What failed, or is not there, is not asked for in a circle.
      if (read !== 'All') due.missingNotBefore = clock.now() + RETRY_MS;
      if (read === 'Partly' || asksEarly()) due.full = Math.min(due.full, clock.now() + RETRY_MS);
      if (read !== 'Nothing') deps.onRead(undefined);
    }
    if (instances.length > 0) {
      const wholly = await readEnisOf(deps, instances);
      if (!wholly) for (const id of instances) due.instances.set(id, clock.now() + RETRY_MS);
      deps.onRead(new Set(instances));
    }
    if (subnets.length > 0) {
      await readSubnets(deps, subnets);
      for (const id of subnets) due.subnets.set(id, clock.now() + SUBNET_POLL_MS);
      deps.onRead(undefined);
    }
  };
  const nextDue = (): number =>
    Math.min(due.full, due.missing, ...due.instances.values(), ...due.subnets.values());
  const loop = async (): Promise<void> => {
    while (!state.stopped) {
      await step();
      if (!state.stopped) await wakeup.wait(Math.max(0, nextDue() - clock.now()));
    }
  };
  const running = loop();

  return {
    readInstance: (id, delayMs) => {
      const at = clock.now() + Math.max(GATHER_MS, delayMs);
      due.instances.set(id, Math.min(at, due.instances.get(id) ?? Infinity));
      wakeup.wake();
    },
    readMissing: () => {
      const at = Math.max(clock.now() + GATHER_MS, due.missingNotBefore);
      if (due.missing <= at) return;
      due.missing = at;
      wakeup.wake();
    },
    pollSubnet: (id) => {
      if (due.subnets.has(id)) return;
      due.subnets.set(id, clock.now() + SUBNET_POLL_MS);
      wakeup.wake();
    },
    stop: async () => {
      state.stopped = true;
      wakeup.wake();
      await running;
    },
  };
}

function takeDue<Key>(times: Map<Key, number>, now: number): readonly Key[] {
  const keys = [...times].filter(([, at]) => at <= now).map(([key]) => key);
  for (const key of keys) times.delete(key);
  return keys;
}

/** Ids that the cluster's objects name. */
function named(deps: Ec2ReaderDeps): {
  instances: InstanceId[];
  subnets: SubnetId[];
  groups: SecurityGroupId[];
} {
  const { cluster, view } = deps;
  const instances = new Set<InstanceId>();
  for (const node of cluster.nodes.values())
    if (node.instanceId !== undefined) instances.add(node.instanceId);
  const eniConfigs: EniConfig[] = [];
  for (const { spec } of cluster.eniConfigs.values())
    if (spec.kind === 'Parsed') eniConfigs.push(spec.eniConfig);
  const subnets = new Set<SubnetId>(eniConfigs.map((one) => one.subnetId));
  const groups = new Set<SecurityGroupId>(eniConfigs.flatMap((one) => one.securityGroupIds));
  for (const id of instances) {
    const instance = knownValue(view.instances, id);
    if (instance !== undefined) subnets.add(instance.primarySubnetId);
  }
  for (const { eni } of view.enis.values()) subnets.add(eni.subnetId);
  return { instances: [...instances], subnets: [...subnets], groups: [...groups] };
}

async function readAll(deps: Ec2ReaderDeps): Promise<boolean> {
  const first = named(deps);
  const instances = await readInstances(deps, first.instances);
  const enis = await readEnisOf(deps, first.instances);
  const then = named(deps);
  const subnets = await readSubnets(deps, then.subnets);
  const groups = await readGroups(deps, then.groups);
  const rest = await readVpcsAndLimits(deps, 'all');
  return instances && enis && subnets && groups && rest !== 'Partly';
}

/** Asks for what the cluster names and the view does not hold. `Nothing`: there was nothing to ask for. */
async function readMissing(deps: Ec2ReaderDeps): Promise<'All' | 'Partly' | 'Nothing'> {
  const { view } = deps;
  const first = named(deps);
  const newInstances = first.instances.filter((id) => !view.instances.has(id));
  const unread = first.instances.filter((id) => !view.readInstances.has(id));
  const instances = await readInstances(deps, newInstances);
  const enis = await readEnisOf(deps, unread);
  const then = named(deps);
  const newSubnets = then.subnets.filter((id) => !view.subnets.has(id));
  const newGroups = then.groups.filter((id) => !view.groups.has(id));
  const subnets = await readSubnets(deps, newSubnets);
  const groups = await readGroups(deps, newGroups);
  const rest = await readVpcsAndLimits(deps, 'missing');
  if (!(instances && enis && subnets && groups) || rest === 'Partly') return 'Partly';
  const asked = [newInstances, unread, newSubnets, newGroups].some((list) => list.length > 0);
  return asked || rest === 'All' ? 'All' : 'Nothing';
}

/** Waits for a read token, makes the call, and logs what went wrong. */
async function describe<T>(
  deps: Ec2ReaderDeps,
  what: string,
  call: () => Promise<Ec2Outcome<T>>,
): Promise<T | undefined> {
  for (let taken = deps.budget.take('Describe'); !taken.granted; taken = deps.budget.take('Describe')) {
    await deps.clock.sleep(taken.waitMs, `budget for ${what}`);
  }
  const outcome = await call();
  if (outcome.kind === 'ok') return outcome.value;
  if (outcome.kind === 'failed' && outcome.failure.kind === 'throttled') deps.budget.throttled('Describe');
  const cause =
    outcome.kind === 'failed' ? `${outcome.failure.code}: ${outcome.failure.message}` : outcome.cause;
  deps.log.warn('describe failed', { what, cause });
  return undefined;
}

function* batches<T>(items: readonly T[]): Generator<readonly T[]> {
  for (let at = 0; at < items.length; at += IDS_PER_CALL) yield items.slice(at, at + IDS_PER_CALL);
}

async function readInstances(deps: Ec2ReaderDeps, ids: readonly InstanceId[]): Promise<boolean> {
  let wholly = true;
  for (const batch of batches(ids)) {
    const found = await describe(deps, 'instances', () => deps.ec2.describeInstances(batch));
    if (found === undefined) wholly = false;
    else recordAnswer(deps.view.instances, batch, new Map(found.map((one) => [one.instanceId, one])));
  }
  return wholly;
}

/** The ENIs of some instances, foreign ones and those that are ours but not attached included. */
async function readEnisOf(deps: Ec2ReaderDeps, ids: readonly InstanceId[]): Promise<boolean> {
  let wholly = true;
  for (const batch of batches(ids)) {
    const wanted = new Set(batch);
    const found = await describe(deps, 'network interfaces', () =>
      deps.ec2.describeNetworkInterfaces({ instanceIds: batch }),
    );
    if (found === undefined) {
      wholly = false;
      continue;
    }
    const covers = (instanceId: InstanceId | undefined): boolean =>
      instanceId !== undefined && wanted.has(instanceId);
    recordEnis(deps.view, found, (eni) => covers(eni.attachment?.instanceId), deps.clock.now());
  }
  // What we made and is not attached is in no instance's list: without it a lost answer would be repaired twice.
  const owned = ids.length === 0 || (await readOwnedEnis(deps));
  if (wholly && owned) for (const id of ids) deps.view.readInstances.add(id);
  return wholly && owned;
}

async function readOwnedEnis(deps: Ec2ReaderDeps): Promise<boolean> {
  const tag = { key: OWNER_TAG, value: deps.clusterName };
  const found = await describe(deps, 'own network interfaces', () =>
    deps.ec2.describeNetworkInterfaces({ tag }),
  );
  if (found === undefined) return false;
  recordEnis(deps.view, found, (eni) => eni.tags[tag.key] === tag.value, deps.clock.now());
  return true;
}

async function readSubnets(deps: Ec2ReaderDeps, ids: readonly SubnetId[]): Promise<boolean> {
  let wholly = true;
  for (const batch of batches(ids)) {
    const found = await describe(deps, 'subnets', () => deps.ec2.describeSubnets(batch));
    if (found === undefined) wholly = false;
    else recordAnswer(deps.view.subnets, batch, new Map(found.map((one) => [one.subnetId, one])));
  }
  return wholly;
}

async function readGroups(deps: Ec2ReaderDeps, ids: readonly SecurityGroupId[]): Promise<boolean> {
  let wholly = true;
  for (const batch of batches(ids)) {
    const found = await describe(deps, 'security groups', () => deps.ec2.describeSecurityGroups(batch));
    if (found === undefined) wholly = false;
    else recordAnswer(deps.view.groups, batch, new Map(found.map((one) => [one.securityGroupId, one])));
  }
  return wholly;
}

async function readVpcsAndLimits(
  deps: Ec2ReaderDeps,
  which: 'all' | 'missing',
): Promise<'All' | 'Partly' | 'Nothing'> {
  const { view } = deps;
  const vpcIds = new Set<VpcId>();
  const types = new Set<string>();
  for (const known of view.instances.values()) {
    if (known.kind === 'Missing') continue;
    vpcIds.add(known.value.vpcId);
    types.add(known.value.instanceType);
  }
  const vpcs = [...vpcIds].filter((id) => which === 'all' || !view.vpcs.has(id));
  // Limits of a type never change, so they are read once.
  const newTypes = [...types].filter((type) => view.limits.get(type)?.kind !== 'Known');
  let wholly = true;
  for (const batch of batches(vpcs)) {
    const found = await describe(deps, 'VPCs', () => deps.ec2.describeVpcs(batch));
    if (found === undefined) wholly = false;
    else recordAnswer(view.vpcs, batch, new Map(found.map((one) => [one.vpcId, one])));
  }
  for (const batch of batches(newTypes)) {
    const found = await describe(deps, 'instance types', () => deps.ec2.describeInstanceTypes(batch));
    if (found === undefined) wholly = false;
    else recordAnswer(view.limits, batch, new Map(found.map((one) => [one.instanceType, one])));
  }
  if (vpcs.length + newTypes.length === 0) return 'Nothing';
  return wholly ? 'All' : 'Partly';
}
