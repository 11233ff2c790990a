// The node's record of which pod holds which address. (The decisions over it are in allocate.ts.)

import type { Ip } from '../address/ip.ts';
import type { PodKey } from '../ids.ts';

/** A CNI attachment: (CNI_CONTAINERID, CNI_IFNAME) names it. */
export interface SandboxKey {
  readonly containerId: string;
  readonly ifName: string;
}

export interface Allocation {
  readonly sandbox: SandboxKey;
  readonly pod: PodKey;
  readonly podUid: string;
  readonly addresses: readonly Ip[];
  readonly hostLink: string;
  readonly netnsPath: string;
}

/** What the journal holds; times are milliseconds since the epoch. */
export type JournalRecord =
  | { readonly type: 'Allocated'; readonly at: number; readonly allocation: Allocation }
  | {
      readonly type: 'Released';
      readonly at: number;
      readonly sandbox: SandboxKey;
      readonly addresses: readonly Ip[];
    }
  /** Let go for ever under this grant. `generation` is the spec's whose `withdrawing` was answered. */
  | { readonly type: 'Withdrawn'; readonly at: number; readonly ip: Ip; readonly generation: number }
  /** The controller has answered (unassigned, or cancelled before it saw the answer): the address may be granted anew. */
  | { readonly type: 'Forgotten'; readonly at: number; readonly ip: Ip };
