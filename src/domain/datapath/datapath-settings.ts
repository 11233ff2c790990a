// Data-plane settings of a node, published by the controller in NodeNetwork.spec.settings.

import type { Cidr } from '../address/ip.ts';

export interface DatapathSettings {
  /** AWS_VPC_K8S_CNI_EXTERNALSNAT: true = never SNAT on the node. */
  readonly externalSnat: boolean;
  /** VPC CIDRs and AWS_VPC_K8S_CNI_EXCLUDE_SNAT_CIDRS: destinations reached with the pod's own address. */
  readonly directCidrs: readonly Cidr[];
  /** AWS_VPC_ENI_MTU, bytes. */
  readonly mtu: number;
  /** AWS_VPC_K8S_CNI_VETHPREFIX, at most 4 characters. */
  readonly vethPrefix: string;
  /** AWS_VPC_K8S_CNI_RANDOMIZESNAT: prng (fully-random), hashrandom (random) or none. */
  readonly randomizeSnat: 'prng' | 'hashrandom' | 'none';
}
