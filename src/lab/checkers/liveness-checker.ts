// LV-1, LV-2, LV-5: once the faults stop, every pod that can have an address has one, and EC2 is left in peace.

import type { Ip } from '../../domain/address/ip.ts';
import type { InstanceId, NodeName, PodKey } from '../../domain/ids.ts';
import { ENI_CONFIG_TAG, INSTANCE_TAG } from '../../domain/ipam/tags.ts';
import { GROUPS_PER_ENI_MAX } from '../ec2/security-group.ts';
import { holdsForPods } from '../ec2/pod-addresses.ts';
import { addressesOf, type Checker, type WorldTruth } from './checker.ts';
import type { Ec2Eni } from '../../ports/ec2.ts';
import { chosenName } from './grant-checker.ts';
import { type Obstacle, obstacleOf } from './obstacle.ts';
import type { Place } from './selection-checker.ts';

export interface LivenessChecker extends Checker {
  /** From now on the system must be quiet: a controller's EC2 write breaks LV-2. */
  startQuiet(): void;
}

export interface LivenessSources {
  readonly world: WorldTruth;
  /** Where a node should get ENIs, by the workload's own model; undefined: nowhere, so its pods have to wait. */
  readonly placeOf: (node: NodeName) => Place | undefined;
  /** The same for a pod, which may have chosen another. */
  readonly placeOfPod: (pod: { readonly uid: string; readonly node: NodeName }) => Place | undefined;
  /** Whether ENIs of an earlier choice go on taking pods. */
  readonly keeps: (node: NodeName) => boolean;
}

/** Proves from the world, not from our own view, that a pod still without an address cannot have one. */
export function createLivenessChecker({
  world,
  placeOf,
  placeOfPod,
  keeps,
}: LivenessSources): LivenessChecker {
  let quiet = false;

  const isServed = (pod: PodKey): boolean => [...world.live.values()].some((sandbox) => sandbox.pod === pod);
  const obstacle = (node: NodeName, uid: string): Obstacle | undefined =>
    obstacleOf(world, node, placeOfPod({ uid, node }));

  return {
    startQuiet: () => {
      quiet = true;
    },
    onEc2Change: (change) => {
      if (quiet && world.isController(change.actor) && change.kind !== 'SubnetChanged') {
        world.broken('LV-2', `the world is at rest, and a controller still changed EC2: ${change.kind}`);
      }
    },
    atRest: () => {
      checkLeaks(world);
      for (const { name } of world.cluster.list('Node')) {
        if (world.isLeftAlone(name)) continue;
        const place = placeOf(name);
        checkSelection(world, name, place);
        if (place !== undefined) checkLeftovers(world, name, { place, keeps: keeps(name) });
      }
      for (const pod of world.cluster.list('Pod')) {
        if (pod.nodeName === undefined || pod.deleting || pod.finished || isServed(pod.key)) continue;
        if (world.isLeftAlone(pod.nodeName)) continue;
        if (obstacle(pod.nodeName, pod.uid) === undefined) {
          world.broken(
            'LV-1',
            `${pod.key} on ${pod.nodeName} still has no address, and nothing stands in its way`,
          );
        }
      }
    },
  };
}

/** No ENI of ours belongs to an instance that is gone. */
function checkLeaks(world: WorldTruth): void {
  for (const eni of world.ec2.enis()) {
    const instanceId = eni.tags[INSTANCE_TAG];
    if (instanceId === undefined || eni.attachment !== undefined) continue;
    const state = world.ec2.instance(instanceId as InstanceId)?.state;
    if (state === undefined || state === 'terminated')
      world.broken('LV-3', `${eni.eniId} was made for ${instanceId}, which is gone, and is still there`);
  }
}

/** The selection in force is the one that the rules give on the final objects. */
function checkSelection(world: WorldTruth, node: NodeName, place: Place | undefined): void {
  const spec = world.cluster.nodeNetwork(node)?.spec;
  if (spec === undefined) return;
  const chosen = chosenName(spec);
  if (chosen !== place?.name)
    world.broken(
      'LV-5',
      `the selection of ${node} is ${chosen ?? 'none'}, and should be ${place?.name ?? 'none'}`,
    );
}

/** Pulled off by somebody, with addresses of live pods, while the instance has got others in its place. */
function waitsForPlace(world: WorldTruth, eni: Ec2Eni, held: readonly Ip[]): boolean {
  const instance = world.ec2.instance(eni.tags[INSTANCE_TAG] as InstanceId);
  const limits = instance === undefined ? undefined : world.ec2.instanceLimits(instance.instanceType);
  const isFull =
    instance !== undefined && world.ec2.enisOf(instance.instanceId).length >= (limits?.eniMax ?? 0);
  return isFull && held.some((ip) => holdsForPods(eni, ip));
}

const sorted = (groups: readonly string[]): string => [...groups].sort().join();

/** Where the node's choice is right, nothing is left of an earlier one but what pods still hold. */
function checkLeftovers(
  world: WorldTruth,
  node: NodeName,
  { place, keeps }: { readonly place: Place; readonly keeps: boolean },
): void {
  const { name, subnetId } = place;
  const record = world.cluster.nodeNetwork(node);
  const instanceId = world.instanceOf(node);
  if (record === undefined || instanceId === undefined) return;
  // EC2 refuses them, time and again.
  const areTooMany = place.securityGroupIds.length > GROUPS_PER_ENI_MAX;
  for (const intent of areTooMany ? [] : record.spec.intents)
    world.broken('LV-5', `intent ${intent.id} of ${node} is still open`);
  const held = [...world.live.values()].flatMap(addressesOf);
  for (const eni of world.ec2.enis()) {
    if (eni.tags[INSTANCE_TAG] !== instanceId) continue;
    if (eni.attachment === undefined && !waitsForPlace(world, eni, held))
      world.broken('LV-5', `${eni.eniId} of ${node} is ours and not attached`);
    if (eni.attachment?.deleteOnTermination === false)
      world.broken('LV-5', `${eni.eniId} of ${node} would outlive its instance`);
    const isCurrent = eni.subnetId === subnetId && eni.tags[ENI_CONFIG_TAG] === name;
    if (isCurrent && !areTooMany && sorted(eni.securityGroupIds) !== sorted(place.securityGroupIds))
      world.broken('LV-5', `${eni.eniId} of ${node} has groups that are not selected any more`);
    // Also one that is still granted, though somebody has taken the /80 from under it.
    const granted = record.spec.enis.find(({ eniId }) => eniId === eni.eniId)?.addresses ?? [];
    const isHeld = held.some((ip) => holdsForPods(eni, ip) || granted.includes(ip));
    const isOld = !keeps && eni.subnetId !== subnetId && !isHeld;
    if (isOld)
      world.broken(
        'LV-5',
        `${eni.eniId} of ${node} is in ${eni.subnetId}, not selected any more, and has no pod`,
      );
  }
}
