// How many slots and pod ENIs an instance type gives. A slot holds one address or one prefix.

import type { InstanceLimits } from './instance-limits.ts';

/** Slots of one ENI: its own primary address takes none of them. */
export const slotsPerEni = (limits: InstanceLimits): number => Math.max(0, limits.ipv4PerEniMax - 1);

/** ENIs that can serve pods: all but the primary one. */
export const podEniMax = (limits: InstanceLimits): number => Math.max(0, limits.eniMax - 1);
