// Files that are there in whole or not at all, also after a power cut.

import { type FileHandle, open, rename, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';

export interface DurableFile {
  readonly path: string;
  /** Such as 0o644. */
  readonly mode: number;
  readonly write: (file: FileHandle) => Promise<void>;
}

/**
 * Writes beside `path`, syncs, and renames: whoever reads or runs `path` meanwhile has the old one or the new one, and
 * never a half. The temporary name begins with a dot and ends in nothing that a runtime would read.
 */
export async function replaceFile({ path, mode, write }: DurableFile): Promise<void> {
  const slash = path.lastIndexOf('/') + 1;
  const temporary = `${path.slice(0, slash)}.${path.slice(slash)}.${process.pid}.new`;
  try {
    const file = await open(temporary, 'w', mode);
    try {
      await write(file);
      // The umask has had its say at the opening.
      await file.chmod(mode);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await unlink(temporary).catch(ignoreMissing);
    throw error;
  }
  await syncDirectory(path);
}

/** Removes it durably. False: there was none. */
export async function removeFile(path: string): Promise<boolean> {
  try {
    await unlink(path);
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
  await syncDirectory(path);
  return true;
}

export const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ENOENT';

function ignoreMissing(error: unknown): void {
  if (!isMissing(error)) throw error;
}

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(dirname(path), 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
