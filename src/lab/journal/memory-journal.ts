// A journal in memory whose content outlives the agent that writes it, and may lose the write that a crash cuts off.

import type { JournalRecord } from '../../domain/ipam/ledger.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Journal, JournalFailure } from '../../ports/journal.ts';
import { done, failed, type Outcome } from '../../ports/outcome.ts';

/** What a sync of the disk takes, milliseconds. */
const SYNC_MS = 1;

export interface MemoryJournal {
  /** The journal as the next life of the agent opens it. `clock` is that life's. */
  open(clock: Clock): Journal;
  /**
   * The agent dies. A write that is under way is lost; with `tear` it leaves half a record behind, which the next
   * `load` reports.
   */
  crash(tear: boolean): void;
  /** What `append` and `rewrite` answer instead of writing; undefined: they work. */
  refuse(failure: JournalFailure | undefined): void;
  /** What is durable now. */
  records(): readonly JournalRecord[];
}

export function createMemoryJournal(): MemoryJournal {
  let durable: readonly JournalRecord[] = [];
  let writing: object | undefined;
  let torn: string | undefined;
  let refusal: JournalFailure | undefined;

  async function write(
    clock: Clock,
    next: () => readonly JournalRecord[],
  ): Promise<Outcome<void, JournalFailure>> {
    if (refusal !== undefined) return failed(refusal);
    const mine = {};
    writing = mine;
    await clock.sleep(SYNC_MS, 'journal sync');
    // Another life writes by now, or none: this one died in its sleep and nobody reads its answer.
    if (writing !== mine) return failed({ message: 'the agent that wrote this is dead' });
    writing = undefined;
    durable = next();
    return done(undefined);
  }

  return {
    open: (clock) => ({
      load: () => {
        const report = torn;
        torn = undefined;
        return Promise.resolve(done({ records: durable, ...(report !== undefined && { torn: report }) }));
      },
      append: (records) => write(clock, () => [...durable, ...records]),
      rewrite: (records) => write(clock, () => [...records]),
    }),
    crash: (tear) => {
      if (tear && writing !== undefined) torn = 'the last record was cut off in the middle';
      writing = undefined;
    },
    refuse: (failure) => {
      refusal = failure;
    },
    records: () => durable,
  };
}
