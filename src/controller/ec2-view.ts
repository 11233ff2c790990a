// What we believe of EC2. The reader and the executor write it; snapshots read it.

import { familyOf } from '../domain/address/ip.ts';
import type { SubnetFacts } from '../domain/eniconfig/eni-config.ts';
import type { EniId, InstanceId, SecurityGroupId, SubnetId, VpcId } from '../domain/ids.ts';
import type { InstanceLimits } from '../domain/instance/instance-limits.ts';
import { ADDRESSES_PER_PREFIX } from '../domain/instance/slots.ts';
import { INSTANCE_TAG, isOwned } from '../domain/ipam/tags.ts';
import { sameData } from '../domain/same-data.ts';
import type { Ec2Eni, Ec2Instance, Ec2SecurityGroup, Ec2Vpc, EniAttachment } from '../ports/ec2.ts';
import {
  attachmentWritten,
  BELIEF_MS,
  contentAdded,
  contentOf,
  contentRemoved,
  type EniBelief,
  groupsWritten,
  missed,
  sighted,
  type SlotContent,
} from './eni-belief.ts';
import type { SubnetBlockRefusal } from './block-refusals.ts';
import type { ReadTroubles } from './read-trouble.ts';

/** `Missing`: EC2 was asked and does not have it. */
export type Known<T> = { readonly kind: 'Known'; readonly value: T } | { readonly kind: 'Missing' };

/** What is believed of one class's tags. Times in milliseconds since the epoch. */
export interface TagBelief {
  /** The tags that were asked for: others are another question. */
  readonly question: string;
  readonly firstReadAt: number;
  readonly readAt: number;
  /** Subnet -> when an answer last showed it. */
  readonly seenAt: ReadonlyMap<SubnetId, number>;
}

/** For whom reads have brought something new. */
export interface Ec2News {
  /** Of these, or of their ENIs. */
  readonly instances: Set<InstanceId>;
  /** Of subnets or security groups. */
  ofEniConfigs: boolean;
  /** Of what any node may be decided by. */
  ofAll: boolean;
}

export interface Ec2View {
  /** Since they were last taken (`takeNews`). */
  news: Ec2News;
  /**
   * From this time on a describe cannot show anything older than this process. Before, it may show what a process before
   * us has undone since, and miss what that one has done.
   */
  readonly trustedFrom: number;
  readonly instances: Map<InstanceId, Known<Ec2Instance>>;
  readonly subnets: Map<SubnetId, Known<SubnetFacts>>;
  readonly groups: Map<SecurityGroupId, Known<Ec2SecurityGroup>>;
  readonly vpcs: Map<VpcId, Known<Ec2Vpc>>;
  readonly limits: Map<string, Known<InstanceLimits>>;
  readonly enis: ReadonlyMap<EniId, EniBelief>;
  /** subnet -> ENIs in it */
  readonly eniCounts: ReadonlyMap<SubnetId, number>;
  /** instance -> ENIs that are attached to it or were made for it, and others that once were */
  readonly enisNear: ReadonlyMap<InstanceId, ReadonlySet<EniId>>;
  /** Instances whose ENIs a describe has answered since this process began: before that nothing is decided for them. */
  readonly readInstances: Set<InstanceId>;
  /** Subnets of which EC2 had no free block when it was last asked for one. */
  readonly blockRefusals: Map<SubnetId, SubnetBlockRefusal>;
  /** What EC2 refuses to tell. */
  readonly troubles: ReadTroubles;
  /** class -> what is believed of its tags */
  readonly tagged: Map<string, TagBelief>;
}

/** An empty view: nothing is known. */
export function createEc2View(now: number): Ec2View {
  return {
    news: noNews(),
    trustedFrom: now + BELIEF_MS,
    instances: new Map(),
    subnets: new Map(),
    groups: new Map(),
    vpcs: new Map(),
    limits: new Map(),
    enis: new Map(),
    eniCounts: new Map(),
    enisNear: new Map(),
    readInstances: new Set(),
    blockRefusals: new Map(),
    troubles: new Map(),
    tagged: new Map(),
  };
}

/** The value, if EC2 has it. */
export function knownValue<Key, T>(map: ReadonlyMap<Key, Known<T>>, key: Key): T | undefined {
  const found = map.get(key);
  return found?.kind === 'Known' ? found.value : undefined;
}

/** Records an answer to a question for `asked`: what is not in it is missing. Answers the keys of what has changed. */
export function recordAnswer<Key, T>(
  map: Map<Key, Known<T>>,
  asked: readonly Key[],
  found: ReadonlyMap<Key, T>,
): readonly Key[] {
  return asked.filter((key) => {
    const value = found.get(key);
    const now: Known<T> = value === undefined ? { kind: 'Missing' } : { kind: 'Known', value };
    const before = map.get(key);
    map.set(key, now);
    return !sameData(before, now);
  });
}

const noNews = (): Ec2News => ({ instances: new Set(), ofEniConfigs: false, ofAll: false });

/** Answers for whom reads have brought something new since the last time. */
export function takeNews(view: Ec2View): Readonly<Ec2News> {
  const { news } = view;
  view.news = noNews();
  return news;
}

/** No node is it any more. */
export function forgetInstance(view: Ec2View, id: InstanceId): void {
  view.instances.delete(id);
  view.readInstances.delete(id);
}

/** The instance that an ENI belongs to: where it is attached or, unattached, for which it was made. */
export function instanceOf(eni: Ec2Eni, clusterName: string): InstanceId | undefined {
  if (eni.attachment !== undefined) return eni.attachment.instanceId;
  return isOwned(eni.tags, clusterName) ? (eni.tags[INSTANCE_TAG] as InstanceId | undefined) : undefined;
}

/** Takes in ENIs that a describe showed. */
export function recordSighted(view: Ec2View, answer: readonly Ec2Eni[], now: number): void {
  for (const eni of answer) {
    take(view, sighted(view.enis.get(eni.eniId), eni, now));
    followPrimaryGroups(view, eni);
  }
}

/** What a describe should have shown. */
export interface Coverage {
  readonly covers: (eni: Ec2Eni) => boolean;
  /** Only ENIs near these can be covered; absent: any. */
  readonly near?: readonly InstanceId[];
}

/** Takes in that a describe showed these ENIs and no others. */
export function recordMissed(
  view: Ec2View,
  shown: ReadonlySet<EniId>,
  { covers, near }: Coverage,
  now: number,
): void {
  const candidates =
    near === undefined ? view.enis.keys() : near.flatMap((id) => [...(view.enisNear.get(id) ?? [])]);
  for (const eniId of candidates) {
    const belief = view.enis.get(eniId);
    if (belief === undefined || shown.has(eniId) || !covers(belief.eni)) continue;
    const still = missed(belief, now);
    if (still === undefined) remove(view, belief.eni);
    else if (still !== belief) take(view, still);
  }
}

/** Everything believed of the ENIs of one instance, deleted ones left out. */
export function enisOf(view: Ec2View, instanceId: InstanceId, clusterName: string): readonly EniBelief[] {
  return [...(view.enisNear.get(instanceId) ?? [])].flatMap((eniId) => {
    const belief = view.enis.get(eniId);
    if (belief === undefined || belief.deletedAt !== undefined) return [];
    return instanceOf(belief.eni, clusterName) === instanceId ? [belief] : [];
  });
}

/** Our own writes, as EC2 confirmed them. */
export const ownWrites = {
  created: (view: Ec2View, eni: Ec2Eni, now: number): void => {
    put(view, contentAdded(sighted(view.enis.get(eni.eniId), eni, now), contentOf(eni), now));
    takeFromSubnet(view, eni.subnetId, 1 + addressCountOf(contentOf(eni)));
  },
  attachment: (view: Ec2View, eniId: EniId, attachment: EniAttachment, now: number): void =>
    change(view, eniId, (belief) => attachmentWritten(belief, attachment, now)),
  regrouped: (view: Ec2View, eniId: EniId, ids: readonly SecurityGroupId[], now: number): void =>
    change(view, eniId, (belief) => groupsWritten(belief, ids, now)),
  added: (view: Ec2View, eniId: EniId, added: readonly SlotContent[], now: number): void => {
    change(view, eniId, (belief) => {
      takeFromSubnet(view, belief.eni.subnetId, addressCountOf(added));
      return contentAdded(belief, added, now);
    });
  },
  removed: (view: Ec2View, eniId: EniId, removed: readonly SlotContent[], now: number): void =>
    change(view, eniId, (belief) => contentRemoved(belief, removed, now)),
  deleted: (view: Ec2View, eniId: EniId, now: number): void =>
    change(view, eniId, (belief) => ({ ...belief, deletedAt: now })),
  held: (view: Ec2View, eniId: EniId, heldUntil: number): void =>
    change(view, eniId, (belief) => ({ ...belief, heldUntil })),
};

/** IPv4 addresses that they take of their subnet. */
const addressCountOf = (content: readonly SlotContent[]): number =>
  content.reduce(
    (sum, one) => sum + (familyOf(one) === 6 ? 0 : one.includes('/') ? ADDRESSES_PER_PREFIX : 1),
    0,
  );

/** EC2 said that the subnet is full, whatever the last describe counted. */
export function recordSubnetFull(view: Ec2View, subnetId: SubnetId): void {
  const subnet = knownValue(view.subnets, subnetId);
  if (subnet !== undefined) takeFromSubnet(view, subnetId, subnet.freeAddressCount);
}

function change(view: Ec2View, eniId: EniId, by: (belief: EniBelief) => EniBelief): void {
  const belief = view.enis.get(eniId);
  if (belief !== undefined) put(view, by(belief));
}

/** The maps are written here and nowhere else. */
interface Writable {
  readonly enis: Map<EniId, EniBelief>;
  readonly eniCounts: Map<SubnetId, number>;
  readonly enisNear: Map<InstanceId, Set<EniId>>;
}
const writable = (view: Ec2View): Writable => view as unknown as Writable;

function put(view: Ec2View, belief: EniBelief): void {
  const { enis, enisNear } = writable(view);
  const { eni } = belief;
  if (!enis.has(eni.eniId)) countEni(view, eni.subnetId, 1);
  enis.set(eni.eniId, belief);
  for (const instanceId of nearOf(eni)) {
    const near = enisNear.get(instanceId);
    if (near === undefined) enisNear.set(instanceId, new Set([eni.eniId]));
    else near.add(eni.eniId);
  }
}

/** Puts what a read has brought, and notes whether it is news: the times of sightings alone are none. */
function take(view: Ec2View, belief: EniBelief): void {
  const before = view.enis.get(belief.eni.eniId);
  if (before !== undefined && before.deletedAt === belief.deletedAt && sameData(before.eni, belief.eni)) {
    put(view, { ...belief, eni: before.eni });
    return;
  }
  noteNews(view, before?.eni, belief.eni);
  put(view, belief);
}

function noteNews({ news }: Ec2View, ...enis: readonly (Ec2Eni | undefined)[]): void {
  for (const eni of enis) if (eni !== undefined) for (const id of nearOf(eni)) news.instances.add(id);
}

function countEni(view: Ec2View, subnetId: SubnetId, change: 1 | -1): void {
  const { eniCounts } = writable(view);
  const count = (eniCounts.get(subnetId) ?? 0) + change;
  if (count > 0) eniCounts.set(subnetId, count);
  else eniCounts.delete(subnetId);
}

function remove(view: Ec2View, eni: Ec2Eni): void {
  const { enis, enisNear } = writable(view);
  if (enis.delete(eni.eniId)) countEni(view, eni.subnetId, -1);
  noteNews(view, eni);
  for (const instanceId of nearOf(eni)) {
    enisNear.get(instanceId)?.delete(eni.eniId);
    if (enisNear.get(instanceId)?.size === 0) enisNear.delete(instanceId);
  }
}

function nearOf({ attachment, tags }: Ec2Eni): readonly InstanceId[] {
  const madeFor = tags[INSTANCE_TAG] as InstanceId | undefined;
  return [attachment?.instanceId, madeFor].filter((id) => id !== undefined);
}

/** Of what is known of an instance this alone can change, and its primary ENI is read far more often. */
function followPrimaryGroups(view: Ec2View, eni: Ec2Eni): void {
  if (eni.attachment?.deviceIndex !== 0) return;
  const instance = knownValue(view.instances, eni.attachment.instanceId);
  if (instance?.primaryEniId !== eni.eniId) return;
  if (sameData(instance.primarySecurityGroupIds, eni.securityGroupIds)) return;
  const value = { ...instance, primarySecurityGroupIds: eni.securityGroupIds };
  view.news.instances.add(instance.instanceId);
  view.instances.set(instance.instanceId, { kind: 'Known', value });
}

/** Keeps the free count from promising what was just spent, until the next describe says the truth. */
function takeFromSubnet(view: Ec2View, subnetId: SubnetId, count: number): void {
  const subnet = knownValue(view.subnets, subnetId);
  if (subnet === undefined) return;
  const freeAddressCount = Math.max(0, subnet.freeAddressCount - count);
  view.subnets.set(subnetId, { kind: 'Known', value: { ...subnet, freeAddressCount } });
}
