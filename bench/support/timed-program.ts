// Starts programs as a runtime written in a compiled language does, and times them from exec to exit.
//
// Node's own spawn forks, and a fork copies the page tables of a process of a hundred megabytes: milliseconds that no
// runtime pays and that every figure would contain. posix_spawn(3) of glibc and musl shares the memory until exec.

import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import koffi from 'koffi';

const libc = koffi.load(null);
const posixSpawn = libc.func(
  'int posix_spawn(_Out_ int *, const char *, const void *, const void *, const char **, const char **)',
);
const initActions = libc.func('int posix_spawn_file_actions_init(_Out_ void *)');
const destroyActions = libc.func('int posix_spawn_file_actions_destroy(_Inout_ void *)');
const addDup2 = libc.func('int posix_spawn_file_actions_adddup2(_Inout_ void *, int, int)');
const waitpid = libc.func('int waitpid(int, _Out_ int *, int)');

/** Waits on a thread of libuv's. */
const waitLater = (pid: number, status: number[]): Promise<void> =>
  new Promise((resolve, reject) => {
    waitpid.async(pid, status, 0, (error: Error | null) => (error === null ? resolve() : reject(error)));
  });

/** More than sizeof(posix_spawn_file_actions_t) of glibc (80) and musl (32). */
const ACTIONS_LENGTH = 256;

export interface TimedProgram {
  readonly program: string;
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: string;
  /** A directory for what it reads and prints, and a name in it that no other program uses meanwhile. */
  readonly directory: string;
  readonly name: string;
}

export interface TimedRun {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  /** From before its start until it was seen to have ended, milliseconds. */
  readonly tookMs: number;
}

/**
 * Runs a program to its end. Alone, it is waited for by the caller's thread; of several at once (`among`), each by one
 * of libuv's, of which there must be as many (UV_THREADPOOL_SIZE).
 */
export async function runTimed(timed: TimedProgram, among: number): Promise<TimedRun> {
  const path = (what: string): string => join(timed.directory, `${timed.name}.${what}`);
  writeFileSync(path('in'), timed.stdin);
  const fds = [openSync(path('in'), 'r'), openSync(path('out'), 'w'), openSync(path('err'), 'w')];
  const env = Object.entries(timed.env).map(([key, value]) => `${key}=${value}`);
  const actions = Buffer.alloc(ACTIONS_LENGTH);
  initActions(actions);
  for (const [fd, opened] of fds.entries()) addDup2(actions, opened, fd);
  const pid = [0];
  const status = [0];
  const startedAt = process.hrtime.bigint();
  const failure = posixSpawn(pid, timed.program, actions, null, [timed.program, null], [...env, null]);
  if (failure !== 0) throw new Error(`${timed.program} cannot be started: errno ${failure}`);
  if (among === 1) waitpid(pid[0], status, 0);
  else await waitLater(pid[0] ?? 0, status);
  const tookMs = Number(process.hrtime.bigint() - startedAt) / 1e6;
  destroyActions(actions);
  for (const fd of fds) closeSync(fd);
  // The upper byte of a status of a process that ended by itself (wait(2)); a signal is told like a shell does.
  const word = status[0] ?? 0;
  const exitCode = (word & 0x7f) === 0 ? (word >> 8) & 0xff : 128 + (word & 0x7f);
  const read = (what: string): string => readFileSync(path(what), 'utf8');
  return { exitCode, stdout: read('out'), stderr: read('err'), tookMs };
}
