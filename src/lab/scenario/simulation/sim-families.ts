// Which address families the pods of a seeded run get: of the whole cluster, which may change, and what classes say of them.

import type { AddressFamily } from '../../../domain/address/families.ts';
import type { SubnetId } from '../../../domain/ids.ts';
import type { FaultProfile } from '../../faults/fault-profile.ts';
import { chance, pick } from '../../kernel/draw.ts';
import type { SeededRandom } from '../../kernel/seeded-random.ts';

export type Families = readonly AddressFamily[];

export interface SimFamilies {
  /** Some pods may have IPv6 in this run. */
  readonly isOn: boolean;
  /** What a controller that starts now is told. */
  cluster(): Families;
  /** Others than those of now, for all controllers that start from now on. */
  change(): Families;
  /** What a class says of them: nothing where all pods have IPv4 alone. */
  drawClass(): { readonly families?: Families };
  /** Whether the subnet has its IPv6 block at the start. */
  hasBlockAtStart(subnetId: SubnetId): boolean;
}

export const IPV4_ONLY: Families = ['IPv4'];
const BOTH: Families = ['IPv4', 'IPv6'];
const IPV6_ONLY: Families = ['IPv6'];

const CLASS_FAMILIES_ODDS = 0.5;
const BLOCK_LACKING_ODDS = 0.2;

/** Drawn from streams of its own, so that what else a seed draws stays as it is. */
export function createSimFamilies(
  world: SeededRandom,
  { node: { ipv6, ipv6Only }, workload }: FaultProfile,
): SimFamilies {
  const [changes, classes] = [world.fork('families'), world.fork('families of classes')];
  const blocks = world.fork('IPv6 blocks');
  const possible = ipv6Only ? [IPV4_ONLY, BOTH, IPV6_ONLY] : [IPV4_ONLY, BOTH];
  let current = !ipv6 ? IPV4_ONLY : ipv6Only ? IPV6_ONLY : BOTH;
  return {
    isOn: ipv6,
    cluster: () => current,
    change: () => {
      const others = possible.filter((families) => families !== current);
      current = pick(changes, others);
      return current;
    },
    drawClass: () =>
      ipv6 && chance(classes, CLASS_FAMILIES_ODDS) ? { families: pick(classes, possible) } : {},
    hasBlockAtStart: (subnetId) =>
      !ipv6 || workload.ipv6BlockOdds === 0 || !chance(blocks.fork(subnetId), BLOCK_LACKING_ODDS),
  };
}
