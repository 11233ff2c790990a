// The desired wiring of one pod.

import type { Ip } from '../address/ip.ts';

export interface PodDatapath {
  /** Host end of the veth pair: prefix + 11 hex digits of sha1("namespace.pod"). */
  readonly hostLink: string;
  readonly hostMac: string;
  readonly podMac: string;
  /** Path of the pod's network namespace file (CNI_NETNS). */
  readonly netnsPath: string;
  /** CNI_IFNAME. */
  readonly podLink: string;
  /** One IPv4 and/or one IPv6 address. */
  readonly addresses: readonly Ip[];
  readonly mtu: number;
}
