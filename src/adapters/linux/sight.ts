// What one look at a node's network goes by.

import type { HostDatapath } from '../../domain/datapath/host-datapath.ts';
import type { Link } from './link.ts';

export interface Sight {
  readonly desired: HostDatapath;
  /** As they were when the look began. A link that has gone since refuses every change by its index. */
  readonly links: readonly Link[];
}
