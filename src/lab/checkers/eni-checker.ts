// ENI-1, ENI-2, ENI-3, ENI-6: limits are kept, what is not ours is not touched, no ENI goes under a pod or is made twice.

import { familyOf } from '../../domain/address/ip.ts';
import { isListedIpv6Address } from '../../domain/address/ipv6-prefix.ts';
import { INSTANCE_TAG, INTENT_TAG, OWNER_TAG } from '../../domain/ipam/tags.ts';
import type { Ec2Eni } from '../../ports/ec2.ts';
import { holdsForPods } from '../ec2/pod-addresses.ts';
import type { Ec2Change } from '../ec2/region.ts';
import type { Checker, WorldTruth } from './checker.ts';

/** Watches what controllers do to ENIs. */
export function createEniChecker(world: WorldTruth): Checker {
  const startedAt = new Map<string, number>(); // container id -> when its pod began to live
  const madeFor = new Map<string, string>(); // intent -> the ENI that it made
  const checkOnePerIntent = (eni: Ec2Eni): void => {
    const intent = eni.tags[INTENT_TAG];
    if (intent === undefined) return;
    const before = madeFor.get(intent);
    if (before !== undefined) world.broken('ENI-6', `intent ${intent} made ${before} and then ${eni.eniId}`);
    madeFor.set(intent, eni.eniId);
  };
  const onControllerChange = (change: Ec2Change): void => {
    switch (change.kind) {
      case 'EniCreated':
      case 'EniDeleted':
        checkOwner(world, change.eni, change.kind === 'EniCreated' ? 'created' : 'deleted');
        if (change.kind === 'EniCreated') checkOnePerIntent(change.eni);
        if (change.kind === 'EniDeleted') {
          checkNotUnderPods(world, change.eni, 'deleted');
          checkNotPulledOff(world, change.eni, startedAt);
        }
        return;
      case 'EniModified':
        return checkOwner(world, change.eni, 'modified');
      case 'AddressesChanged':
        checkOwner(world, change.eni, 'given or deprived of addresses');
        return checkLimits(world, change.eni);
      case 'AttachmentChanged':
        checkOwner(world, { ...change.eni, attachment: change.attachment }, change.status);
        if (change.status === 'detaching') checkNotUnderPods(world, change.eni, 'detached');
        if (change.status === 'attaching') checkLimits(world, change.eni);
        return;
      case 'InstanceChanged':
      case 'SecurityGroupChanged':
      case 'SubnetChanged':
        return;
    }
  };
  return {
    onAdded: ({ containerId }) => {
      startedAt.set(containerId, world.now());
    },
    onDeleting: ({ containerId }) => {
      startedAt.delete(containerId);
    },
    onEc2Change: (change) => {
      if (world.isController(change.actor)) onControllerChange(change);
    },
  };
}

function checkOwner(world: WorldTruth, eni: Ec2Eni, what: string): void {
  if (eni.tags[OWNER_TAG] === undefined) {
    world.broken('ENI-2', `${eni.eniId}, which is not ours (${eni.description}), was ${what}`);
  }
  if (eni.attachment?.deviceIndex === 0) world.broken('ENI-2', `primary ENI ${eni.eniId} was ${what}`);
}

function checkLimits(world: WorldTruth, eni: Ec2Eni): void {
  const instanceId = eni.attachment?.instanceId;
  const instance = instanceId === undefined ? undefined : world.ec2.instance(instanceId);
  if (instance === undefined) return;
  const limits = world.ec2.instanceLimits(instance.instanceType);
  const attached = world.ec2.enisOf(instance.instanceId);
  if (limits === undefined) return;
  if (attached.length > limits.eniMax) {
    world.broken(
      'ENI-1',
      `${instance.instanceId} has ${attached.length} ENIs, its limit is ${limits.eniMax}`,
    );
  }
  const slotCount = 1 + eni.addresses.length + eni.prefixes.length;
  if (slotCount > limits.ipv4PerEniMax) {
    world.broken(
      'ENI-1',
      `${eni.eniId} has ${slotCount} addresses and prefixes, its limit is ${limits.ipv4PerEniMax}`,
    );
  }
  const indexes = new Set(attached.map((one) => one.attachment?.deviceIndex));
  if (indexes.size !== attached.length)
    world.broken('ENI-1', `${instance.instanceId} has a device index twice`);
}

function checkNotUnderPods(world: WorldTruth, eni: Ec2Eni, what: string): void {
  const instanceId = eni.attachment?.instanceId;
  for (const sandbox of world.live.values()) {
    if (holdsForPods(eni, sandbox.address) && !world.isRobbed(sandbox)) {
      world.broken('ENI-3', `${eni.eniId} was ${what} while ${sandbox.pod} lives with ${sandbox.address}`);
    }
  }
  const record = world.cluster.list('NodeNetwork').find((one) => one.spec.instance.instanceId === instanceId);
  for (const ip of record?.status.cooling ?? []) {
    // What follows from an IPv4 address rests with it, wherever that is: somebody may have taken it off the ENI.
    const isOwn = familyOf(ip) === 4 || eni.ipv6Prefixes.some((prefix) => isListedIpv6Address(prefix, ip));
    if (isOwn && holdsForPods(eni, ip))
      world.broken('ENI-3', `${eni.eniId} was ${what} while ${ip} is cooling`);
  }
}

/**
 * One that somebody has pulled off goes back to its pods, as far as the controller can know of them. What holds more than it
 * may on the instance can never go back.
 */
function checkNotPulledOff(world: WorldTruth, eni: Ec2Eni, startedAt: ReadonlyMap<string, number>): void {
  for (const { containerId, node, pod, address } of world.live.values()) {
    const instanceId = world.instanceOf(node);
    if (!holdsForPods(eni, address) || eni.tags[INSTANCE_TAG] !== instanceId) continue;
    const instance = instanceId === undefined ? undefined : world.ec2.instance(instanceId);
    const limits = instance === undefined ? undefined : world.ec2.instanceLimits(instance.instanceType);
    const isTooFull = 1 + eni.addresses.length + eni.prefixes.length > (limits?.ipv4PerEniMax ?? 0);
    const isTold = world.cluster.nodeNetwork(node)?.status.used.some(({ ip }) => ip === address) === true;
    const isKnown = isTold && world.now() - (startedAt.get(containerId) ?? Infinity) > world.lagMs;
    if (isKnown && !isTooFull)
      world.broken(
        'ENI-3',
        `${eni.eniId}, pulled off ${node}, was deleted while ${pod} has ${address} of it`,
      );
  }
}
