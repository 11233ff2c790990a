// The ledger and its journal: nothing else writes either.

import type { Ip } from '../domain/address/ip.ts';
import { applyRecords, compact, ledgerFrom } from '../domain/ipam/apply-record.ts';
import { type Allocation, emptyLedger, type JournalRecord, type Ledger } from '../domain/ipam/ledger.ts';
import { err, ok, type Result } from '../domain/result.ts';
import type { Clock } from '../ports/clock.ts';
import type { Journal, JournalFailure } from '../ports/journal.ts';
import type { Log } from '../ports/log.ts';
import type { Outcome } from '../ports/outcome.ts';
import type { StatusChange } from './status-change.ts';

/** Records written in one go at most. */
const BATCH_RECORD_COUNT_MAX = 256;

/** The journal is compacted when it has this many records, and COMPACTION_FACTOR times as many as it needs. */
const COMPACTION_RECORD_COUNT_MIN = 2048;
const COMPACTION_FACTOR = 4;

/** `err` holds a sentence: the journal could not be written, and why. */
export type CommitResult = Result<void, string>;

export interface LoadedJournal {
  readonly recordCount: number;
  /** Whether it has ever held a pod, as far as it goes back. */
  readonly knowsPods: boolean;
  readonly torn?: string;
}

export interface LedgerStore {
  ledger(): Ledger;
  /** Reads the journal. To be repeated until it succeeds; nothing else may be called before. */
  load(): Promise<Result<LoadedJournal, string>>;
  /** Journals the records, then applies them. */
  record(records: readonly JournalRecord[]): Promise<CommitResult>;
  /** Holds the addresses at once, before any other decision can take them, and journals it. On an error nothing is held. */
  reserve(allocation: Allocation): Promise<CommitResult>;
  /** Lets addresses go at once, and journals it. Until that is done they are `undurable`; `settle` tries again. */
  letGo(addresses: readonly Ip[], generation: number): Promise<CommitResult>;
  /** Repairs the journal after a failed write, if there was one. */
  settle(): Promise<CommitResult>;
  endCooldown(addresses: readonly Ip[]): void;
  /** Withdrawn addresses that a crash would bring back. */
  undurable(): ReadonlySet<Ip>;
  /** What is wrong with the journal at present. */
  failure(): string | undefined;
}

interface Pending {
  readonly records: readonly JournalRecord[];
  /** Applied by the caller already, who asked for the addresses to be held at once. */
  readonly applied: boolean;
  /** Applied when the write fails, in the same turn: a later write of the whole ledger must not keep the records. */
  readonly undo?: () => readonly JournalRecord[];
  readonly done: (result: CommitResult) => void;
  readonly broke: (error: unknown) => void;
}

interface StoreState {
  ledger: Ledger;
  readonly pending: Pending[];
  draining: Promise<void> | undefined;
  undurable: Set<Ip>;
  recordCount: number;
  /** A write failed: what the journal holds is not known until it is written anew, from the ledger. */
  failure: string | undefined;
}

export interface LedgerStoreDeps {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly log: Log;
  /** Called after every change of the ledger. */
  readonly onChange: (change: StatusChange) => void;
}

export function createLedgerStore(deps: LedgerStoreDeps): LedgerStore {
  const state: StoreState = {
    ledger: emptyLedger,
    pending: [],
    draining: undefined,
    undurable: new Set(),
    recordCount: 0,
    failure: undefined,
  };
  const apply = (records: readonly JournalRecord[]): void => {
    if (records.length === 0) return;
    state.ledger = applyRecords(state.ledger, records);
    deps.onChange(records.every(({ type }) => type === 'SpecSeen') ? 'Generation' : 'Usage');
  };
  const commit = (request: Pick<Pending, 'records' | 'applied' | 'undo'>): Promise<CommitResult> =>
    new Promise((done, broke) => {
      const records = request.records.map((record) => dated(record, deps.clock));
      if (request.applied) apply(records);
      state.pending.push({ ...request, records, done, broke });
      state.draining ??= drain(state, deps, apply);
    });
  return {
    ledger: () => state.ledger,
    load: () => load(state, deps),
    record: (records) => commit({ records, applied: false }),
    reserve: (allocation) =>
      commit({
        records: [{ type: 'Allocated', at: deps.clock.now(), allocation }],
        applied: true,
        undo: () => [released(allocation, deps.clock.now())],
      }),
    letGo: (addresses, generation) => {
      const at = deps.clock.now();
      for (const ip of addresses) state.undurable.add(ip);
      const records = addresses.map((ip): JournalRecord => ({ type: 'Withdrawn', at, ip, generation }));
      return commit({ records, applied: true });
    },
    settle: () =>
      state.failure === undefined ? Promise.resolve(ok(undefined)) : commit({ records: [], applied: false }),
    endCooldown: (addresses) => {
      // In force at once: where the journal loses it, the addresses rest once more after the next start.
      void commit({ records: [{ type: 'Rested', at: deps.clock.now(), addresses }], applied: true });
    },
    undurable: () => state.undurable,
    failure: () => state.failure,
  };
}

/** A rest is measured by the clock that nobody sets, across the agent's lives. */
const dated = (record: JournalRecord, clock: Clock): JournalRecord =>
  record.type === 'Released' ? { bootAt: clock.bootNow(), ...record } : record;

export const released = (allocation: Allocation, at: number): JournalRecord => ({
  type: 'Released',
  at,
  sandbox: allocation.sandbox,
  addresses: allocation.addresses,
});

async function load(
  state: StoreState,
  { journal, onChange }: LedgerStoreDeps,
): ReturnType<LedgerStore['load']> {
  const outcome = await journal.load();
  if (outcome.kind !== 'ok') return err(`the journal cannot be read: ${describeOutcome(outcome)}`);
  const { records, torn } = outcome.value;
  state.ledger = ledgerFrom(records);
  state.recordCount = records.length;
  onChange('Usage');
  const knowsPods = records.some(({ type }) => type === 'Allocated' || type === 'Released');
  return ok({ recordCount: records.length, knowsPods, ...(torn !== undefined && { torn }) });
}

/** Writes what is pending, one write at a time, several callers' records together: a sync of the disk serves them all. */
async function drain(
  state: StoreState,
  deps: LedgerStoreDeps,
  apply: (records: readonly JournalRecord[]) => void,
): Promise<void> {
  while (state.pending.length > 0) {
    const batch = takeBatch(state.pending);
    const result = await write(state, deps, batch);
    try {
      for (const one of batch) {
        if (result.ok) settleOne(state, one, apply);
        else apply(one.undo?.() ?? []);
      }
      for (const one of batch) one.done(result);
    } catch (error) {
      // Records that contradict the ledger: the callers fail, and the journal is written anew without the records.
      state.failure = 'records that contradict the ledger were written';
      for (const one of batch) one.broke(error);
    }
    await compactIfLong(state, deps);
  }
  state.draining = undefined;
}

function takeBatch(pending: Pending[]): readonly Pending[] {
  const batch: Pending[] = [];
  let recordCount = 0;
  for (let next = pending[0]; next !== undefined; next = pending[0]) {
    recordCount += next.records.length;
    if (batch.length > 0 && recordCount > BATCH_RECORD_COUNT_MAX) break;
    batch.push(next);
    pending.shift();
  }
  return batch;
}

function settleOne(
  state: StoreState,
  { records, applied }: Pending,
  apply: (records: readonly JournalRecord[]) => void,
): void {
  if (!applied) return apply(records);
  for (const record of records) if (record.type === 'Withdrawn') state.undurable.delete(record.ip);
}

async function write(
  state: StoreState,
  deps: LedgerStoreDeps,
  batch: readonly Pending[],
): Promise<CommitResult> {
  if (state.failure === undefined) {
    const records = batch.flatMap((one) => one.records);
    if (records.length === 0) return ok(undefined);
    return finishWrite(state, deps, {
      outcome: await deps.journal.append(records),
      recordCount: records.length,
    });
  }
  const unapplied = batch.filter((one) => !one.applied).flatMap((one) => one.records);
  return rewrite(state, deps, unapplied);
}

/** The whole journal anew: the ledger, and `more`. */
async function rewrite(
  state: StoreState,
  deps: LedgerStoreDeps,
  more: readonly JournalRecord[],
): Promise<CommitResult> {
  const durableThen = new Set(state.undurable);
  const records = [...compact(state.ledger, deps.clock.now()), ...more];
  const outcome = await deps.journal.rewrite(records);
  if (outcome.kind === 'ok') {
    const wasBroken = state.failure !== undefined;
    state.recordCount = 0;
    state.failure = undefined;
    state.undurable = new Set([...state.undurable].filter((ip) => !durableThen.has(ip)));
    if (wasBroken) {
      deps.log.mark('journal-repaired');
      deps.log.info('the journal is written anew, and sound again', { recordCount: records.length });
      deps.onChange('Usage');
    }
  }
  return finishWrite(state, deps, { outcome, recordCount: records.length });
}

function finishWrite(
  state: StoreState,
  { log, onChange }: LedgerStoreDeps,
  { outcome, recordCount }: { outcome: Outcome<void, JournalFailure>; recordCount: number },
): CommitResult {
  if (outcome.kind === 'ok') {
    state.recordCount += recordCount;
    return ok(undefined);
  }
  const failure = `the journal cannot be written: ${describeOutcome(outcome)}`;
  const isNew = state.failure === undefined;
  state.failure = failure;
  // Told once: a repair that fails again must not wake those who would ask for the next repair at once.
  if (isNew) {
    log.error('the journal cannot be written', { failure });
    onChange('Usage');
  }
  return err(failure);
}

async function compactIfLong(state: StoreState, deps: LedgerStoreDeps): Promise<void> {
  if (state.failure !== undefined || state.recordCount < COMPACTION_RECORD_COUNT_MIN) return;
  const neededCount = compact(state.ledger, deps.clock.now()).length;
  if (state.recordCount < neededCount * COMPACTION_FACTOR) return;
  deps.log.mark('journal-compacted');
  await rewrite(state, deps, []);
}

const describeOutcome = (outcome: Exclude<Outcome<unknown, JournalFailure>, { kind: 'ok' }>): string =>
  outcome.kind === 'failed' ? outcome.failure.message : `its fate is unknown (${outcome.cause})`;
