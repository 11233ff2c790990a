// What the agent does and believes, as data: for introspection, metrics and support.

import type { Ip } from '../domain/address/ip.ts';
import type { Allocation, SpecVersion } from '../domain/ipam/ledger.ts';
import type { NodeNetworkSpec } from '../domain/ipam/node-network.ts';
import { type AgentContext, notServing } from './agent-context.ts';
import type { CniHandler } from './cni-handler.ts';
import type { Pool } from './pool.ts';

export interface AgentSnapshot {
  /** Why ADD cannot be served at all; absent when it can. */
  readonly notServing?: string;
  readonly spec: SpecVersion | undefined;
  /** What is acted on; absent until there is something to act on. */
  readonly nodeNetwork?: NodeNetworkSpec;
  readonly allocations: readonly Allocation[];
  readonly cooling: readonly Ip[];
  /** When the cooling addresses were released, milliseconds since the epoch, in the same order. */
  readonly coolingSince: readonly number[];
  readonly withdrawn: readonly Ip[];
  readonly routedAddressCount: number;
  /** Addresses that the kernel may let reach instance metadata. */
  readonly imdsAllowed: readonly Ip[];
  readonly pendingEnis: readonly string[];
  readonly waitingAddCount: number;
  /** ADDs that ended without an address, since the start. */
  readonly noAddressCount: number;
  readonly requestCount: number;
  readonly journalFailure?: string;
  readonly hostFailure?: string;
}

export interface SnapshotSources {
  readonly context: AgentContext;
  readonly pool: Pool;
  readonly handler: CniHandler;
}

export function describeAgent({ context, pool, handler }: SnapshotSources): AgentSnapshot {
  const { shared, store } = context;
  const ledger = store.ledger();
  const why = notServing(context);
  const journalFailure = store.failure();
  return {
    ...(why !== undefined && { notServing: why }),
    spec: ledger.spec,
    ...(shared.accepted !== undefined && { nodeNetwork: shared.accepted.spec }),
    allocations: [...ledger.allocations.values()],
    cooling: [...ledger.cooling.keys()],
    coolingSince: [...ledger.cooling.values()],
    withdrawn: [...ledger.withdrawn.keys()],
    routedAddressCount: shared.routed.size,
    imdsAllowed: [...shared.imdsOpen],
    pendingEnis: shared.pendingEnis,
    waitingAddCount: pool.waitingCount(),
    noAddressCount: pool.noAddressCount(),
    requestCount: handler.requestCount(),
    ...(journalFailure !== undefined && { journalFailure }),
    ...(shared.hostFailure !== undefined && { hostFailure: shared.hostFailure }),
  };
}
