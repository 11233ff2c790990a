// IP-1, IP-2, IP-5, IP-6: an address serves one pod, is really there, rests, and is not taken back unasked.

import type { Ip } from '../../domain/address/ip.ts';
import type { Ec2Change } from '../ec2/region.ts';
import type { Checker, LiveSandbox, WorldTruth } from './checker.ts';

/** Follows every address through its pods. */
export function createAddressChecker(world: WorldTruth): Checker {
  const releasedAt = new Map<Ip, number>(); // address -> when its last pod's DEL began

  const isOnNode = ({ node, address }: LiveSandbox): boolean => {
    const instanceId = world.instanceOf(node);
    if (instanceId === undefined) return true;
    const attached = world.ec2.enisOf(instanceId);
    return attached.some((eni) => eni.addresses.includes(address) && eni.attachment?.status === 'attached');
  };
  const checkOnNode = (sandbox: LiveSandbox): void => {
    if (!isOnNode(sandbox)) {
      world.broken(
        'IP-2',
        `${sandbox.pod} lives with ${sandbox.address}, which no ENI attached to ${sandbox.node} holds`,
      );
    }
  };
  const checkUnassigned = (change: Extract<Ec2Change, { kind: 'AddressesChanged' }>): void => {
    const instanceId = change.eni.attachment?.instanceId;
    const record = world.cluster
      .list('NodeNetwork')
      .find((one) => one.spec.instance.instanceId === instanceId);
    const withdrawn = new Set(record?.status.withdrawn ?? []);
    for (const ip of change.unassigned) {
      if (!withdrawn.has(ip))
        world.broken('IP-6', `${ip} was unassigned, and the agent had not let go of it`);
    }
  };

  return {
    onAdded: (sandbox) => {
      const { address, node, pod } = sandbox;
      for (const other of world.live.values()) {
        if (other.address === address && other.containerId !== sandbox.containerId) {
          world.broken(
            'IP-1',
            `${address} is live in ${other.pod} on ${other.node} and in ${pod} on ${node}`,
          );
        }
      }
      const rested = world.now() - (releasedAt.get(address) ?? Number.NEGATIVE_INFINITY);
      if (rested < world.cooldownMs) {
        world.broken('IP-5', `${address} serves ${pod} after only ${rested} ms of rest`);
      }
      const status = world.cluster.nodeNetwork(node)?.status;
      if (status?.withdrawn.includes(address) === true) {
        world.broken('IP-6', `${address} serves ${pod}, and status.withdrawn of ${node} lists it`);
      }
      const instanceId = world.instanceOf(node);
      const primary =
        instanceId === undefined
          ? undefined
          : world.ec2.enisOf(instanceId).find((eni) => eni.attachment?.deviceIndex === 0);
      if (primary?.addresses.includes(address) === true)
        world.broken('IP-7', `${pod} has ${address} of a primary ENI`);
      checkOnNode(sandbox);
    },
    onDeleting: ({ address }) => {
      releasedAt.set(address, world.now());
    },
    onEc2Change: (change) => {
      if (change.kind === 'InstanceChanged') return;
      const wasController = world.isController(change.actor);
      if (change.kind === 'AddressesChanged' && wasController) checkUnassigned(change);
      if (
        change.kind === 'AddressesChanged' ||
        change.kind === 'AttachmentChanged' ||
        change.kind === 'EniDeleted'
      ) {
        for (const sandbox of world.live.values()) checkOnNode(sandbox);
      }
    },
  };
}
