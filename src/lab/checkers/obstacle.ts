// Why a node cannot get one more address, proven from the world and not from anybody's view of it.

import type { Ip } from '../../domain/address/ip.ts';
import type { NodeName } from '../../domain/ids.ts';
import { ENI_CONFIG_TAG, OWNER_TAG } from '../../domain/ipam/tags.ts';
import type { Ec2Eni } from '../../ports/ec2.ts';
import { GROUPS_PER_ENI_MAX } from '../ec2/security-group.ts';
import { grantableAddresses } from '../ec2/pod-addresses.ts';
import { addressesOf, type WorldTruth } from './checker.ts';
import type { Place } from './selection-checker.ts';

export type Obstacle =
  | 'its ENIConfig is wrong'
  | 'its instance is gone'
  | 'its instance is full'
  | 'the subnet is full';

/** Addresses that live pods of the node have. */
export const addressesHeldOn = (world: WorldTruth, node: NodeName): ReadonlySet<Ip> =>
  new Set([...world.live.values()].filter((one) => one.node === node).flatMap(addressesOf));

/** Why a pod cannot have an address. Undefined: nothing stands in the way. `place`: where it should be; undefined: nowhere. */
export function obstacleOf(
  world: WorldTruth,
  node: NodeName,
  place: Place | undefined,
): Obstacle | undefined {
  const held = addressesHeldOn(world, node);
  const families = world.familiesOf(node);
  const hasIdle = enisFor(world, node, place).some((eni) =>
    grantableAddresses(eni, families).some((ip) => !held.has(ip)),
  );
  const obstacle = growthObstacleOf(world, node, place);
  return hasIdle && obstacle !== 'its instance is gone' ? undefined : obstacle;
}

/** Why the node cannot get one more address in the place, whatever it has there. */
export function growthObstacleOf(
  world: WorldTruth,
  node: NodeName,
  place: Place | undefined,
): Obstacle | undefined {
  if (place === undefined) return 'its ENIConfig is wrong';
  const { subnetId } = place;
  const instanceId = world.instanceOf(node);
  const instance = instanceId === undefined ? undefined : world.ec2.instance(instanceId);
  const limits = instance === undefined ? undefined : world.ec2.instanceLimits(instance.instanceType);
  if (instance?.state !== 'running' || limits === undefined) return 'its instance is gone';
  const isIpv6Only = !world.familiesOf(node).includes('IPv4');
  const hasSlot = enisFor(world, node, place).some((eni) =>
    isIpv6Only
      ? eni.ipv6Prefixes.length === 0
      : 1 + eni.addresses.length + eni.prefixes.length < limits.ipv4PerEniMax,
  );
  const free = world.ec2.subnet(subnetId)?.freeAddressCount ?? 0;
  const canAttach =
    place.securityGroupIds.length <= GROUPS_PER_ENI_MAX &&
    world.ec2.enisOf(instance.instanceId).length < limits.eniMax;
  if (!hasSlot && !canAttach) return 'its instance is full';
  // A /80 costs nothing of the subnet's IPv4 addresses, and a new ENI one of them.
  const neededCount = (hasSlot ? 0 : 1) + (isIpv6Only ? 0 : 1);
  return free < neededCount ? 'the subnet is full' : undefined;
}

/** ENIs of ours on the node that were made for the place. */
function enisFor(world: WorldTruth, node: NodeName, place: Place | undefined): readonly Ec2Eni[] {
  const instanceId = world.instanceOf(node);
  if (place === undefined || instanceId === undefined) return [];
  return world.ec2
    .enisOf(instanceId)
    .filter(
      (eni) =>
        eni.subnetId === place.subnetId &&
        eni.tags[OWNER_TAG] !== undefined &&
        eni.tags[ENI_CONFIG_TAG] === place.name &&
        eni.attachment?.deviceIndex !== 0,
    );
}
