// What the plugin asks the agent over the socket, and what the agent answers.

import type { SandboxKey } from '../../domain/ipam/ledger.ts';
import type { CniError } from '../cni/cni-error.ts';
import type { CniResult } from '../cni/cni-result.ts';

/** Where the agent listens unless the network configuration's `agentSocket` says otherwise. */
export const DEFAULT_AGENT_SOCKET = '/run/eniwhere/agent.sock';

/** Path of the HTTP request that carries a CniRequest (POST, JSON both ways). */
export const CNI_HTTP_PATH = '/cni';

/** A Kubernetes pod as CNI_ARGS names it. `uid` is empty where the runtime does not pass it. */
export interface PodIdentity {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

export interface AddRequest {
  readonly command: 'ADD';
  readonly sandbox: SandboxKey;
  readonly netnsPath: string;
  readonly pod: PodIdentity;
  /** The pod's annotations of `eniwhere.io/`, where the runtime passes annotations at all; absent: it has not said. */
  readonly podAnnotations?: Readonly<Record<string, string>> | undefined;
}

export interface DelRequest {
  readonly command: 'DEL';
  readonly sandbox: SandboxKey;
  readonly netnsPath?: string | undefined;
  readonly pod?: PodIdentity | undefined;
  /** What ADD answered, as far as the runtime still knows. */
  readonly prevResult?: CniResult | undefined;
}

export interface CheckRequest {
  readonly command: 'CHECK';
  readonly sandbox: SandboxKey;
  readonly netnsPath: string;
  readonly prevResult: CniResult;
}

export interface StatusRequest {
  readonly command: 'STATUS';
}

export interface GcRequest {
  readonly command: 'GC';
  readonly validAttachments: readonly SandboxKey[];
}

export type CniRequest = AddRequest | DelRequest | CheckRequest | StatusRequest | GcRequest;

export type CniReply =
  | { readonly kind: 'Result'; readonly result: CniResult }
  /** Done, and there is nothing to print. */
  | { readonly kind: 'Done' }
  | { readonly kind: 'Error'; readonly error: CniError };
