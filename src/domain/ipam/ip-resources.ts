// How many pods that chose an ENIConfig a node can take, as extended resources that the scheduler reads.

import { cidrContains } from '../address/cidr.ts';
import type { Ip } from '../address/ip.ts';
import { prefixAddresses } from '../address/prefix.ts';
import { ADDRESSES_PER_PREFIX, slotsPerEni } from '../instance/slots.ts';
import { fillingOf } from './filling.ts';
import { modeInForce } from './mode.ts';
import type { EniView, NodeView } from './node-view.ts';

/** Of the resource's name; behind it comes the ENIConfig's. */
export const IP_RESOURCE_PREFIX = 'eniwhere.io/ip.';
/** The part of a resource's name behind the slash takes 63 characters, of which `ip.` are three. */
const NAME_LENGTH_MAX = 60;

/** An ENIConfig that the node could use: in its zone and VPC, and sound. */
export interface UsableEniConfig {
  readonly name: string;
  readonly freeAddressCount: number;
}

/**
 * `eniwhere.io/ip.NAME` -> addresses of it that pods which chose it can have on the node: those of its ENIs there, of the
 * ENIs that could still be attached, and of idle ones that would be given up for it, as far as the subnet has addresses.
 * ENIs that could become anybody's count for every ENIConfig; once one is in use, the others' figures fall.
 */
export function ipResources(
  view: NodeView,
  usable: readonly UsableEniConfig[],
): Readonly<Record<string, number>> {
  const perSlot = modeInForce(view.settings.mode, view.limits) === 'Prefix' ? ADDRESSES_PER_PREFIX : 1;
  const { isIpv6, unit } = fillingOf(view);
  const perEni = isIpv6 ? unit : slotsPerEni(view.limits) * perSlot;
  const eniMax = Math.min(view.limits.eniMax, view.settings.targets.maxEni ?? view.limits.eniMax);
  const secondary = view.enis.filter((eni) => !eni.primary);
  const chosen = new Set((view.choosing?.pods ?? []).map(({ pod }) => pod));
  const indifferent = view.pods.filter((pod) => !chosen.has(pod)).length;
  const own = view.selection.kind === 'EniConfig' ? view.selection.name : undefined;
  const { used = [], cooling = [] } = view.published?.status ?? {};
  const taken = new Set<Ip>([...used.map(({ ip }) => ip), ...cooling]);
  const isIdle = (eni: EniView): boolean =>
    ![...eni.addresses, ...eni.prefixes.flatMap(prefixAddresses)].some((ip) => taken.has(ip)) &&
    ![...taken].some((ip) => eni.ipv6Prefixes.some((prefix) => cidrContains(prefix, ip)));
  const resources: Record<string, number> = {};
  for (const { name, freeAddressCount } of usable) {
    if (name.length > NAME_LENGTH_MAX) continue;
    const enis = secondary.filter((eni) => eni.owned && eni.eniConfig === name);
    const idleCount = secondary.filter((eni) => eni.owned && !enis.includes(eni) && isIdle(eni)).length;
    const spareCount = Math.max(0, eniMax - 1 - secondary.length) + idleCount;
    const held = enis.reduce((sum, eni) => sum + (isIpv6 ? unit : addressCountOf(eni)), 0);
    // A new ENI takes one address of its subnet, and the addresses of its /80 none.
    const more = isIpv6 ? freeAddressCount * unit : freeAddressCount;
    const room = Math.min(perEni * (enis.length + spareCount), held + more);
    resources[`${IP_RESOURCE_PREFIX}${name}`] = Math.max(0, room - (name === own ? indifferent : 0));
  }
  return resources;
}

const addressCountOf = ({ addresses, prefixes }: EniView): number =>
  addresses.length + prefixes.length * ADDRESSES_PER_PREFIX;
