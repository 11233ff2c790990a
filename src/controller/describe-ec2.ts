// Describes of EC2: what the cluster's objects name, put into the view.

import type { EniConfig } from '../domain/eniconfig/eni-config.ts';
import type { InstanceId, SecurityGroupId, SubnetId, VpcId } from '../domain/ids.ts';
import { OWNER_TAG } from '../domain/ipam/tags.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ec2Outcome, Ec2Reader } from '../ports/ec2.ts';
import type { Log } from '../ports/log.ts';
import type { Budget } from './budget.ts';
import type { ClusterView } from './cluster-view.ts';
import { readTaggedSubnets } from './tagged-subnets.ts';
import { type Ec2View, knownValue, recordAnswer, recordEnis } from './ec2-view.ts';

/** DescribeInstances and the instance filter of DescribeNetworkInterfaces take up to this many ids a call. */
const IDS_PER_CALL = 200;

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

/** Reads everything that the cluster names. False: some of it failed, and was logged. */
export async function readAll(deps: DescribeDeps): Promise<boolean> {
  const first = named(deps);
  const instances = await readInstances(deps, first.instances);
  const enis = await readEnisOf(deps, first.instances);
  const then = named(deps);
  const subnets = await readSubnets(deps, then.subnets);
  const groups = await readGroups(deps, then.groups);
  const rest = await readVpcsAndLimits(deps, 'all');
  const tagged = await readTagged(deps, 'all');
  return instances && enis && subnets && groups && rest !== 'Partly' && tagged !== 'Partly';
}

/** Asks for what the cluster names and the view does not hold. `Nothing`: there was nothing to ask for. */
export async function readMissing(deps: DescribeDeps): Promise<'All' | 'Partly' | 'Nothing'> {
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
  const tagged = await readTagged(deps, 'missing');
  if (!(instances && enis && subnets && groups) || rest === 'Partly' || tagged === 'Partly') return 'Partly';
  const asked = [newInstances, unread, newSubnets, newGroups].some((list) => list.length > 0);
  return asked || rest === 'All' || tagged === 'All' ? 'All' : 'Nothing';
}

/** Waits for a read token, makes the call, and logs what went wrong. */
async function describe<T>(
  deps: DescribeDeps,
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

async function readInstances(deps: DescribeDeps, ids: readonly InstanceId[]): Promise<boolean> {
  let wholly = true;
  for (const batch of batches(ids)) {
    const found = await describe(deps, 'instances', () => deps.ec2.describeInstances(batch));
    if (found === undefined) wholly = false;
    else recordAnswer(deps.view.instances, batch, new Map(found.map((one) => [one.instanceId, one])));
  }
  return wholly;
}

/** The ENIs of some instances, foreign ones and those that are ours but not attached included. */
export async function readEnisOf(deps: DescribeDeps, ids: readonly InstanceId[]): Promise<boolean> {
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

async function readOwnedEnis(deps: DescribeDeps): Promise<boolean> {
  const tag = { key: OWNER_TAG, value: deps.clusterName };
  const found = await describe(deps, 'own network interfaces', () =>
    deps.ec2.describeNetworkInterfaces({ tag }),
  );
  if (found === undefined) return false;
  recordEnis(deps.view, found, (eni) => eni.tags[tag.key] === tag.value, deps.clock.now());
  return true;
}

/** Reads some subnets. False: it failed, and was logged. */
export async function readSubnets(deps: DescribeDeps, ids: readonly SubnetId[]): Promise<boolean> {
  let wholly = true;
  for (const batch of batches(ids)) {
    const found = await describe(deps, 'subnets', () => deps.ec2.describeSubnets(batch));
    if (found === undefined) wholly = false;
    else recordAnswer(deps.view.subnets, batch, new Map(found.map((one) => [one.subnetId, one])));
  }
  return wholly;
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
    else recordAnswer(deps.view.groups, batch, new Map(found.map((one) => [one.securityGroupId, one])));
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
