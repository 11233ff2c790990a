// What others took from under our pods: nobody can protect those, so rules about addresses leave them out.

import type { Ip } from '../../../domain/address/ip.ts';
import type { InstanceId, NodeName } from '../../../domain/ids.ts';
import { INSTANCE_TAG } from '../../../domain/ipam/tags.ts';
import type { LiveSandbox } from '../../checkers/checker.ts';
import { podAddresses } from '../../ec2/pod-addresses.ts';
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

export function createRobbery({ now, live, isController, instanceOf }: RobberyDeps): Robbery {
  const robbed = new Set<string>(); // container ids
  const taken = new Set<string>(); // `instance address`
  let calmAt = Infinity;

  const take = (instanceId: string, addresses: readonly Ip[]): void => {
    for (const ip of addresses) {
      taken.add(`${instanceId} ${ip}`);
      for (const { containerId, node, address } of live.values())
        if (address === ip && instanceOf(node) === instanceId) robbed.add(containerId);
    }
  };
  const give = (instanceId: string, addresses: readonly Ip[]): void => {
    for (const ip of addresses) taken.delete(`${instanceId} ${ip}`);
  };
  return {
    onEc2Change: (change) => {
      if (change.kind === 'AddressesChanged') {
        const instanceId = change.eni.attachment?.instanceId ?? change.eni.tags[INSTANCE_TAG];
        if (instanceId === undefined) return;
        if (!isController(change.actor)) take(instanceId, change.unassigned);
        give(instanceId, change.assigned);
      }
      if (change.kind !== 'AttachmentChanged') return;
      const { attachment, eni, status, actor } = change;
      // What ends by a detach of ours ends by EC2's own doing.
      if (status === 'detached' && actor === 'person') take(attachment.instanceId, podAddresses(eni));
      if (status === 'attached') give(attachment.instanceId, podAddresses(eni));
    },
    isRobbed: ({ containerId }) => robbed.has(containerId),
    onAdded: ({ containerId, node, address }) => {
      const isKnown = now() >= calmAt + KNOWN_AFTER_MS;
      if (!isKnown && taken.has(`${instanceOf(node)} ${address}`)) robbed.add(containerId);
    },
    startCalm: () => {
      calmAt = now();
    },
  };
}
