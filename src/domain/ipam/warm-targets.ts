// How many addresses to hold ahead of demand: the AWS VPC CNI's warm targets, with the meaning that users know.

/** `undefined` means not set. WARM_IP_TARGET or MINIMUM_IP_TARGET, once set, override WARM_ENI_TARGET. */
export interface WarmTargets {
  /** WARM_IP_TARGET, addresses. */
  readonly warmIp?: number;
  /** MINIMUM_IP_TARGET, addresses. */
  readonly minimumIp?: number;
  /** WARM_ENI_TARGET, whole ENIs. */
  readonly warmEni: number;
  /** MAX_ENI: ENIs on the instance, the primary included; the instance type's limit still holds. */
  readonly maxEni?: number;
  /** The targets count addresses one by one also when both are 0: nothing beyond demand is held. */
  readonly exact?: true;
}

/** The addresses of the ENIs that new pods may use. */
export interface PoolCounts {
  /** Assigned by EC2 and not withdrawn. */
  readonly total: number;
  /** Of `total`, those that a pod could get now: neither used, cooling nor being withdrawn. */
  readonly available: number;
  /** Pods bound to the node that have no address yet. */
  readonly demand: number;
  readonly slotsPerEni: number;
  /** The node's max pods: more addresses than this serve nobody, so warm targets stop there. */
  readonly maxPods: number;
}

export const hasIpTargets = (targets: WarmTargets): boolean =>
  targets.exact === true || (targets.warmIp ?? 0) > 0 || (targets.minimumIp ?? 0) > 0;

/** Addresses short of demand: never limited by a warm target. */
export const demandShortfall = (counts: PoolCounts): number => Math.max(0, counts.demand - counts.available);

/** Addresses short of demand plus warm target. Cooling addresses do not count as available (IP-5). */
export function neededAddressCount(targets: WarmTargets, counts: PoolCounts): number {
  const free = counts.available - counts.demand;
  const forDemand = demandShortfall(counts);
  const warm = hasIpTargets(targets)
    ? Math.max((targets.warmIp ?? 0) - free, (targets.minimumIp ?? 0) - counts.total)
    : targets.warmEni * counts.slotsPerEni - free;
  const room = Math.max(0, counts.maxPods - counts.total);
  return Math.max(forDemand, Math.min(warm, room), 0);
}

/** Addresses above the warm target. WARM_ENI_TARGET alone frees whole ENIs only, as with the AWS VPC CNI. */
export function excessAddressCount(targets: WarmTargets, counts: PoolCounts): number {
  const free = counts.available - counts.demand;
  if (hasIpTargets(targets)) {
    return Math.max(0, Math.min(free - (targets.warmIp ?? 0), counts.total - (targets.minimumIp ?? 0)));
  }
  const wholeEnis = Math.floor((free - targets.warmEni * counts.slotsPerEni) / counts.slotsPerEni);
  return Math.max(0, wholeEnis) * counts.slotsPerEni;
}
