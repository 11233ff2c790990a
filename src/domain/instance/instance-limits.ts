// What an EC2 instance type can hold, as DescribeInstanceTypes reports it.

export interface InstanceLimits {
  readonly instanceType: string;
  /** Interfaces on network card 0, the primary ENI included. */
  readonly eniMax: number;
  /** IPv4 addresses per interface, the interface's primary address included. */
  readonly ipv4PerEniMax: number;
  readonly ipv6PerEniMax: number;
  readonly networkCardCount: number;
  readonly hypervisor: 'nitro' | 'xen' | 'metal';
  readonly vcpuCount: number;
}
