// The instance types that a scenario may use, as DescribeInstanceTypes reports them.

import type { InstanceLimits } from '../../domain/instance/instance-limits.ts';

type Row = readonly [type: string, eniMax: number, addressesPerEniMax: number, vcpuCount: number];

/** https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/AvailableIpPerENI.html */
const NITRO: readonly Row[] = [
  ['t3.small', 3, 4, 2],
  ['t3.medium', 3, 6, 2],
  ['t3.large', 3, 12, 2],
  ['m5.large', 3, 10, 2],
  ['m5.xlarge', 4, 15, 4],
  ['m5.2xlarge', 4, 15, 8],
  ['m5.4xlarge', 8, 30, 16],
  ['m6i.large', 3, 10, 2],
  ['c5.large', 3, 10, 2],
  ['c5.xlarge', 4, 15, 4],
  ['r5.large', 3, 10, 2],
];
const XEN: readonly Row[] = [
  ['t2.medium', 3, 6, 2],
  ['m4.large', 2, 10, 2],
];

const limitsOf =
  (hypervisor: 'nitro' | 'xen') =>
  ([instanceType, eniMax, ipv4PerEniMax, vcpuCount]: Row): InstanceLimits => ({
    instanceType,
    eniMax,
    ipv4PerEniMax,
    ipv6PerEniMax: ipv4PerEniMax,
    networkCardCount: 1,
    hypervisor,
    vcpuCount,
  });

export const INSTANCE_TYPES: readonly InstanceLimits[] = [
  ...NITRO.map(limitsOf('nitro')),
  ...XEN.map(limitsOf('xen')),
];
