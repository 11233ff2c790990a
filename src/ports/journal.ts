// The agent's durable memory: an append-only list of records.

import type { JournalRecord } from '../domain/ipam/ledger.ts';
import type { Outcome } from './outcome.ts';

export interface JournalContent {
  readonly records: readonly JournalRecord[];
  /** Says what was lost when the last record was torn by a crash in mid-write; the journal stays usable. */
  readonly torn?: string;
}

export interface JournalFailure {
  readonly message: string;
}

/** One call at a time: the next one begins when the last has been answered. */
export interface Journal {
  load(): Promise<Outcome<JournalContent, JournalFailure>>;
  /**
   * Resolves once the records are durable, all or none of them. After `failed` none of them is; after `unknown` the
   * content is in doubt, and every append fails until `rewrite` has succeeded.
   */
  append(records: readonly JournalRecord[]): Promise<Outcome<void, JournalFailure>>;
  /** Replaces the whole content atomically (compaction). */
  rewrite(records: readonly JournalRecord[]): Promise<Outcome<void, JournalFailure>>;
}
