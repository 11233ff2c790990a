// Writes NodeNetwork.status: batched, level-based, and only over the spec that it answers.

import { isSameStatus, statusOf } from '../domain/ipam/node-status.ts';
import { judgeSpec } from '../domain/ipam/withdrawal.ts';
import type { NodeNetworkRecord } from '../ports/cluster.ts';
import type { AgentContext } from './agent-context.ts';
import { agentReady } from './agent-ready.ts';
import { canWait, RESYNC_MS } from './status-pace.ts';
import { createWorker, type Worker } from './worker.ts';

/** Pause before a write that failed is tried again; it doubles with each failure, milliseconds. */
const RETRY_MIN_MS = 500;
const RETRY_MAX_MS = 30_000;

export interface StatusWriterEvents {
  /** A newer record was read or written. */
  readonly onRecord: () => void;
}

export function createStatusWriter(context: AgentContext, events: StatusWriterEvents): Worker {
  const { clock, log } = context;
  let retryMs = RETRY_MIN_MS;
  const run = async (): Promise<number | undefined> => {
    const outcome = await writeStatus(context, events);
    if (outcome === 'Waiting') return undefined;
    if (outcome === 'Written') {
      retryMs = RETRY_MIN_MS;
      return RESYNC_MS;
    }
    const pauseMs = retryMs;
    retryMs = Math.min(retryMs * 2, RETRY_MAX_MS);
    return pauseMs;
  };
  return createWorker({ clock, log, label: 'status', run });
}

type WriteOutcome = 'Written' | 'Waiting' | 'Failed';

async function writeStatus(context: AgentContext, events: StatusWriterEvents): Promise<WriteOutcome> {
  const { shared, store, cluster, clock, log } = context;
  const { record, accepted } = shared;
  if (record === undefined || accepted === undefined) return 'Waiting';
  if (record.uid !== accepted.uid || record.generation !== accepted.generation) {
    // The answers in hand are to another spec: written over this one, they could list an address as let go that this
    // spec has granted again. A newer one is being looked at; an older one must be read again.
    return judgeSpec(store.ledger(), record) === 'Stale' ? reread(context, events) : 'Waiting';
  }
  const status = statusOf({
    ledger: store.ledger(),
    undurable: store.undurable(),
    generation: accepted.generation,
    ready: agentReady(context),
    previous: record.status,
    now: clock.now(),
  });
  if (isSameStatus(record.status, status) || canWait(context, status)) return 'Written';
  shared.toldWithdrawn = new Set([...shared.toldWithdrawn, ...record.status.withdrawn, ...status.withdrawn]);
  shared.statusWrittenAt = clock.bootNow();
  shared.generationDueAt = undefined;
  const outcome = await cluster.updateNodeNetworkStatus({ ...record, status });
  switch (outcome.kind) {
    case 'ok':
      return takeRecord(context, events, outcome.value);
    case 'unknown':
      log.mark('status-write-unknown');
      return reread(context, events);
    case 'failed':
      if (outcome.failure.kind === 'conflict') log.mark('status-conflict');
      else log.warn('the status cannot be written', { failure: outcome.failure });
      return reread(context, events);
  }
}

/** What the API server itself has. The write is then tried again from there, after a pause. */
async function reread(context: AgentContext, events: StatusWriterEvents): Promise<WriteOutcome> {
  const { cluster, nodeName, log } = context;
  const outcome = await cluster.get('NodeNetwork', nodeName);
  if (outcome.kind === 'ok') {
    if (outcome.value !== undefined) takeRecord(context, events, outcome.value);
  } else {
    log.warn('the NodeNetwork cannot be read', { outcome });
  }
  return 'Failed';
}

/** Unless the watch has brought a newer one meanwhile, as far as can be told. */
function takeRecord(
  { shared }: AgentContext,
  { onRecord }: StatusWriterEvents,
  record: NodeNetworkRecord,
): 'Written' {
  const isOlder = shared.record?.uid === record.uid && shared.record.generation > record.generation;
  const isSame = shared.record?.resourceVersion === record.resourceVersion;
  if (!isOlder) shared.toldWithdrawn = new Set(record.status.withdrawn);
  if (isOlder || isSame) return 'Written';
  shared.record = record;
  onRecord();
  return 'Written';
}
