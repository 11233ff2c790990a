// A unix socket to listen on, for its owner alone.

import { chmod, lstat, unlink } from 'node:fs/promises';
import { connect, type Server } from 'node:net';
import { err, ok, type Result } from '../../domain/result.ts';

const SOCKET_MODE = 0o600;
/** Takes every right but the owner's from what is made meanwhile. */
const OWNER_ONLY_MASK = 0o177;

/**
 * Lets `server` listen at `path`, with mode 0600. A socket that a dead process left is removed; one that somebody still
 * answers on, and a path that is no socket, are refused.
 */
export async function listenOnSocket(server: Server, path: string): Promise<Result<void, string>> {
  try {
    const inTheWay = await removeStale(path);
    if (inTheWay !== undefined) return err(inTheWay);
    await listen(server, path);
    return ok(undefined);
  } catch (error) {
    return err(`cannot listen on ${path}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Why the path cannot be taken; undefined when it is free. */
async function removeStale(path: string): Promise<string | undefined> {
  const stat = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (stat === undefined) return undefined;
  if (!stat.isSocket()) return `${path} is in the way: it is no socket; remove it, or set another path`;
  if (await isAnswered(path)) return `another agent answers on ${path}; stop it first`;
  await unlink(path);
  return undefined;
}

/** Whether anybody listens on the socket. */
export function isAnswered(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

/** The mask makes the socket ours from its first moment on, not only after the chmod. */
async function listen(server: Server, path: string): Promise<void> {
  const before = process.umask(OWNER_ONLY_MASK);
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(path, () => {
        server.off('error', reject);
        resolve();
      });
    });
  } finally {
    process.umask(before);
  }
  await chmod(path, SOCKET_MODE);
}
