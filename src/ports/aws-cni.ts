// What the AWS VPC CNI left in a node's kernel: found, and on request removed.

import type { Ip } from '../domain/address/ip.ts';
import type { StackOutcome } from './network-stack.ts';

export interface AwsCniReport {
  /** One sentence for each thing that is left over. */
  readonly leftovers: readonly string[];
  /** The AWS CNI's pods that still run here. What they need is not among the leftovers. */
  readonly livePods: readonly { readonly address: Ip; readonly hostLink: string }[];
  /** What is kept for living pods, or cannot be seen: sentences. */
  readonly notes: readonly string[];
}

export interface AwsCniFinder {
  /** Changes nothing. `vethPrefix` is that of the AWS CNI's pods' links. */
  findAwsCniLeftovers(vethPrefix: string): Promise<StackOutcome<AwsCniReport>>;
}

export interface AwsCniCleaner extends AwsCniFinder {
  /** Removes it, and answers what it removed. What pods of the AWS CNI that still run need is kept. */
  removeAwsCniLeftovers(vethPrefix: string): Promise<StackOutcome<AwsCniReport>>;
}
