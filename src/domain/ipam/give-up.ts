// When pods wait for an ENI and the instance is full: which idle ENI of another pool makes room. Demand comes before warm pools.

import type { EniId } from '../ids.ts';
import type { NodeView } from './node-view.ts';
import type { Growth } from './plan-growth.ts';
import { attachedCount, eniLimit } from './eni-room.ts';
import type { Pool, PoolEni } from './pool.ts';
import { demandShortfall } from './warm-targets.ts';

/** One pool of the node, with what it would do if no other made room for it. */
interface GrownPart {
  readonly view: NodeView;
  readonly pool: Pool;
  readonly growth: Growth;
}

/** Of a new ENI: its primary address, and one for a pod. */
const NEW_ENI_ADDRESSES = 2;

/**
 * One ENI at a time, through the ordinary withdrawal; none while another is on its way off, and none for pods whose subnet
 * could not fill the room. The same ENI is chosen again until it is gone. Pure.
 */
export function eniToGiveUp(view: NodeView, parts: readonly GrownPart[]): EniId | undefined {
  const isShort = ({ pool }: GrownPart): boolean => demandShortfall(pool.counts) > 0;
  const needsRoom = parts.some(
    (part) => isShort(part) && part.growth.blocked?.reason === 'InstanceFull' && canFill(part.view),
  );
  if (!needsRoom) return undefined;
  const givers = parts.filter((part) => !isShort(part));
  const spare = givers.flatMap(({ pool }) => pool.unattached).find(({ role }) => role === 'current');
  if (spare !== undefined) return spare.eni.eniId;
  // Below the limit, what takes the room is an ENI that is being made or deleted.
  if (attachedCount(view) < eniLimit(view)) return undefined;
  if (view.enis.some(({ attachment }) => attachment?.state === 'detaching')) return undefined;
  if (parts.some(({ pool }) => pool.enis.some((one) => one.role === 'cordoned' && isIdle(one))))
    return undefined;
  const idle = givers.flatMap(({ pool }) => {
    const { available, draining, demand } = pool.counts;
    return pool.enis.filter((one) => canLeave(one) && available + draining - one.free.length >= demand);
  });
  return idle.sort((a, b) => begun(view, b) - begun(view, a) || fewestFirst(a, b))[0]?.eni.eniId;
}

function canFill({ selection, subnets }: NodeView): boolean {
  if (selection.kind === 'None') return false;
  return (subnets.get(selection.subnetId)?.freeAddressCount ?? 0) >= NEW_ENI_ADDRESSES;
}

const isIdle = (one: PoolEni): boolean => one.used.length === 0 && one.cooling.length === 0;

const canLeave = (one: PoolEni): boolean =>
  isIdle(one) && (one.role === 'current' || one.role === 'kept') && one.eni.attachment?.state === 'attached';

/** Whether the published spec has begun to give it up. */
const begun = (view: NodeView, { eni }: PoolEni): number =>
  view.published?.spec.enis.some((spec) => spec.eniId === eni.eniId && spec.cordoned) === true ? 1 : 0;

const fewestFirst = (a: PoolEni, b: PoolEni): number =>
  a.published.length - b.published.length ||
  (b.eni.attachment?.deviceIndex ?? 0) - (a.eni.attachment?.deviceIndex ?? 0);

/** Whether room for a further ENI is on its way: an ENI that is given up, or leaves. */
export const isRoomComing = (view: NodeView): boolean =>
  view.enis.some(({ givenUp, attachment }) => givenUp === true || attachment?.state === 'detaching');
