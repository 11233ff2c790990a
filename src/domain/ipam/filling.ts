// What the slots of a node's ENIs are filled with just now.

import { grantedFamily } from '../address/families.ts';
import { LISTED_IPV6_ADDRESS_COUNT } from '../address/ipv6-prefix.ts';
import { ADDRESSES_PER_PREFIX } from '../instance/slots.ts';
import { modeInForce } from './mode.ts';
import type { BlockRefusal, NodeView } from './node-view.ts';

/** What a slot is filled with just now, and which of the two kinds stays in service: the other one drains. */
export interface Filling {
  /** Addresses that one filled slot brings. */
  readonly unit: number;
  readonly singlesStay: boolean;
  readonly prefixesStay: boolean;
  /** A slot is an ENI, filled with its /80: pods have no IPv4. */
  readonly isIpv6: boolean;
}

const BY_ADDRESSES: Filling = { unit: 1, singlesStay: true, prefixesStay: false, isIpv6: false };
const BY_PREFIXES: Filling = {
  unit: ADDRESSES_PER_PREFIX,
  singlesStay: false,
  prefixesStay: true,
  isIpv6: false,
};
/** Mode Prefix while the subnet has no free block: single addresses in the same slots, beside the blocks there are. */
const IN_THEIR_PLACE: Filling = { unit: 1, singlesStay: true, prefixesStay: true, isIpv6: false };
const BY_IPV6_PREFIX: Filling = {
  unit: LISTED_IPV6_ADDRESS_COUNT,
  singlesStay: false,
  prefixesStay: false,
  isIpv6: true,
};

/** How slots are filled in the selected subnet now. */
export function fillingOf(view: NodeView): Filling {
  if (grantedFamily(view.settings.addressFamilies) === 6) return BY_IPV6_PREFIX;
  if (modeInForce(view.settings.mode, view.limits) === 'SecondaryIP') return BY_ADDRESSES;
  return isRefused(view) ? IN_THEIR_PLACE : BY_PREFIXES;
}

/** That EC2 has no free block in the selected subnet, as last heard: it may be time to ask again. */
export function blockRefusal(view: NodeView): BlockRefusal | undefined {
  const { selection } = view;
  return selection.kind === 'None' ? undefined : view.blockRefusals?.get(selection.subnetId);
}

/**
 * Whether EC2 has refused a block a moment ago. The subnet's count of free addresses tells nothing of it: what a subnet
 * CIDR reservation keeps for prefixes is not counted as free.
 */
function isRefused(view: NodeView): boolean {
  const refusal = blockRefusal(view);
  return refusal !== undefined && refusal.until > view.now;
}
