// What the main thread and the Workers tell each other: plain data only.

import type { Ip } from '../../domain/address/ip.ts';
import type { HostDatapath } from '../../domain/datapath/host-datapath.ts';
import type { PodDatapath } from '../../domain/datapath/pod-datapath.ts';
import type { AwsCniReport } from '../../ports/aws-cni.ts';
import type { LinkView, PodLinkView } from '../../ports/network-stack.ts';
import type { Outcome } from '../../ports/outcome.ts';
import type { KernelFailure } from './kernel-refusal.ts';

export interface PodRemoval {
  readonly hostLink: string;
  readonly addresses: readonly Ip[];
}

/** Operation -> what it takes and answers. */
export interface StackOperations {
  readonly listLinks: { readonly input: null; readonly output: readonly LinkView[] };
  readonly applyHost: { readonly input: HostDatapath; readonly output: readonly string[] };
  readonly wirePod: { readonly input: PodDatapath; readonly output: null };
  readonly unwirePod: { readonly input: PodRemoval; readonly output: null };
  readonly inspectPod: { readonly input: PodDatapath; readonly output: readonly string[] };
  readonly listPodLinks: { readonly input: string; readonly output: readonly PodLinkView[] };
  readonly reportAwsCni: { readonly input: string; readonly output: AwsCniReport };
  readonly cleanAwsCni: { readonly input: string; readonly output: AwsCniReport };
  readonly describeNetwork: { readonly input: null; readonly output: string };
  /** Lets go of the namespace. */
  readonly closeStack: { readonly input: null; readonly output: null };
}

export type StackOperation = keyof StackOperations;

/** Which stack's namespace a request is for. Ids are never used twice; the path may be, by another namespace. */
export interface StackAddress {
  readonly stackId: number;
  readonly netnsPath: string;
}

export type StackRequest = {
  [Name in StackOperation]: {
    readonly requestId: number;
    readonly stack: StackAddress;
    readonly operation: Name;
    readonly input: StackOperations[Name]['input'];
  };
}[StackOperation];

/** Operation -> what it takes and answers; descriptors are numbers, valid in the whole process. */
export interface SocketOperations {
  readonly openServer: { readonly input: { readonly port: number }; readonly output: number };
  readonly openReceiver: { readonly input: { readonly port: number }; readonly output: number };
  readonly openClient: {
    readonly input: { readonly address: Ip; readonly port: number; readonly source?: Ip };
    readonly output: number;
  };
  readonly sendSpoofed: {
    readonly input: { readonly source: Ip; readonly destination: Ip; readonly port: number };
    readonly output: null;
  };
}

export type SocketRequest = {
  [Name in keyof SocketOperations]: {
    readonly requestId: number;
    readonly netnsPath: string;
    readonly operation: Name;
    readonly input: SocketOperations[Name]['input'];
  };
}[keyof SocketOperations];

export interface WatchRequest {
  readonly requestId: number;
  readonly stack: StackAddress;
  readonly operation: 'watch' | 'unwatch';
}

/** Sent unasked. */
export interface ChangeNotice {
  readonly changedStackId: number;
}

export interface WorkerReply {
  readonly requestId: number;
  readonly outcome: Outcome<unknown, KernelFailure>;
}
