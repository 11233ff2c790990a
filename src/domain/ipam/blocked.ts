// Why a pool cannot grow just now, in words for a condition and an Event.

import type { SubnetId } from '../ids.ts';
import { attachedCount, eniLimit } from './eni-room.ts';
import type { NodeView, Obstacle } from './node-view.ts';
import type { Pool } from './pool.ts';

/** Why the pool cannot grow just now; the texts go to a condition and an Event. */
export interface Blocked {
  readonly reason: 'SubnetFull' | 'InstanceFull' | 'Unauthorized' | 'Ec2Refused';
  readonly message: string;
  readonly fix: string;
}

export const fromObstacle = ({ code, message, fix }: Obstacle): Blocked => ({ reason: code, message, fix });

/** `subnetId` is the selected subnet. */
export function subnetFull(view: NodeView, subnetId: SubnetId): Blocked {
  const subnet = view.subnets.get(subnetId);
  const name = view.selection.kind === 'EniConfig' ? ` of ENIConfig "${view.selection.name}"` : '';
  return {
    reason: 'SubnetFull',
    message: `subnet ${subnetId}${name} (${subnet?.cidr ?? 'unknown CIDR'}, ${subnet?.zone ?? 'unknown zone'}) is full: ${subnet?.freeAddressCount ?? 0} addresses free`,
    fix: 'free addresses in it, or give the node an ENIConfig with another subnet of its zone; waiting pods get their address by themselves',
  };
}

function foreignText(view: NodeView): string {
  const count = view.enis.filter(
    (eni) => !eni.owned && eni.otherPool !== true && !eni.primary && eni.attachment !== undefined,
  ).length;
  return count === 0 ? '' : ` (${count} of them not Eniwhere's)`;
}

/** Where single addresses sit in slots that are meant for prefixes, the instance holds less than it could. */
function singlesText(pool: Pool): string {
  if (pool.counts.blockSize === 1) return '';
  const count = pool.enis.reduce((sum, { eni }) => sum + eni.addresses.length, 0);
  return count === 0 ? '' : ` (${count} of them single ones, in slots that are meant for blocks)`;
}

/** No ENI has a slot left, and the instance takes no further ENI. */
export function instanceFull(view: NodeView, pool: Pool): Blocked {
  return {
    reason: 'InstanceFull',
    message: `instance ${view.instance.instanceId} (${view.limits.instanceType}) is full: ${attachedCount(view)} of ${eniLimit(view)} ENIs attached${foreignText(view)}, ${pool.counts.total} pod addresses${singlesText(pool)}`,
    fix: `let at most ${view.maxPods} pods run on it (kubelet --max-pods), or use a larger instance type`,
  };
}
