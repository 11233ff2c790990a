// Who is at the other end of a unix socket.

import { err, ok, type Result } from '../../domain/result.ts';
import { KernelRefusal } from './kernel-refusal.ts';
import { getSocketOption } from './libc.ts';

// asm-generic/socket.h, and struct ucred of linux/socket.h: pid, uid, gid.
const SOL_SOCKET = 1;
const SO_PEERCRED = 17;
const UCRED_LENGTH = 12;
const UID_OFFSET = 4;

/** The user id that the peer had when it connected, in the user namespace of this process (unix(7), SO_PEERCRED). */
export function peerUid(descriptor: number): Result<number, string> {
  const credentials = Buffer.alloc(UCRED_LENGTH);
  try {
    getSocketOption(descriptor, { level: SOL_SOCKET, option: SO_PEERCRED }, credentials);
  } catch (error) {
    if (error instanceof KernelRefusal) return err(error.message);
    throw error;
  }
  return ok(credentials.readUInt32LE(UID_OFFSET));
}
