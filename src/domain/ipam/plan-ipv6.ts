// The /80 of every ENI whose pods get both families: an ENI without one serves none of them.

import { isDualStack } from '../address/families.ts';
import type { Action } from './action.ts';
import { type Blocked, fromObstacle } from './blocked.ts';
import { activeObstacle, type NodeView } from './node-view.ts';
import type { Pool, PoolEni } from './pool.ts';

export interface Ipv6Plan {
  readonly actions: readonly Action[];
  /** ENIs wait for their /80 because of something that EC2 refuses. */
  readonly blocked?: Blocked;
}

export const assignIpv6Prefix = ({ eni }: PoolEni, what: string): Action => ({
  do: 'AssignIpv6Prefix',
  eniId: eni.eniId,
  subnetId: eni.subnetId,
  because: `${eni.eniId} has no IPv6 prefix, and ${what}`,
});

/**
 * ENIs that were made before their pods had IPv6 get theirs now. New ones are made with it, and where pods have IPv6 only
 * it is what growth fills them with.
 */
export function planIpv6(view: NodeView, pool: Pool): Ipv6Plan {
  if (view.selection.kind === 'None' || !isDualStack(view.settings.addressFamilies)) return { actions: [] };
  const lacking = pool.enis.filter(
    ({ eni, role }) =>
      (role === 'current' || role === 'kept') && eni.ipv6Prefixes.length === 0 && eni.maybeLeaving !== true,
  );
  if (lacking.length === 0) return { actions: [] };
  const obstacle = activeObstacle(view, 'Growth');
  if (obstacle !== undefined) return { actions: [], blocked: fromObstacle(obstacle) };
  const ready = lacking.filter(({ eni }) => (eni.heldUntil ?? 0) <= view.now);
  return { actions: ready.map((one) => assignIpv6Prefix(one, 'its pods are to have both families')) };
}
