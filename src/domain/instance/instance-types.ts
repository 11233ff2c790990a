// Limits of common instance types, for where DescribeInstanceTypes cannot be asked: the lab, and planning at a desk.

import type { InstanceLimits } from './instance-limits.ts';

/** Month for which the figures hold. EC2's own answer is right where it differs. */
export const INSTANCE_TYPES_AS_OF = '2026-08';

/** Interfaces, addresses per interface (as many IPv6 as IPv4), vCPUs. One network card each. */
type Row = readonly [instanceType: string, eniMax: number, addressesPerEniMax: number, vcpuCount: number];

// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/AvailableIpPerENI.html
const NITRO: readonly Row[] = [
  ['a1.medium', 2, 4, 1],
  ['a1.large', 3, 10, 2],
  ['a1.xlarge', 4, 15, 4],
  ['c5.large', 3, 10, 2],
  ['c5.xlarge', 4, 15, 4],
  ['c5.2xlarge', 4, 15, 8],
  ['c5.4xlarge', 8, 30, 16],
  ['c5.9xlarge', 8, 30, 36],
  ['c5.12xlarge', 8, 30, 48],
  ['c5.18xlarge', 15, 50, 72],
  ['c5.24xlarge', 15, 50, 96],
  ['c6i.large', 3, 10, 2],
  ['c6i.xlarge', 4, 15, 4],
  ['c6i.2xlarge', 4, 15, 8],
  ['c6i.4xlarge', 8, 30, 16],
  ['c6i.8xlarge', 8, 30, 32],
  ['m5.large', 3, 10, 2],
  ['m5.xlarge', 4, 15, 4],
  ['m5.2xlarge', 4, 15, 8],
  ['m5.4xlarge', 8, 30, 16],
  ['m5.8xlarge', 8, 30, 32],
  ['m5.12xlarge', 8, 30, 48],
  ['m5.16xlarge', 15, 50, 64],
  ['m5.24xlarge', 15, 50, 96],
  ['m6g.medium', 2, 4, 1],
  ['m6i.large', 3, 10, 2],
  ['m6i.xlarge', 4, 15, 4],
  ['m6i.2xlarge', 4, 15, 8],
  ['m6i.4xlarge', 8, 30, 16],
  ['m6i.8xlarge', 8, 30, 32],
  ['m6i.12xlarge', 8, 30, 48],
  ['m6i.16xlarge', 15, 50, 64],
  ['r5.large', 3, 10, 2],
  ['r5.xlarge', 4, 15, 4],
  ['t3.micro', 2, 2, 2],
  ['t3.small', 3, 4, 2],
  ['t3.medium', 3, 6, 2],
  ['t3.large', 3, 12, 2],
  ['t3.xlarge', 4, 15, 4],
  ['t3.2xlarge', 4, 15, 8],
];

const XEN: readonly Row[] = [
  ['m4.large', 2, 10, 2],
  ['m4.xlarge', 4, 15, 4],
  ['t2.micro', 2, 2, 1],
  ['t2.small', 3, 4, 1],
  ['t2.medium', 3, 6, 2],
  ['t2.large', 3, 12, 2],
];

const limitsOf =
  (hypervisor: InstanceLimits['hypervisor']) =>
  ([instanceType, eniMax, addressesPerEniMax, vcpuCount]: Row): InstanceLimits => ({
    instanceType,
    eniMax,
    ipv4PerEniMax: addressesPerEniMax,
    ipv6PerEniMax: addressesPerEniMax,
    networkCardCount: 1,
    hypervisor,
    vcpuCount,
  });

/** The types with their limits, by family and size. */
export const INSTANCE_TYPES: readonly InstanceLimits[] = [
  ...NITRO.map(limitsOf('nitro')),
  ...XEN.map(limitsOf('xen')),
];

const BY_NAME: ReadonlyMap<string, InstanceLimits> = new Map(
  INSTANCE_TYPES.map((limits) => [limits.instanceType, limits]),
);

/** Limits of a type of the table; undefined for one that it does not hold. */
export const knownLimits = (instanceType: string): InstanceLimits | undefined => BY_NAME.get(instanceType);
