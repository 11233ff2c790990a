// A journal in memory whose content outlives the agent that writes it, and may lose the write that a crash cuts off.

import type { JournalRecord } from '../../domain/ipam/ledger.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Journal, JournalFailure } from '../../ports/journal.ts';
import { done, failed, type Outcome } from '../../ports/outcome.ts';

/** What a read or a sync of a good disk takes, milliseconds. */
const DISK_MS = 1;

export interface MemoryJournal {
  /** The journal as the next life of the agent opens it. `clock` is that life's. */
  open(clock: Clock): Journal;
  /**
   * The agent dies. A write that is under way still reaches the disk, since the operating system lives on; nobody hears
   * of it. With `tear` the power goes too: half a record is left behind, which the next `load` reports.
   */
  crash(tear: boolean): void;
  /** What `append` and `rewrite` answer instead of writing; undefined: they work. */
  refuse(failure: JournalFailure | undefined): void;
  /** What is durable now. */
  records(): readonly JournalRecord[];
}

/** `syncMs` answers what the next sync takes, milliseconds. */
export function createMemoryJournal(syncMs: () => number = () => DISK_MS): MemoryJournal {
  let durable: readonly JournalRecord[] = [];
  /** What is durable once the write under way is through. */
  let writing: readonly JournalRecord[] | undefined;
  let torn: string | undefined;
  let refusal: JournalFailure | undefined;

  // One write at a time: the port leaves it to the caller.
  async function write(
    clock: Clock,
    next: () => readonly JournalRecord[],
  ): Promise<Outcome<void, JournalFailure>> {
    if (refusal !== undefined) return failed(refusal);
    const content = next();
    writing = content;
    await clock.sleep(syncMs(), 'journal sync');
    // This life died in its sleep: nobody reads its answer.
    if (writing !== content) return failed({ message: 'the agent that wrote this is dead' });
    writing = undefined;
    durable = content;
    return done(undefined);
  }

  return {
    open: (clock) => ({
      load: async () => {
        await clock.sleep(DISK_MS, 'journal read');
        const report = torn;
        torn = undefined;
        return done({ records: durable, ...(report !== undefined && { torn: report }) });
      },
      append: (records) => write(clock, () => [...durable, ...records]),
      rewrite: (records) => write(clock, () => [...records]),
    }),
    crash: (tear) => {
      if (tear && writing !== undefined) torn = 'the last record was cut off in the middle';
      if (!tear && writing !== undefined) durable = writing;
      writing = undefined;
    },
    refuse: (failure) => {
      refusal = failure;
    },
    records: () => durable,
  };
}
