// What describes answer: the truth of now, or of a while ago, in no order that anybody may rely on.

import type { SubnetFacts } from '../../domain/eniconfig/eni-config.ts';
import type { EniId, InstanceId } from '../../domain/ids.ts';
import type { Ec2Eni, Ec2Instance, EniFilter, SubnetFilter } from '../../ports/ec2.ts';
import { type Random, randomInt } from '../../ports/random.ts';
import { chance, shuffled } from '../kernel/draw.ts';
import { STALENESS_MAX_MS } from './ec2-profile.ts';
import { forgetTerminated } from './instance-operations.ts';
import { type Region, tagText } from './region.ts';
import type { VersionedMap } from './versioned-map.ts';

/** From which moment an object is seen; asked once per object. */
export type Moment = () => number;

/**
 * Draws how old one describe's answer is, at least `leastMs`. Answers of later calls may be older: describes go back in
 * time.
 */
export function drawMoment(region: Region, random: Random, leastMs = 0): Moment {
  const { staleOdds, staleMs, stalePerObject } = region.profile();
  const now = region.clock.now();
  const ageMax = Math.min(staleMs, STALENESS_MAX_MS);
  if (ageMax === 0 || !chance(random, staleOdds)) return () => now - leastMs;
  region.struck('staleOdds');
  const age = Math.max(leastMs, randomInt(random, ageMax + 1));
  return stalePerObject ? () => now - Math.max(leastMs, randomInt(random, ageMax + 1)) : () => now - age;
}

/** The objects of the given keys as seen from the moment, shuffled. */
export function seen<K, V>(
  map: VersionedMap<K, V>,
  keys: readonly K[],
  view: { readonly moment: Moment; readonly random: Random },
): V[] {
  const found: V[] = [];
  for (const key of new Set(keys)) {
    const value = map.asOf(key, view.moment());
    if (value !== undefined) found.push(value);
  }
  return shuffled(view.random, found);
}

export function describeEnis(
  region: Region,
  filter: EniFilter,
  view: { readonly moment: Moment; readonly random: Random },
): readonly Ec2Eni[] {
  return seen(region.enis, candidates(region, filter), view).filter(matcher(filter));
}

/** ENIs that may match, without looking at each ENI of the account when ids are given. */
function candidates(region: Region, filter: EniFilter): readonly EniId[] {
  if (filter.eniIds !== undefined) return filter.eniIds;
  if (filter.instanceIds !== undefined) {
    return filter.instanceIds.flatMap((instanceId) => [...(region.enisNear.get(instanceId) ?? [])]);
  }
  if (filter.tag !== undefined) return taggedCandidates(region, filter.tag);
  return region.enis.recentKeys();
}

function taggedCandidates(region: Region, { key, value }: NonNullable<EniFilter['tag']>): readonly EniId[] {
  const values = typeof value === 'string' ? [value] : value;
  return values.flatMap((one) => {
    const tagged = region.enisTagged.get(tagText(key, one)) ?? new Set<EniId>();
    for (const eniId of tagged) if (!region.enis.isRecent(eniId)) tagged.delete(eniId);
    if (tagged.size === 0) region.enisTagged.delete(tagText(key, one));
    return [...tagged];
  });
}

/** Every filter that is given must match. */
function matcher({ eniIds, instanceIds, vpcIds, tag }: EniFilter): (eni: Ec2Eni) => boolean {
  const oneOf = <T>(values: readonly T[] | undefined): ((value: T | undefined) => boolean) => {
    if (values === undefined) return () => true;
    const wanted = new Set(values);
    return (value) => value !== undefined && wanted.has(value);
  };
  const isEni = oneOf(eniIds);
  const isInstance = oneOf(instanceIds);
  const isVpc = oneOf(vpcIds);
  const isTagged = oneOf(typeof tag?.value === 'string' ? [tag.value] : tag?.value);
  return (eni) =>
    isEni(eni.eniId) &&
    isInstance(eni.attachment?.instanceId) &&
    isVpc(eni.vpcId) &&
    isTagged(tag && eni.tags[tag.key]);
}

export function describeInstances(
  region: Region,
  instanceIds: readonly InstanceId[],
  view: { readonly moment: Moment; readonly random: Random },
): readonly Ec2Instance[] {
  forgetTerminated(region);
  return seen(region.instances, instanceIds, view);
}

export function describeSubnets(
  region: Region,
  subnetIds: readonly SubnetFacts['subnetId'][],
  view: { readonly moment: Moment; readonly random: Random },
): readonly SubnetFacts[] {
  return seen(region.subnets, subnetIds, view);
}

/** Tags may be older than what else is told of the subnet, as any two describes may. */
export function findSubnets(
  region: Region,
  { vpcIds, tags }: SubnetFilter,
  view: { readonly moment: Moment; readonly random: Random },
): readonly SubnetFacts[] {
  return seen(region.subnets, region.subnets.recentKeys(), view).filter(({ subnetId, vpcId }) => {
    const has = region.subnetTags.asOf(subnetId, view.moment()) ?? {};
    return vpcIds.includes(vpcId) && Object.entries(tags).every(([key, value]) => has[key] === value);
  });
}
