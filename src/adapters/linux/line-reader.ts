// Lines from a TCP socket, each awaited with a time limit.

import type { Socket } from 'node:net';
import type { SocketFailure } from '../../ports/namespace-sockets.ts';
import { done, failed, type Outcome } from '../../ports/outcome.ts';

export type SocketOutcome<T> = Outcome<T, SocketFailure>;

export interface LineReader {
  /** The next line without its newline; ETIMEDOUT when none comes in time; the socket's error once it is broken. */
  next(timeoutMs: number): Promise<SocketOutcome<string>>;
}

/** Longest line taken, bytes: an address and a newline are far below. */
const LINE_LENGTH_MAX = 1024;

/** `peer` names the other end in messages. */
export function readLines(socket: Socket, peer: string): LineReader {
  const lines: string[] = [];
  const waiting: ((outcome: SocketOutcome<string>) => void)[] = [];
  let rest = '';
  let broken: SocketFailure | undefined;

  const end = (failure: SocketFailure): void => {
    broken ??= failure;
    for (const answer of waiting.splice(0)) answer(failed(broken));
  };
  socket.setEncoding('utf8');
  socket.on('data', (text: string) => {
    const parts = (rest + text).split('\n');
    rest = parts.pop() ?? '';
    for (const line of parts) {
      const answer = waiting.shift();
      if (answer === undefined) lines.push(line);
      else answer(done(line));
    }
    if (rest.length > LINE_LENGTH_MAX) socket.destroy(new Error(`${peer} sent an endless line`));
  });
  socket.on('error', (error) => {
    end(failureOf(error, peer));
  });
  socket.on('close', () => {
    end({ errno: 'ECONNRESET', message: `${peer} closed the connection` });
  });

  return {
    next: async (timeoutMs) => {
      const line = lines.shift();
      if (line !== undefined) return done(line);
      if (broken !== undefined) return failed(broken);
      return new Promise((resolve) => {
        const answer = (outcome: SocketOutcome<string>): void => {
          clearTimeout(timer);
          resolve(outcome);
        };
        const timer = setTimeout(() => {
          waiting.splice(waiting.indexOf(answer), 1);
          resolve(failed({ errno: 'ETIMEDOUT', message: `${peer} did not answer within ${timeoutMs} ms` }));
        }, timeoutMs);
        waiting.push(answer);
      });
    },
  };
}

/** A node:net or node:dgram error as a failure: its `code` is errno's name. */
export function failureOf(error: Error, peer: string): SocketFailure {
  const errno = 'code' in error && typeof error.code === 'string' ? error.code : 'EIO';
  return { errno, message: `${peer}: ${error.message}` };
}
