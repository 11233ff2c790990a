// The network of one node: links, routes, rules and nftables of its host namespace, and the pods behind it.

import type { Ip } from '../domain/address/ip.ts';
import type { HostDatapath } from '../domain/datapath/host-datapath.ts';
import type { PodDatapath } from '../domain/datapath/pod-datapath.ts';
import type { Subscription } from './cluster.ts';
import type { Outcome } from './outcome.ts';

/** `errno` is the kernel's name for the error (EEXIST, ENOENT, ...) where there is one; `step` says which message failed. */
export interface StackFailure {
  readonly step: string;
  readonly errno?: string;
  readonly message: string;
}

export type StackOutcome<T> = Outcome<T, StackFailure>;

export interface LinkView {
  readonly index: number;
  readonly name: string;
  /** Lower-case, colon-separated. */
  readonly mac: string;
  readonly up: boolean;
  readonly mtu: number;
}

/** A pod's host veth as the kernel has it: the link, and the addresses that table PODS routes to it. */
export interface PodLinkView {
  readonly hostLink: string;
  readonly addresses: readonly Ip[];
}

/** Calls of `wirePod` and `unwirePod` for one host link take effect in the order of calls. */
export interface NetworkStack {
  listLinks(): Promise<StackOutcome<readonly LinkView[]>>;
  /**
   * Brings the host's own state to `desired` and removes what is ours and not desired, except pod routes and pod
   * links: of those, it repairs what belongs to `desired.pods`. Idempotent. Answers what it had to change, one `ip`- or nft-like line each (empty: nothing was amiss).
   */
  applyHost(desired: HostDatapath): Promise<StackOutcome<readonly string[]>>;
  /** Makes the whole pod. Leaves nothing behind when it fails. Replaces a link of the same name left by an old sandbox. */
  wirePod(pod: PodDatapath): Promise<StackOutcome<void>>;
  /** Succeeds when anything, or everything, is already gone. */
  unwirePod(pod: {
    readonly hostLink: string;
    readonly addresses: readonly Ip[];
  }): Promise<StackOutcome<void>>;
  /** What differs from `pod` in the kernel, one sentence each: CNI CHECK. */
  inspectPod(pod: PodDatapath): Promise<StackOutcome<readonly string[]>>;
  /** Every host veth with our prefix, and every address routed in table PODS (with an empty `hostLink` if its link is gone). */
  listPodLinks(vethPrefix: string): Promise<StackOutcome<readonly PodLinkView[]>>;
  /**
   * Calls back, at most every few tens of milliseconds, after links, addresses, routes, rules, forwarding, rp_filter or
   * nftables changed, whoever did it; it may also call back once at the start.
   */
  onChange(notify: () => void): Subscription;
  close(): Promise<void>;
}
