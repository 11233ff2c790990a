// The node's record of which pod holds which address. (The decisions over it are in allocate.ts and withdrawal.ts.)

import type { Ip } from '../address/ip.ts';
import type { PodKey } from '../ids.ts';
import type { NodeNetworkSpec } from './node-network.ts';

/** A CNI attachment: (CNI_CONTAINERID, CNI_IFNAME) names it. */
export interface SandboxKey {
  readonly containerId: string;
  readonly ifName: string;
}

/** A sandbox key as one text. Neither part may hold a slash (CNI spec, Parameters), so no two keys share a text. */
export type SandboxId = string & { readonly __brand: 'SandboxId' };

export const sandboxId = (key: SandboxKey): SandboxId => `${key.containerId}/${key.ifName}` as SandboxId;

export interface Allocation {
  readonly sandbox: SandboxKey;
  readonly pod: PodKey;
  readonly podUid: string;
  readonly addresses: readonly Ip[];
  readonly hostLink: string;
  readonly netnsPath: string;
}

/** Which NodeNetwork spec was acted on. The uid tells an object from one made anew under the same name. */
export interface SpecVersion {
  readonly uid: string;
  readonly generation: number;
}

/** A spec as a journal may hold it: from before there were address families, too. */
export type JournalledSpec = Omit<NodeNetworkSpec, 'addressFamilies'> &
  Partial<Pick<NodeNetworkSpec, 'addressFamilies'>>;

/** What the journal holds; times are milliseconds since the epoch. */
export type JournalRecord =
  | { readonly type: 'Allocated'; readonly at: number; readonly allocation: Allocation }
  | {
      readonly type: 'Released';
      readonly at: number;
      /** The same moment since the machine booted, milliseconds; absent in older journals. */
      readonly bootAt?: number;
      readonly sandbox: SandboxKey;
      readonly addresses: readonly Ip[];
    }
  /** Their rest is over, by a clock that nobody can set. */
  | { readonly type: 'Rested'; readonly at: number; readonly addresses: readonly Ip[] }
  /** Let go for ever under this grant. `generation` is the spec's whose `withdrawing` was answered. */
  | { readonly type: 'Withdrawn'; readonly at: number; readonly ip: Ip; readonly generation: number }
  /** The controller has answered (unassigned, or cancelled before it saw the answer): the address may be granted anew. */
  | { readonly type: 'Forgotten'; readonly at: number; readonly ip: Ip }
  /**
   * This spec is acted on from now on; an older one, read from a stale cache after a restart, is refused. `content` is
   * what it says, for a start while the API server cannot be reached; absent for objects that are no more.
   */
  | {
      readonly type: 'SpecSeen';
      readonly at: number;
      readonly spec: SpecVersion;
      readonly content?: JournalledSpec;
    };

/** The records, added up. Made only by `ledgerFrom` and `applyRecord`. */
export interface Ledger {
  readonly allocations: ReadonlyMap<SandboxId, Allocation>;
  /** address -> the sandbox that holds it */
  readonly holders: ReadonlyMap<Ip, SandboxId>;
  /** address -> when it was released; it rests and must not serve (IP-5) */
  readonly cooling: ReadonlyMap<Ip, number>;
  /** address that rests -> when it was released, milliseconds since the machine booted; missing where that is not known */
  readonly coolingSinceBoot: ReadonlyMap<Ip, number>;
  /** address -> when it was last released; its rest is over. What is in none of the maps never served. */
  readonly rested: ReadonlyMap<Ip, number>;
  /** address -> generation of the spec whose wish was answered */
  readonly withdrawn: ReadonlyMap<Ip, number>;
  readonly spec: SpecVersion | undefined;
  /** What `spec` says; undefined where the journal is from before it was kept. */
  readonly specContent: NodeNetworkSpec | undefined;
  /** Uids of earlier NodeNetwork objects of this node, oldest first: what still arrives of them is stale. */
  readonly formerUids: readonly string[];
}

export const emptyLedger: Ledger = {
  allocations: new Map(),
  holders: new Map(),
  cooling: new Map(),
  coolingSinceBoot: new Map(),
  rested: new Map(),
  withdrawn: new Map(),
  spec: undefined,
  specContent: undefined,
  formerUids: [],
};

export const allocationOf = (ledger: Ledger, sandbox: SandboxKey): Allocation | undefined =>
  ledger.allocations.get(sandboxId(sandbox));
