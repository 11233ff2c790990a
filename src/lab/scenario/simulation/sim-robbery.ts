// What others took from under our pods: nobody can protect those, so rules about addresses leave them out.

import { blockOf, cidrContains } from '../../../domain/address/cidr.ts';
import { type Cidr, familyOf, type Ip } from '../../../domain/address/ip.ts';
import { IPV6_PREFIX_LENGTH } from '../../../domain/address/ipv6-prefix.ts';
import type { EniId, InstanceId, NodeName } from '../../../domain/ids.ts';
import { INSTANCE_TAG } from '../../../domain/ipam/tags.ts';
import { addressesOf, type LiveSandbox } from '../../checkers/checker.ts';
import type { Ec2Eni } from '../../../ports/ec2.ts';
import { holdsForPods, podAddresses } from '../../ec2/pod-addresses.ts';
import type { Ec2Change } from '../../ec2/region.ts';

export interface Robbery {
  onEc2Change(change: Ec2Change): void;
  isRobbed(sandbox: LiveSandbox): boolean;
  /** To be told before anybody asks. */
  onAdded(sandbox: LiveSandbox): void;
  /** The faults are over: from a while later on everybody must know. */
  startCalm(): void;
}

/**
 * How long after the faults a node may still hand out what was taken: a belief of EC2 (60 s) that a new controller takes
 * over from its predecessor (60 s more), the resync (30 s), and the way to the agent.
 */
const KNOWN_AFTER_MS = 180_000;

export interface RobberyDeps {
  readonly now: () => number;
  readonly live: ReadonlyMap<string, LiveSandbox>;
  readonly isController: (actor: string) => boolean;
  readonly instanceOf: (node: NodeName) => InstanceId | undefined;
}

interface Content {
  readonly eniId: EniId;
  readonly addresses: readonly Ip[];
  readonly ipv6Prefixes: readonly Cidr[];
}

export function createRobbery({ now, live, isController, instanceOf }: RobberyDeps): Robbery {
  const robbed = new Set<string>(); // container ids
  const taken = new Set<string>(); // `instance address`
  const takenBlocks = new Map<string, Set<EniId>>(); // `instance /80` -> the ENIs that it was taken off
  let calmAt = Infinity;

  const take = (instanceId: string, { eniId, addresses, ipv6Prefixes }: Content): void => {
    for (const ip of addresses) taken.add(`${instanceId} ${ip}`);
    for (const prefix of ipv6Prefixes) {
      const key = `${instanceId} ${prefix}`;
      takenBlocks.set(key, new Set([...(takenBlocks.get(key) ?? []), eniId]));
    }
    const isGone = new Set(addresses);
    for (const sandbox of live.values()) {
      if (instanceOf(sandbox.node) !== instanceId) continue;
      const isHit = addressesOf(sandbox).some(
        (ip) => isGone.has(ip) || ipv6Prefixes.some((prefix) => cidrContains(prefix, ip)),
      );
      if (isHit) robbed.add(sandbox.containerId);
    }
  };
  const give = (instanceId: string, { eniId, addresses, ipv6Prefixes }: Content): void => {
    for (const ip of addresses) taken.delete(`${instanceId} ${ip}`);
    // What another ENI of the instance has now is the first one's for those who do not know yet.
    for (const prefix of ipv6Prefixes) takenBlocks.get(`${instanceId} ${prefix}`)?.delete(eniId);
  };
  const isTaken = (instanceId: string | undefined, ip: Ip): boolean =>
    familyOf(ip) === 4
      ? taken.has(`${instanceId} ${ip}`)
      : (takenBlocks.get(`${instanceId} ${blockOf(ip, IPV6_PREFIX_LENGTH)}`)?.size ?? 0) > 0;
  return {
    onEc2Change: (change) => {
      if (change.kind === 'AddressesChanged') {
        const { eni, unassigned, assigned, ipv6Unassigned = [], ipv6Assigned = [] } = change;
        const instanceId = eni.attachment?.instanceId ?? eni.tags[INSTANCE_TAG];
        if (instanceId === undefined) return;
        const { eniId } = eni;
        if (!isController(change.actor))
          take(instanceId, { eniId, addresses: unassigned, ipv6Prefixes: ipv6Unassigned });
        // An ENI that is still on its way gives the node nothing: its agent may not even have heard of the loss.
        if (eni.attachment?.status === 'attached')
          give(instanceId, { eniId, addresses: assigned, ipv6Prefixes: ipv6Assigned });
      }
      if (change.kind !== 'AttachmentChanged') return;
      const { attachment, eni, status, actor } = change;
      const all = { eniId: eni.eniId, addresses: podAddresses(eni), ipv6Prefixes: eni.ipv6Prefixes };
      // What ends by a detach of ours ends by EC2's own doing.
      if (status === 'detached' && actor === 'person') take(attachment.instanceId, all);
      if (status !== 'attached') return;
      give(attachment.instanceId, all);
      // Pods whose ENI is attached again are judged like all others.
      for (const sandbox of live.values())
        if (instanceOf(sandbox.node) === attachment.instanceId && isOn(eni, sandbox))
          robbed.delete(sandbox.containerId);
    },
    isRobbed: ({ containerId }) => robbed.has(containerId),
    onAdded: (sandbox) => {
      const isKnown = now() >= calmAt + KNOWN_AFTER_MS;
      const instanceId = instanceOf(sandbox.node);
      if (!isKnown && addressesOf(sandbox).some((ip) => isTaken(instanceId, ip)))
        robbed.add(sandbox.containerId);
    },
    startCalm: () => {
      calmAt = now();
    },
  };
}

const isOn = (eni: Ec2Eni, sandbox: LiveSandbox): boolean =>
  addressesOf(sandbox).every((ip) => holdsForPods(eni, ip));
