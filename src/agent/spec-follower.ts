// Follows NodeNetwork.spec: accepts what is newer, answers what the controller asks for, forgets what it has closed.

import type { JournalRecord } from '../domain/ipam/ledger.ts';
import { answerWithdrawals, forgettable, judgeSpec } from '../domain/ipam/withdrawal.ts';
import type { NodeNetworkRecord } from '../ports/cluster.ts';
import { sameData } from '../domain/same-data.ts';
import type { AgentContext } from './agent-context.ts';
import { recoverPods } from './recovery.ts';
import type { StatusChange } from './status-change.ts';
import { createWorker, type Worker } from './worker.ts';

/** The API server has this long to answer after a start before the journal's spec is acted on, milliseconds. */
const OFFLINE_AFTER_MS = 3000;
/** Pause after the journal or the kernel refused, milliseconds. */
const RETRY_MS = 1000;

export interface SpecFollowerEvents {
  /** Another spec is acted on. */
  readonly onAccepted: () => void;
  /** Every wish of the spec has been looked at; what could be answered is in the ledger. */
  readonly onAnswered: (change: StatusChange) => void;
}

/** To be woken when a record arrives, and when a pod or a cooldown ends: withdrawals may be answerable then. */
export function createSpecFollower(context: AgentContext, events: SpecFollowerEvents): Worker {
  const { clock, log } = context;
  return createWorker({ clock, log, label: 'spec', run: () => follow(context, events) });
}

async function follow(context: AgentContext, events: SpecFollowerEvents): Promise<number | undefined> {
  const { shared, store, log } = context;
  const { record } = shared;
  if (!shared.loaded) return undefined;
  if (record === undefined && !shared.heard) return followJournal(context, events);
  if (record === undefined) {
    shared.offered = false;
    return undefined;
  }
  const settled = await store.settle();
  if (!settled.ok) return RETRY_MS;
  const version = { uid: record.uid, generation: record.generation };
  const verdict = judgeSpec(store.ledger(), version);
  if (verdict === 'Stale') {
    log.mark('stale-spec-refused');
    log.warn('a NodeNetwork older than the one acted on is refused', {
      ...version,
      actedOn: store.ledger().spec,
    });
    return undefined;
  }
  if (verdict === 'Newer') {
    const accepted = await store.record(acceptance(context, record));
    if (!accepted.ok) return RETRY_MS;
  }
  const isNew = shared.accepted?.generation !== record.generation || shared.accepted.uid !== record.uid;
  const isSameGrant = sameData(shared.accepted?.spec.enis, record.spec.enis);
  shared.accepted = { spec: record.spec, ...version };
  shared.offered = true;
  if (isNew) events.onAccepted();
  if (!(await recoverOnce(context))) return RETRY_MS;
  if (!(await answer(context, record))) return RETRY_MS;
  events.onAnswered(isSameGrant ? 'Generation' : 'Grant');
  return undefined;
}

/**
 * The API server has not answered since the start: the spec acted on last is as good as it was then. What it granted
 * stays granted until this agent itself lets it go, and what it has let go is in the journal too (RST-1).
 */
async function followJournal(context: AgentContext, events: SpecFollowerEvents): Promise<number | undefined> {
  const { shared, store, clock, log } = context;
  const { spec: version, specContent: spec } = store.ledger();
  if (version === undefined || spec === undefined || shared.recovered) return undefined;
  const waitedMs = clock.now() - shared.loadedAt;
  if (waitedMs >= 0 && waitedMs < OFFLINE_AFTER_MS) return OFFLINE_AFTER_MS - waitedMs;
  if (shared.accepted === undefined) {
    log.mark('started-offline');
    log.warn('the API server does not answer; pods get what the last known NodeNetwork granted', {
      ...version,
    });
    shared.accepted = { spec, ...version };
    shared.offered = true;
    events.onAccepted();
  }
  if (!(await recoverOnce(context))) return RETRY_MS;
  events.onAnswered('Usage');
  return undefined;
}

/** The first spec that an empty journal sees may list addresses as withdrawn that a lost journal let go. */
function acceptance(
  { store, clock, log }: AgentContext,
  record: NodeNetworkRecord,
): readonly JournalRecord[] {
  const at = clock.now();
  const { generation, uid } = record;
  const seen: JournalRecord = { type: 'SpecSeen', at, spec: { uid, generation }, content: record.spec };
  if (store.ledger().spec !== undefined || record.status.withdrawn.length === 0) return [seen];
  log.mark('withdrawn-adopted');
  const { holders } = store.ledger();
  const lost = record.status.withdrawn.filter((ip) => !holders.has(ip));
  return [seen, ...lost.map((ip): JournalRecord => ({ type: 'Withdrawn', at, ip, generation }))];
}

async function recoverOnce(context: AgentContext): Promise<boolean> {
  if (context.shared.recovered) return true;
  const result = await recoverPods(context);
  if (result.ok) context.shared.recovered = true;
  else context.log.error('pods cannot be recovered yet', { failure: result.error });
  return result.ok;
}

async function answer({ store, clock, log }: AgentContext, record: NodeNetworkRecord): Promise<boolean> {
  const { enis } = record.spec;
  const { generation } = record;
  const closed = forgettable(store.ledger(), { enis, generation });
  if (closed.length > 0) {
    const at = clock.now();
    const forgotten = await store.record(closed.map((ip): JournalRecord => ({ type: 'Forgotten', at, ip })));
    if (!forgotten.ok) return false;
    log.info('withdrawn addresses forgotten', { generation, addresses: closed });
  }
  const going = answerWithdrawals(store.ledger(), enis);
  if (going.length === 0) return true;
  const gone = await store.letGo(going, generation);
  if (gone.ok) log.info('addresses let go', { generation, addresses: going });
  return gone.ok;
}
