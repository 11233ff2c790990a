// Room for more: free slots of ENIs, and ENIs that the instance can still take.

import { slotsPerEni } from '../instance/slots.ts';
import { fillingOf } from './filling.ts';
import type { EniView, NodeView } from './node-view.ts';

/** Slots of one ENI in which something for pods can be put: its places for addresses, or the one for its /80. */
export const slotCount = (view: NodeView): number => (fillingOf(view).isIpv6 ? 1 : slotsPerEni(view.limits));

export const freeSlotCount = (view: NodeView, { eni }: { readonly eni: EniView }): number =>
  fillingOf(view).isIpv6
    ? 1 - Math.min(1, eni.ipv6Prefixes.length)
    : slotsPerEni(view.limits) - eni.addresses.length - eni.prefixes.length;

export const attachedCount = (view: NodeView): number =>
  view.enis.filter((eni) => eni.attachment !== undefined).length;

/** ENIs on the instance at most, the primary included. */
export const eniLimit = (view: NodeView): number =>
  Math.min(view.limits.eniMax, view.settings.targets.maxEni ?? view.limits.eniMax);

/** The lowest free device index on network card 0; 0 is the primary's. */
export function freeDeviceIndex(view: NodeView): number {
  const taken = new Set(
    view.enis.flatMap(({ attachment }) =>
      attachment !== undefined && attachment.networkCardIndex === 0 ? [attachment.deviceIndex] : [],
    ),
  );
  let index = 1;
  while (taken.has(index)) index += 1;
  return index;
}
