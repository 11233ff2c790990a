// The truth of the simulated EC2: everything that exists in the account and Region, and who hears of changes.

import { blockOf } from '../../domain/address/cidr.ts';
import { type Cidr, familyOf, type Ip, type IpFamily } from '../../domain/address/ip.ts';
import type { SubnetFacts } from '../../domain/eniconfig/eni-config.ts';
import type { AttachmentId, EniId, InstanceId, SecurityGroupId, SubnetId, VpcId } from '../../domain/ids.ts';
import type { InstanceLimits } from '../../domain/instance/instance-limits.ts';
import { assert } from '../../domain/result.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Subscription } from '../../ports/cluster.ts';
import type { Ec2Eni, Ec2Instance, EniAttachment } from '../../ports/ec2.ts';
import { type Random, randomHex } from '../../ports/random.ts';
import { type Ec2Profile, STALENESS_MAX_MS } from './ec2-profile.ts';
import type { Ipv6PrefixPool } from './ipv6-prefix-pool.ts';
import type { SimSecurityGroup } from './security-group.ts';
import type { SubnetPool } from './subnet-pool.ts';
import { createVersionedMap, type VersionedMap } from './versioned-map.ts';

export interface SimVpc {
  readonly vpcId: VpcId;
  readonly cidrs: readonly Cidr[];
  /** What an ENI gets that is made without groups. */
  readonly defaultSecurityGroupId: SecurityGroupId;
}

/**
 * What happened. `actor` is the client's name, `person` for the lab's hand, or `ec2` for what completes by itself;
 * `sentAt` is when its request was sent.
 */
export type Ec2Change = {
  readonly at: number;
  readonly actor: string;
  readonly sentAt: number;
} & Ec2ChangeKind;

export type Ec2ChangeKind =
  | { readonly kind: 'EniCreated' | 'EniDeleted'; readonly eni: Ec2Eni }
  | {
      readonly kind: 'AttachmentChanged';
      /** The ENI as it is now, without an attachment when `status` is `detached`. */
      readonly eni: Ec2Eni;
      readonly attachment: EniAttachment;
      readonly status: EniAttachment['status'] | 'detached';
    }
  | {
      readonly kind: 'AddressesChanged';
      readonly eni: Ec2Eni;
      /** Every single address, those of IPv4 prefixes one by one. */
      readonly assigned: readonly Ip[];
      readonly unassigned: readonly Ip[];
      readonly ipv6Assigned?: readonly Cidr[];
      readonly ipv6Unassigned?: readonly Cidr[];
    }
  /** Security groups or delete-on-termination. */
  | { readonly kind: 'EniModified'; readonly eni: Ec2Eni }
  | { readonly kind: 'InstanceChanged'; readonly instance: Ec2Instance }
  | { readonly kind: 'SecurityGroupChanged'; readonly securityGroupId: SecurityGroupId }
  | { readonly kind: 'SubnetChanged'; readonly subnetId: SubnetId };

/** A create that a client token stands for. */
export interface RememberedCreate {
  readonly at: number;
  readonly parameters: string;
  /** The answer of the first time; a replay gives it again even when the ENI is long gone. */
  readonly eni: Ec2Eni;
}

export interface Region {
  readonly clock: Clock;
  readonly profile: () => Ec2Profile;
  /** Told of each fault, by the profile's field, when it strikes. */
  readonly struck: (fault: keyof Ec2Profile) => void;
  /** One stream per purpose, so that one more draw in one place shifts nothing elsewhere. */
  readonly draws: { readonly ids: Random; readonly addresses: Random; readonly delays: Random };
  readonly vpcs: VersionedMap<VpcId, SimVpc>;
  readonly subnets: VersionedMap<SubnetId, SubnetFacts>;
  readonly subnetTags: VersionedMap<SubnetId, Readonly<Record<string, string>>>;
  readonly pools: Map<SubnetId, SubnetPool>;
  /** Of the subnets that have an IPv6 block. */
  readonly ipv6Pools: Map<SubnetId, Ipv6PrefixPool>;
  /** Subnet CIDR reservations of type prefix. */
  readonly prefixReservations: Map<SubnetId, readonly Cidr[]>;
  readonly securityGroups: VersionedMap<SecurityGroupId, SimSecurityGroup>;
  readonly instances: VersionedMap<InstanceId, Ec2Instance>;
  readonly enis: VersionedMap<EniId, Ec2Eni>;
  /** Milliseconds since the epoch, by ENI. */
  readonly createdAt: Map<EniId, number>;
  /** `key=value` -> ENIs with this tag, and ones that are gone; an ENI keeps the tags that it is made with. */
  readonly enisTagged: Map<string, Set<EniId>>;
  /** instance -> ENIs that are or were attached to it */
  readonly enisNear: Map<InstanceId, Set<EniId>>;
  /** Every attachment that exists -> its ENI. */
  readonly attachments: Map<AttachmentId, EniId>;
  /** Terminated instances that describes still show -> when they were terminated, milliseconds since the epoch. */
  readonly terminatedAt: Map<InstanceId, number>;
  /** `vpc address` or `vpc prefix` -> the ENI that holds it */
  readonly holders: Map<string, EniId>;
  readonly instanceLimits: Map<string, InstanceLimits>;
  /** client token -> its create */
  readonly tokens: Map<string, RememberedCreate>;
  /** Runs `effect` as `actor`'s doing, by a request of `sentAt`; now when absent. */
  as<T>(actor: string, effect: () => T, sentAt?: number): T;
  /** Tells everybody at once, in the same turn. */
  emit(change: Ec2ChangeKind): void;
  onChange(notify: (change: Ec2Change) => void): Subscription;
}

export interface RegionOptions {
  readonly clock: Clock;
  readonly draws: Region['draws'];
  readonly profile: () => Ec2Profile;
  readonly struck: Region['struck'];
}

export function createRegion({ clock, draws, profile, struck }: RegionOptions): Region {
  const versioned = <K, V>(): VersionedMap<K, V> =>
    createVersionedMap<K, V>({ now: () => clock.now(), historyMs: STALENESS_MAX_MS });
  const listeners = new Set<(change: Ec2Change) => void>();
  let actor = 'ec2';
  let requestSentAt: number | undefined;
  return {
    clock,
    profile,
    struck,
    draws,
    vpcs: versioned(),
    subnets: versioned(),
    subnetTags: versioned(),
    pools: new Map(),
    ipv6Pools: new Map(),
    prefixReservations: new Map(),
    securityGroups: versioned(),
    instances: versioned(),
    enis: versioned(),
    createdAt: new Map(),
    enisTagged: new Map(),
    enisNear: new Map(),
    attachments: new Map(),
    terminatedAt: new Map(),
    holders: new Map(),
    instanceLimits: new Map(),
    tokens: new Map(),
    as: (name, effect, sentAt) => {
      const before = { actor, requestSentAt };
      actor = name;
      requestSentAt = sentAt;
      try {
        return effect();
      } finally {
        ({ actor, requestSentAt } = before);
      }
    },
    emit: (change) => {
      const complete: Ec2Change = { at: clock.now(), actor, sentAt: requestSentAt ?? clock.now(), ...change };
      for (const notify of listeners) notify(complete);
    },
    onChange: (notify) => {
      listeners.add(notify);
      return { close: () => listeners.delete(notify) };
    },
  };
}

/** What an id begins with -> its type. */
interface IdTypes {
  readonly vpc: VpcId;
  readonly subnet: SubnetId;
  readonly sg: SecurityGroupId;
  readonly i: InstanceId;
  readonly eni: EniId;
  readonly 'eni-attach': AttachmentId;
}

/** A new id as AWS makes them: 17 hex digits of which the first is 0. */
export const newId = <Prefix extends keyof IdTypes>(region: Region, prefix: Prefix): IdTypes[Prefix] =>
  `${prefix}-0${randomHex(region.draws.ids, 16)}` as IdTypes[Prefix];

export const tagText = (key: string, value: string): string => `${key}=${value}`;

export const holderKey = (vpcId: VpcId, held: Ip | Cidr): string => `${vpcId} ${held}`;

/** Prefix lengths of what EC2 delegates. https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-prefix-eni.html */
const DELEGATED_LENGTH: Readonly<Record<IpFamily, number>> = { 4: 28, 6: 80 };

/** The ENI that holds the address: as one of its own, or within a prefix. */
export function holderOf(region: Region, vpcId: VpcId, address: Ip): EniId | undefined {
  const prefix = blockOf(address, DELEGATED_LENGTH[familyOf(address)]);
  return region.holders.get(holderKey(vpcId, address)) ?? region.holders.get(holderKey(vpcId, prefix));
}

export function poolOf(region: Region, subnetId: SubnetId): SubnetPool {
  const pool = region.pools.get(subnetId);
  assert(pool !== undefined, `subnet ${subnetId} has a pool of addresses`);
  return pool;
}

/** Writes the pool's count into what describes see, after any change of the pool. */
export function publishFreeCount(region: Region, subnetId: SubnetId): void {
  const facts = region.subnets.get(subnetId);
  assert(facts !== undefined, `subnet ${subnetId} of a pool exists`);
  region.subnets.put(subnetId, { ...facts, freeAddressCount: poolOf(region, subnetId).freeCount() });
}

export interface EniPlace {
  readonly eniId: EniId;
  readonly subnetId: SubnetId;
  readonly vpcId: VpcId;
}

/** Takes prefixes of one family for an ENI; undefined, and none, when the subnet has not so many whole free blocks. */
export function takePrefixes(
  region: Region,
  eni: EniPlace,
  { family, count }: { readonly family: IpFamily; readonly count: number },
): readonly Cidr[] | undefined {
  const request = { count, ...(region.profile().randomAddresses ? { order: region.draws.addresses } : {}) };
  const taken =
    family === 4
      ? poolOf(region, eni.subnetId).takePrefixes(request)
      : region.ipv6Pools.get(eni.subnetId)?.take(request);
  for (const prefix of taken ?? []) region.holders.set(holderKey(eni.vpcId, prefix), eni.eniId);
  if (taken !== undefined) publishFreeCount(region, eni.subnetId);
  return taken;
}

/** Gives prefixes of either family back, at once. */
export function givePrefixes(region: Region, eni: EniPlace, prefixes: readonly Cidr[]): void {
  poolOf(region, eni.subnetId).givePrefixes(prefixes.filter((prefix) => familyOf(prefix) === 4));
  region.ipv6Pools.get(eni.subnetId)?.give(prefixes.filter((prefix) => familyOf(prefix) === 6));
  for (const prefix of prefixes) region.holders.delete(holderKey(eni.vpcId, prefix));
  publishFreeCount(region, eni.subnetId);
}

/** Takes addresses out of the subnet for an ENI; undefined, and nothing, when there are not enough. */
export function takeAddresses(region: Region, eni: EniPlace, count: number): readonly Ip[] | undefined {
  const taken = poolOf(region, eni.subnetId).take({
    count,
    ...(region.profile().randomAddresses ? { order: region.draws.addresses } : {}),
  });
  if (taken === undefined) return undefined;
  for (const address of taken) region.holders.set(holderKey(eni.vpcId, address), eni.eniId);
  publishFreeCount(region, eni.subnetId);
  return taken;
}

/** Takes one address of each of at most `count` whole free /28 blocks: what breaks up a subnet the fastest. */
export function takeScattered(region: Region, eni: EniPlace, count: number): readonly Ip[] {
  const taken = poolOf(region, eni.subnetId).takeScattered(count);
  for (const address of taken) region.holders.set(holderKey(eni.vpcId, address), eni.eniId);
  publishFreeCount(region, eni.subnetId);
  return taken;
}

/** Gives an ENI's addresses back to its subnet, at once: EC2 may give them to someone else in the next call. */
export function giveAddresses(region: Region, eni: EniPlace, addresses: readonly Ip[]): void {
  poolOf(region, eni.subnetId).give(addresses);
  for (const address of addresses) region.holders.delete(holderKey(eni.vpcId, address));
  publishFreeCount(region, eni.subnetId);
}

/** ENIs that are attached to the instance, attaching and detaching ones included, by device index. */
export function attachedEnis(region: Region, instanceId: InstanceId): readonly Ec2Eni[] {
  const enis: Ec2Eni[] = [];
  for (const eniId of region.enisNear.get(instanceId) ?? []) {
    const eni = region.enis.get(eniId);
    if (eni?.attachment?.instanceId === instanceId) enis.push(eni);
  }
  return enis.sort((a, b) => (a.attachment?.deviceIndex ?? 0) - (b.attachment?.deviceIndex ?? 0));
}
