// LV-1, LV-2, LV-5: once the faults stop, every pod that can have an address has one, and EC2 is left in peace.

import type { NodeName, PodKey, SubnetId } from '../../domain/ids.ts';
import { INSTANCE_TAG, OWNER_TAG } from '../../domain/ipam/tags.ts';
import type { Checker, WorldTruth } from './checker.ts';

export interface LivenessChecker extends Checker {
  /** From now on the system must be quiet: a controller's EC2 write breaks LV-2. */
  startQuiet(): void;
}

export interface LivenessSources {
  readonly world: WorldTruth;
  /** The subnet that a node should get, by the workload's own model; undefined: none, so its pods have to wait. */
  readonly choiceOf: (node: NodeName) => SubnetId | undefined;
}

/** Proves from the world, not from our own view, that a pod still without an address cannot have one. */
export function createLivenessChecker({ world, choiceOf }: LivenessSources): LivenessChecker {
  let quiet = false;

  const isServed = (pod: PodKey): boolean => [...world.live.values()].some((sandbox) => sandbox.pod === pod);

  /** Why no further pod of the node can get an address; undefined when nothing stands in the way. */
  const excuse = (node: NodeName): string | undefined => {
    const subnetId = choiceOf(node);
    if (subnetId === undefined) return 'its ENIConfig is wrong';
    const instanceId = world.instanceOf(node);
    const instance = instanceId === undefined ? undefined : world.ec2.instance(instanceId);
    const limits = instance === undefined ? undefined : world.ec2.instanceLimits(instance.instanceType);
    if (instance === undefined || limits === undefined) return 'its instance is gone';
    const attached = world.ec2.enisOf(instance.instanceId);
    const usable = attached.filter(
      (eni) =>
        eni.subnetId === subnetId && eni.tags[OWNER_TAG] !== undefined && eni.attachment?.deviceIndex !== 0,
    );
    const hasSlot = usable.some((eni) => 1 + eni.addresses.length < limits.ipv4PerEniMax);
    const served = new Set([...world.live.values()].map((sandbox) => sandbox.address));
    const idle = usable.flatMap((eni) => eni.addresses).filter((ip) => !served.has(ip));
    if (idle.length > 0) return undefined;
    const free = world.ec2.subnet(subnetId)?.freeAddressCount ?? 0;
    const canAttach = attached.length < limits.eniMax;
    if (!hasSlot && !canAttach) return 'its instance is full';
    if (free < (hasSlot ? 1 : 2)) return 'the subnet is full';
    return undefined;
  };

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
      for (const { name } of world.cluster.list('Node')) {
        const subnetId = choiceOf(name);
        if (subnetId !== undefined) checkLeftovers(world, name, subnetId);
      }
      for (const pod of world.cluster.list('Pod')) {
        if (pod.nodeName === undefined || pod.deleting || pod.finished || isServed(pod.key)) continue;
        if (excuse(pod.nodeName) === undefined) {
          world.broken(
            'LV-1',
            `${pod.key} on ${pod.nodeName} still has no address, and nothing stands in its way`,
          );
        }
      }
    },
  };
}

/** Where the node's choice is right, nothing is left of an earlier one but what pods still hold. */
function checkLeftovers(world: WorldTruth, node: NodeName, subnetId: SubnetId): void {
  const record = world.cluster.nodeNetwork(node);
  const instanceId = world.instanceOf(node);
  if (record === undefined || instanceId === undefined) return;
  for (const intent of record.spec.intents)
    world.broken('LV-5', `intent ${intent.id} of ${node} is still open`);
  const held = new Set([...world.live.values()].map((sandbox) => sandbox.address));
  for (const eni of world.ec2.enis()) {
    if (eni.tags[INSTANCE_TAG] !== instanceId) continue;
    if (eni.attachment === undefined)
      world.broken('LV-5', `${eni.eniId} of ${node} is ours and not attached`);
    const isOld = eni.subnetId !== subnetId && !eni.addresses.some((ip) => held.has(ip));
    if (isOld)
      world.broken(
        'LV-5',
        `${eni.eniId} of ${node} is in ${eni.subnetId}, not selected any more, and has no pod`,
      );
  }
}
