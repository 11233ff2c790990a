// How many addresses to hold ahead of demand: the AWS VPC CNI's warm targets, with the meaning that users know.

/** `undefined` means not set. WARM_IP_TARGET or MINIMUM_IP_TARGET, once set, override the other two. */
export interface WarmTargets {
  /** WARM_IP_TARGET, addresses. */
  readonly warmIp?: number;
  /** MINIMUM_IP_TARGET, addresses. */
  readonly minimumIp?: number;
  /** WARM_ENI_TARGET, whole ENIs; in mode SecondaryIP. */
  readonly warmEni: number;
  /** WARM_PREFIX_TARGET, whole prefixes; in mode Prefix. Not set it is 1, as AWS's manifests have it. */
  readonly warmPrefix?: number;
  /** MAX_ENI: ENIs on the instance, the primary included; the instance type's limit still holds. */
  readonly maxEni?: number;
  /** The targets count addresses one by one also when both are 0: nothing beyond demand is held. */
  readonly exact?: true;
}

/** The addresses of the ENIs that new pods may use. */
export interface PoolCounts {
  /** Assigned by EC2 and not withdrawn; of the kind that drains, only those that pods hold. */
  readonly total: number;
  /** Of `total`, those that a pod could get now: neither used, cooling, being withdrawn nor of the kind that drains. */
  readonly available: number;
  /** Free addresses of the kind that drains: a pod may still get them. */
  readonly draining: number;
  /** Will be available as soon as the agent has forgotten that it let go of them. */
  readonly returning: number;
  /** Of `available`, those outside prefixes. */
  readonly freeSingleCount: number;
  /** Prefixes of which every address is available; /80s where pods have no IPv4. */
  readonly idlePrefixCount: number;
  /** Pods bound to the node that have no address yet. */
  readonly demand: number;
  /**
   * Of `demand`, pods that chose the node's own ENIConfig, as far as its own ENIs have no free address: those of kept ENIs
   * are not for them (POD-3).
   */
  readonly choosersShort: number;
  readonly slotsPerEni: number;
  /** Addresses that a slot gets in the node's mode: what WARM_PREFIX_TARGET counts in; 1 in mode SecondaryIP. */
  readonly blockSize: number;
  /**
   * Addresses that the next filled slot brings: 1 also in mode Prefix, while there is no free block; more than `blockSize`
   * where a slot is a whole ENI, for pods without IPv4.
   */
  readonly unit: number;
  /** The node's max pods: more addresses than this serve nobody, so warm targets stop there. */
  readonly maxPods: number;
}

export const hasIpTargets = (targets: WarmTargets): boolean =>
  targets.exact === true || (targets.warmIp ?? 0) > 0 || (targets.minimumIp ?? 0) > 0;

export const warmPrefixTarget = ({ warmPrefix = 1 }: WarmTargets): number => warmPrefix;

/** Addresses short of demand: never limited by a warm target. */
export const demandShortfall = ({ demand, available, draining, choosersShort }: PoolCounts): number =>
  Math.max(0, demand - available - draining, choosersShort);

/**
 * Slots to fill, each with `unit` addresses, for demand plus warm target. Cooling addresses do not count as available
 * (IP-5).
 */
export function neededSlotCount(targets: WarmTargets, counts: PoolCounts): number {
  const coming = counts.available + counts.returning;
  const free = coming - Math.max(0, counts.demand - counts.draining);
  const held = counts.total + counts.returning;
  const warm = hasIpTargets(targets)
    ? Math.max((targets.warmIp ?? 0) - free, (targets.minimumIp ?? 0) - held)
    : warmAddressCount(targets, counts) - free;
  const room = Math.max(0, counts.maxPods - held);
  return Math.ceil(Math.max(-free, counts.choosersShort, Math.min(warm, room), 0) / counts.unit);
}

/** Free addresses that WARM_ENI_TARGET or, in mode Prefix, WARM_PREFIX_TARGET asks for. */
const warmAddressCount = (targets: WarmTargets, { blockSize, slotsPerEni }: PoolCounts): number =>
  blockSize > 1 ? warmPrefixTarget(targets) * blockSize : targets.warmEni * slotsPerEni;

/**
 * Addresses above the warm target; of prefixes, only what can go whole. WARM_ENI_TARGET alone frees whole ENIs only, as
 * with the AWS VPC CNI: of those that are empty, as many as fit into this count.
 */
export function excessAddressCount(targets: WarmTargets, counts: PoolCounts): number {
  const { unit, blockSize } = counts;
  const free = counts.available - counts.demand;
  const isByIp = hasIpTargets(targets);
  if (unit > blockSize) {
    const spare = isByIp
      ? Math.min(free - (targets.warmIp ?? 0), counts.total - (targets.minimumIp ?? 0))
      : free - targets.warmEni;
    return Math.max(0, Math.min(Math.floor(spare / unit), counts.idlePrefixCount)) * unit;
  }
  const above = isByIp
    ? Math.min(free - (targets.warmIp ?? 0), counts.total - (targets.minimumIp ?? 0))
    : free - warmAddressCount(targets, counts);
  if (blockSize === 1) return Math.max(0, above);
  const singleCount = Math.max(0, Math.min(above, counts.freeSingleCount));
  const idleCount = counts.idlePrefixCount - (isByIp ? 0 : warmPrefixTarget(targets));
  const prefixCount = Math.min(Math.floor((above - singleCount) / blockSize), idleCount);
  return singleCount + Math.max(0, prefixCount) * blockSize;
}

/** In mode Prefix, addresses above the warm target while single ones, which drain, serve in the place of a block. */
export function spareSingleCount(targets: WarmTargets, counts: PoolCounts): number {
  if (counts.blockSize === 1) return 0;
  const free = counts.available + counts.draining - counts.demand;
  const above = hasIpTargets(targets)
    ? Math.min(free - (targets.warmIp ?? 0), counts.total + counts.draining - (targets.minimumIp ?? 0))
    : free - warmAddressCount(targets, counts);
  return Math.max(0, Math.min(above, counts.draining));
}
