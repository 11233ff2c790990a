// LV-2, PFX-2, PFX-3: at rest a node holds what its targets say, in the slots of its mode, as far as EC2 has it.

import { familyOf, type Ip } from '../../domain/address/ip.ts';
import { prefixAddresses } from '../../domain/address/prefix.ts';
import type { NodeName } from '../../domain/ids.ts';
import { maxPods } from '../../domain/instance/max-pods.ts';
import { ADDRESSES_PER_PREFIX } from '../../domain/instance/slots.ts';
import type { Mode } from '../../domain/ipam/mode.ts';
import { ENI_CONFIG_TAG, OWNER_TAG } from '../../domain/ipam/tags.ts';
import type { Ec2Eni } from '../../ports/ec2.ts';
import type { SubnetTruth } from '../ec2/ec2-truth.ts';
import { grantableAddresses, holdsForPods, podAddresses } from '../ec2/pod-addresses.ts';
import type { WorldTruth } from './checker.ts';
import { addressesHeldOn, growthObstacleOf } from './obstacle.ts';
import type { Place } from './selection-checker.ts';

/** How a node's pool is to be kept. */
export interface PoolWish {
  readonly mode: Mode;
  /** Free addresses ahead of demand. */
  readonly warmCount: number;
  /** In mode Prefix, where the target is one of whole prefixes. */
  readonly warmPrefixCount?: number;
  /** WARM_ENI_TARGET gives no single address back. */
  readonly wholeEnisOnly?: true;
}

interface Held {
  readonly idle: readonly Ip[];
  readonly idleSingles: readonly Ip[];
  readonly idlePrefixCount: number;
}

/** Idle addresses are as many as the target says, or fewer where no more can be had; and of the right kind. */
export function checkWarmPool(
  world: WorldTruth,
  node: NodeName,
  { place, wish }: { readonly place: Place | undefined; readonly wish: PoolWish },
): void {
  const instanceId = world.instanceOf(node);
  if (place === undefined || instanceId === undefined) return;
  const spec = world.cluster.nodeNetwork(node)?.spec;
  // Of a block that pods chose a part may be idle: only the node's own pool has a target.
  const chosen = new Set(spec?.enis.filter((eni) => eni.chosenOnly === true).map(({ eniId }) => eniId));
  const own = world.ec2
    .enisOf(instanceId)
    .filter((eni) => eni.tags[OWNER_TAG] !== undefined)
    .filter((eni) => wish.mode === 'SecondaryIP' || !chosen.has(eni.eniId));
  const leaving = new Set(spec?.enis.flatMap((eni) => eni.withdrawing));
  if (!world.familiesOf(node).includes('IPv4')) {
    const ofNode = own.filter((eni) => !chosen.has(eni.eniId));
    return checkIpv6Pool(world, node, { place, warmCount: wish.warmCount, own: ofNode, leaving });
  }
  const held = heldBy(own, addressesHeldOn(world, node), leaving);
  const idleCount = held.idle.length;
  const tell = (what: string): void =>
    world.broken(
      'LV-2',
      `${node} (mode ${wish.mode}) holds ${idleCount} idle addresses, ${held.idleSingles.length} of them single and ${held.idlePrefixCount} whole prefixes, its target is ${wish.warmCount}: ${what}`,
    );
  if (tooMuch(held, wish)) tell('some are to be given back');
  const obstacle = growthObstacleOf(world, node, place);
  const isShort = idleCount < wish.warmCount && !servesMaxPods(world, node, { own, leaving, wish });
  if (isShort && obstacle === undefined) tell('nothing stands in the way of more');
  const current = own.filter(
    (eni) => eni.tags[ENI_CONFIG_TAG] === place.name && eni.subnetId === place.subnetId,
  );
  const isMixed = wish.mode === 'Prefix' && current.some((eni) => idleIn(eni.addresses, world, node) > 0);
  if (isMixed && obstacle === undefined && hasBlock(world.ec2.subnet(place.subnetId)))
    tell('single addresses, and a block could be had');
}

/** More addresses than the node may have pods serve nobody; those of ENIs that take no new pods do not count. */
function servesMaxPods(
  world: WorldTruth,
  node: NodeName,
  of: { readonly own: readonly Ec2Eni[]; readonly leaving: ReadonlySet<Ip>; readonly wish: PoolWish },
): boolean {
  const { own, leaving, wish } = of;
  const instanceId = world.instanceOf(node);
  const instance = instanceId === undefined ? undefined : world.ec2.instance(instanceId);
  const limits = instance === undefined ? undefined : world.ec2.instanceLimits(instance.instanceType);
  if (limits === undefined) return false;
  const enis = world.cluster.nodeNetwork(node)?.spec.enis ?? [];
  const cordoned = new Set(enis.filter((eni) => eni.cordoned).map(({ eniId }) => eniId));
  const held = addressesHeldOn(world, node);
  const serving = own
    .filter(({ eniId }) => !cordoned.has(eniId))
    .flatMap(podAddresses)
    .filter((ip) => held.has(ip) || !leaving.has(ip));
  const withoutIpv4 = [...world.live.values()].filter(
    (one) => one.node === node && familyOf(one.address) === 6,
  );
  return (
    serving.length + withoutIpv4.length >=
    maxPods({ limits, customNetworking: true, prefix: wish.mode === 'Prefix' }).maxPods
  );
}

interface Ipv6Pool {
  readonly place: Place;
  readonly warmCount: number;
  readonly own: readonly Ec2Eni[];
  readonly leaving: ReadonlySet<Ip>;
}

/** Pods without IPv4: ENIs are what is held, each with all the addresses of its /80 that are granted. */
function checkIpv6Pool(
  world: WorldTruth,
  node: NodeName,
  { place, warmCount, own, leaving }: Ipv6Pool,
): void {
  const held = addressesHeldOn(world, node);
  const tell = (what: string): void =>
    world.broken('LV-2', `${node}, whose pods have IPv6 alone and whose target is ${warmCount}: ${what}`);
  const isIdle = (ip: Ip): boolean => !held.has(ip);
  for (const { eniId, addresses, prefixes } of own) {
    const isPrefixIdle = prefixes.some((prefix) => prefixAddresses(prefix).every(isIdle));
    if (addresses.some(isIdle) || isPrefixIdle) tell(`${eniId} holds IPv4 addresses that no pod has`);
  }
  const idleOn = (eni: Ec2Eni): number =>
    grantableAddresses(eni, ['IPv6']).filter((ip) => isIdle(ip) && !leaving.has(ip)).length;
  const idleCount = own.reduce((sum, eni) => sum + idleOn(eni), 0);
  const spare = own.find((eni) => idleOn(eni) > 0 && ![...held].some((ip) => holdsForPods(eni, ip)));
  if (spare !== undefined && idleCount - idleOn(spare) >= warmCount)
    tell(`${spare.eniId} is to be given back, which holds no pod`);
  if (idleCount < warmCount && growthObstacleOf(world, node, place) === undefined)
    tell(`it holds ${idleCount} idle addresses, and nothing stands in the way of more`);
}

const hasBlock = (subnet: SubnetTruth | undefined): boolean =>
  subnet !== undefined && subnet.freePrefixCount > 0 && subnet.freeAddressCount > ADDRESSES_PER_PREFIX;

const idleIn = (addresses: readonly Ip[], world: WorldTruth, node: NodeName): number => {
  const held = addressesHeldOn(world, node);
  return addresses.filter((ip) => !held.has(ip)).length;
};

/** What is left of a prefix that drains under its last pods is `leaving`, and serves nobody. */
function heldBy(enis: readonly Ec2Eni[], held: ReadonlySet<Ip>, leaving: ReadonlySet<Ip>): Held {
  const isIdle = (ip: Ip): boolean => !held.has(ip);
  return {
    idle: enis.flatMap((eni) => podAddresses(eni).filter((ip) => isIdle(ip) && !leaving.has(ip))),
    idleSingles: enis.flatMap((eni) => eni.addresses.filter(isIdle)),
    idlePrefixCount: enis
      .flatMap((eni) => eni.prefixes)
      .filter((prefix) => prefixAddresses(prefix).every(isIdle)).length,
  };
}

/** What can be given back, a single address or a whole prefix, leaves the target unmet. */
function tooMuch({ idle, idleSingles, idlePrefixCount }: Held, { mode, ...wish }: PoolWish): boolean {
  const canSinglesGo = idleSingles.length > 0 && wish.wholeEnisOnly !== true;
  if (canSinglesGo && idle.length - 1 >= wish.warmCount) return true;
  const kept = mode === 'Prefix' ? (wish.warmPrefixCount ?? 0) : 0;
  return idlePrefixCount > kept && idle.length - ADDRESSES_PER_PREFIX >= wish.warmCount;
}
