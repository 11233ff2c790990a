// The agent's journal in a file: every record is on the disk before anybody acts on it.

import { type FileHandle, mkdir, open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { JournalRecord } from '../../domain/ipam/ledger.ts';
import type { Journal, JournalContent, JournalFailure } from '../../ports/journal.ts';
import { done, failed, type Outcome, unknown } from '../../ports/outcome.ts';
import { readLines, writeLine } from './journal-line.ts';

const DIRECTORY_MODE = 0o700;
const FILE_MODE = 0o600;

interface OpenFile {
  readonly handle: FileHandle;
  length: number;
}

interface State {
  readonly path: string;
  file: OpenFile | undefined;
  /** A failed write could not be taken back: only a rewrite makes the content certain again. */
  inDoubt: boolean;
}

/**
 * A journal at `path`, whose directory is made when missing. A record that a crash cut off is removed and reported
 * by `load`. Damage in the middle makes `load` fail: to go on with half a memory would be to guess.
 */
export function createFileJournal(path: string): Journal {
  const state: State = { path, file: undefined, inDoubt: false };
  return {
    load: () => load(state).catch((error: unknown) => failure(path, 'read', error)),
    append: (records) => append(state, records),
    rewrite: (records) => rewrite(state, records),
  };
}

const failure = (path: string, what: string, error: unknown): Outcome<never, JournalFailure> =>
  failed({ message: `journal ${path} cannot be ${what}: ${messageOf(error)}` });

async function load(state: State): Promise<Outcome<JournalContent, JournalFailure>> {
  const { path } = state;
  await state.file?.handle.close();
  state.file = undefined;
  await mkdir(dirname(path), { recursive: true, mode: DIRECTORY_MODE });
  const handle = await open(path, 'a+', FILE_MODE);
  // A new file outlives a power cut only once its directory knows it.
  await syncDirectory(dirname(path));
  const read = readLines(await handle.readFile());
  if (read.isDamaged) {
    await handle.close();
    const fix = 'move the file away, and the agent takes the running pods over from the kernel';
    return failed({
      message: `journal ${path} is damaged at line ${read.badLine}, and sound lines follow: ${fix}`,
    });
  }
  state.file = { handle, length: read.soundLength };
  state.inDoubt = false;
  if (read.badLine === undefined) return done({ records: read.records });
  await handle.truncate(read.soundLength);
  await handle.sync();
  const torn = `line ${read.badLine} of journal ${path} was cut off by a crash and is dropped`;
  return done({ records: read.records, torn });
}

async function append(
  state: State,
  records: readonly JournalRecord[],
): Promise<Outcome<void, JournalFailure>> {
  const { path, file } = state;
  if (file === undefined) return failed({ message: `journal ${path} has not been loaded` });
  if (state.inDoubt)
    return failed({ message: `journal ${path} is in doubt after a failed write, and must be rewritten` });
  const bytes = Buffer.from(writeLine(records));
  try {
    await writeAll(file.handle, bytes);
    await file.handle.datasync();
  } catch (error) {
    return undo(state, file, error);
  }
  file.length += bytes.length;
  return done(undefined);
}

/** Takes a failed append back, so that a half record is not followed by sound ones. */
async function undo(
  state: State,
  { handle, length }: OpenFile,
  error: unknown,
): Promise<Outcome<never, JournalFailure>> {
  try {
    await handle.truncate(length);
    await handle.sync();
    return failure(state.path, 'written', error);
  } catch (second) {
    state.inDoubt = true;
    return unknown(
      `journal ${state.path}: ${messageOf(error)}; nor could it be taken back: ${messageOf(second)}`,
    );
  }
}

async function rewrite(
  state: State,
  records: readonly JournalRecord[],
): Promise<Outcome<void, JournalFailure>> {
  const { path } = state;
  const bytes = Buffer.from(records.map((record) => writeLine([record])).join(''));
  try {
    await writeBeside(`${path}.next`, bytes);
    await rename(`${path}.next`, path);
  } catch (error) {
    return failure(path, 'rewritten', error);
  }
  try {
    await syncDirectory(dirname(path));
    await state.file?.handle.close();
    state.file = { handle: await open(path, 'a+', FILE_MODE), length: bytes.length };
  } catch (error) {
    // Which of the two files a power cut would leave is open, and appends would go to the one that was replaced.
    state.inDoubt = true;
    return unknown(`journal ${path} was rewritten, but not for sure: ${messageOf(error)}`);
  }
  state.inDoubt = false;
  return done(undefined);
}

async function writeBeside(path: string, bytes: Buffer): Promise<void> {
  const handle = await open(path, 'w', FILE_MODE);
  try {
    await writeAll(handle, bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function writeAll(handle: FileHandle, bytes: Buffer): Promise<void> {
  for (let written = 0; written < bytes.length; ) {
    written += (await handle.write(bytes, written)).bytesWritten;
  }
}

/** A rename is durable only once its directory is (rename(2), fsync(2)). */
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
