// How many slots and pod ENIs an instance type gives. A slot holds one address or one prefix.

import type { InstanceLimits } from './instance-limits.ts';

/** A prefix of IPv4 is a /28. https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-prefix-eni.html */
export const ADDRESSES_PER_PREFIX = 16;

/** Slots of one ENI: its own primary address takes none of them. */
export const slotsPerEni = (limits: InstanceLimits): number => Math.max(0, limits.ipv4PerEniMax - 1);

/** ENIs that can serve pods: all but the primary one. */
export const podEniMax = (limits: InstanceLimits): number => Math.max(0, limits.eniMax - 1);

/** Whether EC2 gives the type prefixes: Nitro and bare metal have them. */
export const hasPrefixes = (limits: InstanceLimits): boolean => limits.hypervisor !== 'xen';
