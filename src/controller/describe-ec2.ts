// Describes of EC2: what the cluster's objects name, put into the view.

import type { EniConfig, SubnetFacts } from '../domain/eniconfig/eni-config.ts';
import type { InstanceId, SecurityGroupId, SubnetId, VpcId } from '../domain/ids.ts';
import { INSTANCE_TAG, isOwned, OWNER_TAG } from '../domain/ipam/tags.ts';
import { sameData } from '../domain/same-data.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ec2Eni, Ec2Outcome, Ec2Reader } from '../ports/ec2.ts';
import type { Log } from '../ports/log.ts';
import { noteFreeCount } from './block-refusals.ts';
import type { Budget } from './budget.ts';
import type { ClusterView } from './cluster-view.ts';
import { noteRead, readTrouble, type ReadSubject } from './read-trouble.ts';
import { readTaggedSubnets } from './tagged-subnets.ts';
import {
  type Ec2View,
  type Coverage,
  knownValue,
  recordAnswer,
  recordMissed,
  recordSighted,
} from './ec2-view.ts';

/** DescribeInstances and the instance filter of DescribeNetworkInterfaces take up to this many ids a call. */
const IDS_PER_CALL = 200;
/** The most that EC2 answers to one request. */
const ITEMS_PER_PAGE = 1000;

/** With fewer free addresses a subnet may have given a node less than it wanted: more than the largest ENI takes. */
const SCARCE_COUNT = 64;
/** Between two pages that are taken in. */
const PAGE_PAUSE_MS = 1;

export interface DescribeDeps {
  readonly ec2: Ec2Reader;
  readonly clusterName: string;
  readonly cluster: ClusterView;
  readonly view: Ec2View;
  readonly budget: Budget;
  readonly clock: Clock;
  readonly log: Log;
}

/** Ids that the cluster's objects name. */
function named(deps: DescribeDeps): {
  instances: InstanceId[];
  subnets: SubnetId[];
  groups: SecurityGroupId[];
} {
  const { cluster, view } = deps;
  const instances = [...cluster.nodesOfInstance.keys()];
  const eniConfigs: EniConfig[] = [];
  for (const { spec } of cluster.eniConfigs.values())
    if (spec.kind === 'Parsed') eniConfigs.push(spec.eniConfig);
  const subnets = new Set<SubnetId>([...eniConfigs.map((one) => one.subnetId), ...view.eniCounts.keys()]);
  const groups = new Set<SecurityGroupId>(eniConfigs.flatMap((one) => one.securityGroupIds));
  for (const id of instances) {
    // Of the others the primary ENI is counted already.
    if (view.readInstances.has(id)) continue;
    const instance = knownValue(view.instances, id);
    if (instance !== undefined) subnets.add(instance.primarySubnetId);
  }
  return { instances, subnets: [...subnets], groups: [...groups] };
}

/**
 * Refreshes everything that the cluster names, in as many calls as it takes for any number of nodes: ENIs by their VPCs,
 * all at once; `thorough` also reads what hardly ever changes. False: some of it failed, and was logged.
 */
export async function readAll(deps: DescribeDeps, thorough: boolean): Promise<boolean> {
  const { view } = deps;
  const first = named(deps);
  const instances = await readInstances(deps, [
    ...first.instances.filter((id) => view.instances.get(id)?.kind !== 'Known'),
    ...(thorough ? nextToRefresh(view, first.instances) : []),
  ]);
  const enis = await readEnisByVpc(deps, first.instances);
  const then = named(deps);
  const subnets = await readSubnets(deps, then.subnets);
  const newGroups = then.groups.filter((id) => thorough || view.groups.get(id)?.kind !== 'Known');
  const groups = await readGroups(deps, newGroups);
  const rest = await readVpcsAndLimits(deps, thorough ? 'all' : 'missing');
  const tagged = await readTagged(deps, thorough ? 'all' : 'missing');
  return instances && enis && subnets && groups && rest !== 'Partly' && tagged !== 'Partly';
}

/** One call's worth of instances, those that were read longest ago: what is known of an instance hardly changes. */
function nextToRefresh(view: Ec2View, instances: readonly InstanceId[]): readonly InstanceId[] {
  const named = new Set(instances);
  // The map keeps the order in which they were last read (readInstances moves them to its end).
  return [...view.instances.keys()].filter((id) => named.has(id)).slice(0, IDS_PER_CALL);
}

/** Asks for what the cluster names and the view does not hold. `Nothing`: there was nothing to ask for. */
export async function readMissing(deps: DescribeDeps): Promise<'All' | 'Partly' | 'Nothing'> {
  const { view } = deps;
  const first = named(deps);
  const newInstances = first.instances.filter((id) => !view.instances.has(id));
  const unread = first.instances.filter((id) => !view.readInstances.has(id));
  const instances = await readInstances(deps, newInstances);
  // For many new nodes at once the whole VPC is fewer calls.
  const enis =
    unread.length > IDS_PER_CALL ? await readEnisByVpc(deps, unread) : await readEnisOf(deps, unread);
  const then = named(deps);
  const newSubnets = then.subnets.filter((id) => !view.subnets.has(id));
  const newGroups = then.groups.filter((id) => !view.groups.has(id));
  const subnets = await readSubnets(deps, newSubnets);
  const groups = await readGroups(deps, newGroups);
  const rest = await readVpcsAndLimits(deps, 'missing');
  const tagged = await readTagged(deps, 'missing');
  if (!(instances && enis && subnets && groups) || rest === 'Partly' || tagged === 'Partly') return 'Partly';
  const askedCount = newInstances.length + unread.length + newSubnets.length + newGroups.length;
  return askedCount > 0 || rest === 'All' || tagged === 'All' ? 'All' : 'Nothing';
}

/** Waits for a read token, makes the call, and logs what went wrong. */
async function describe<T>(
  deps: Omit<DescribeDeps, 'cluster'>,
  what: ReadSubject,
  call: () => Promise<Ec2Outcome<readonly T[]>>,
): Promise<readonly T[] | undefined> {
  for (let taken = deps.budget.takeRead(); !taken.granted; taken = deps.budget.takeRead()) {
    await deps.clock.sleep(taken.waitMs, `budget for ${what}`);
  }
  const sentAt = deps.clock.now();
  const outcome = await call();
  const before = readTrouble(deps.view.troubles);
  noteRead(deps.view.troubles, what, outcome);
  if (!sameData(before, readTrouble(deps.view.troubles))) deps.view.news.ofAll = true;
  if (outcome.kind === 'ok') {
    // Each page is a request of its own.
    const pageCount = Math.ceil(outcome.value.length / ITEMS_PER_PAGE);
    if (pageCount > 1) deps.budget.charge('Describe', pageCount - 1);
    return outcome.value;
  }
  if (outcome.kind === 'failed' && outcome.failure.kind === 'throttled') {
    deps.budget.throttled('Describe', sentAt);
  }
  const cause =
    outcome.kind === 'failed' ? `${outcome.failure.code}: ${outcome.failure.message}` : outcome.cause;
  deps.log.warn('describe failed', { what, cause });
  return undefined;
}

function noteNewsOfAll({ news }: Ec2View): void {
  news.ofEniConfigs = true;
  news.ofAll = true;
}

function* batches<T>(items: readonly T[]): Generator<readonly T[]> {
  for (let at = 0; at < items.length; at += IDS_PER_CALL) yield items.slice(at, at + IDS_PER_CALL);
}

async function readInstances(deps: DescribeDeps, ids: readonly InstanceId[]): Promise<boolean> {
  let wholly = true;
  for (const batch of batches(ids)) {
    const found = await describe(deps, 'instances', () => deps.ec2.describeInstances(batch));
    if (found === undefined) wholly = false;
    else {
      const answers = new Map(found.map((one) => [one.instanceId, one]));
      for (const id of recordAnswer(deps.view.instances, batch, answers)) deps.view.news.instances.add(id);
    }
  }
  return wholly;
}

/**
 * Takes an answer into the view piece by piece: news that comes meanwhile must not wait for thousands of ENIs. In between
 * the view is one that a stale describe could have made.
 */
async function takeIn(
  { view, clock }: Pick<DescribeDeps, 'view' | 'clock'>,
  answer: readonly Ec2Eni[],
  coverage: Coverage,
): Promise<void> {
  const answeredAt = clock.now();
  for (let at = 0; at < answer.length; at += ITEMS_PER_PAGE) {
    if (at > 0) await clock.sleep(PAGE_PAUSE_MS, 'taking in network interfaces');
    recordSighted(view, answer.slice(at, at + ITEMS_PER_PAGE), answeredAt);
  }
  recordMissed(view, new Set(answer.map((eni) => eni.eniId)), coverage, answeredAt);
}

/** The ENIs of some instances, foreign ones and those that were made for them and are not attached included. */
export async function readEnisOf(deps: DescribeDeps, ids: readonly InstanceId[]): Promise<boolean> {
  const { view, clusterName } = deps;
  let wholly = true;
  for (const batch of batches(ids)) {
    const wanted = new Set<string>(batch);
    const attached = await describe(deps, 'network interfaces', () =>
      deps.ec2.describeNetworkInterfaces({ instanceIds: batch }),
    );
    if (attached !== undefined) {
      const covers = ({ attachment }: Ec2Eni): boolean =>
        attachment !== undefined && wanted.has(attachment.instanceId);
      await takeIn(deps, attached, { covers, near: batch });
    }
    // What we made and is not attached is in no instance's list: without it a lost answer would be repaired twice.
    const tag = { key: INSTANCE_TAG, value: batch };
    const madeFor = await describe(deps, 'network interfaces made for instances', () =>
      deps.ec2.describeNetworkInterfaces({ tag }),
    );
    if (madeFor !== undefined) {
      const own = madeFor.filter((eni) => isOwned(eni.tags, clusterName));
      const covers = ({ tags }: Ec2Eni): boolean =>
        isOwned(tags, clusterName) && wanted.has(tags[INSTANCE_TAG] ?? '');
      await takeIn(deps, own, { covers, near: batch });
    }
    if (attached === undefined || madeFor === undefined) wholly = false;
    else for (const id of batch) noteReadOf(view, id);
  }
  return wholly;
}

function noteReadOf(view: Ec2View, id: InstanceId): void {
  if (!view.readInstances.has(id)) view.news.instances.add(id);
  view.readInstances.add(id);
}

/** All ENIs that carry this cluster's tag, in one paginated call; undefined: it failed, and was logged. */
export async function readOwnEnis(
  deps: Omit<DescribeDeps, 'cluster'>,
): Promise<readonly Ec2Eni[] | undefined> {
  const tag = { key: OWNER_TAG, value: deps.clusterName };
  const found = await describe(deps, 'own network interfaces', () =>
    deps.ec2.describeNetworkInterfaces({ tag }),
  );
  if (found !== undefined) {
    await takeIn(deps, found, { covers: (eni) => isOwned(eni.tags, deps.clusterName) });
  }
  return found;
}

/** All ENIs of the VPCs that the instances are in, in one paginated call: those of all nodes, whatever their number. */
async function readEnisByVpc(deps: DescribeDeps, instances: readonly InstanceId[]): Promise<boolean> {
  const { view } = deps;
  const known = instances.flatMap((id) => knownValue(view.instances, id) ?? []);
  let wholly = true;
  for (const batch of batches([...new Set(known.map((instance) => instance.vpcId))])) {
    const asked = new Set(batch);
    const found = await describe(deps, 'network interfaces of VPCs', () =>
      deps.ec2.describeNetworkInterfaces({ vpcIds: batch }),
    );
    if (found === undefined) {
      wholly = false;
      continue;
    }
    await takeIn(deps, found, { covers: (eni) => asked.has(eni.vpcId) });
    for (const { instanceId, vpcId } of known) if (asked.has(vpcId)) noteReadOf(view, instanceId);
  }
  return wholly;
}

/** Reads some subnets. False: it failed, and was logged. */
export async function readSubnets(deps: DescribeDeps, ids: readonly SubnetId[]): Promise<boolean> {
  let wholly = true;
  for (const batch of batches(ids)) {
    const found = await describe(deps, 'subnets', () => deps.ec2.describeSubnets(batch));
    if (found === undefined) wholly = false;
    else recordSubnets(deps.view, batch, found);
  }
  return wholly;
}

/** Which subnet is how full is news for nodes only where they may have found it full. */
function recordSubnets(view: Ec2View, asked: readonly SubnetId[], found: readonly SubnetFacts[]): void {
  const before = new Map(asked.map((id) => [id, view.subnets.get(id)]));
  for (const subnet of found) noteFreeCount(view.blockRefusals, subnet);
  for (const id of recordAnswer(view.subnets, asked, new Map(found.map((one) => [one.subnetId, one])))) {
    view.news.ofEniConfigs = true;
    const was = before.get(id);
    const now = knownValue(view.subnets, id);
    const isCountOnly =
      was?.kind === 'Known' &&
      now !== undefined &&
      sameData({ ...was.value, freeAddressCount: 0 }, { ...now, freeAddressCount: 0 });
    if (!isCountOnly || was.value.freeAddressCount < SCARCE_COUNT) view.news.ofAll = true;
  }
}

/** The subnets that classes name by their tags. */
const readTagged = (deps: DescribeDeps, which: 'all' | 'missing'): ReturnType<typeof readTaggedSubnets> =>
  readTaggedSubnets(
    {
      cluster: deps.cluster,
      view: deps.view,
      now: () => deps.clock.now(),
      find: (filter) => describe(deps, 'tagged subnets', () => deps.ec2.findSubnets(filter)),
    },
    which,
  );

async function readGroups(deps: DescribeDeps, ids: readonly SecurityGroupId[]): Promise<boolean> {
  let wholly = true;
  for (const batch of batches(ids)) {
    const found = await describe(deps, 'security groups', () => deps.ec2.describeSecurityGroups(batch));
    if (found === undefined) wholly = false;
    else if (
      recordAnswer(deps.view.groups, batch, new Map(found.map((one) => [one.securityGroupId, one]))).length >
      0
    )
      noteNewsOfAll(deps.view);
  }
  return wholly;
}

async function readVpcsAndLimits(
  deps: DescribeDeps,
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
    else if (recordAnswer(view.vpcs, batch, new Map(found.map((one) => [one.vpcId, one]))).length > 0)
      noteNewsOfAll(view);
  }
  for (const batch of batches(newTypes)) {
    const found = await describe(deps, 'instance types', () => deps.ec2.describeInstanceTypes(batch));
    if (found === undefined) wholly = false;
    else if (
      recordAnswer(view.limits, batch, new Map(found.map((one) => [one.instanceType, one]))).length > 0
    )
      noteNewsOfAll(view);
  }
  if (vpcs.length + newTypes.length === 0) return 'Nothing';
  return wholly ? 'All' : 'Partly';
}
