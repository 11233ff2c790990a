// Every call into the C library, through koffi; a refused call throws KernelRefusal with the errno's name.

import koffi from 'koffi';
import { errnoName, KernelRefusal } from './kernel-refusal.ts';

// `null` is the process itself: the C library that Node runs on, whether glibc or musl.
const libc = koffi.load(null);

type Call<Arguments extends readonly unknown[]> = (...values: Arguments) => number;

const libcSocket: Call<[number, number, number]> = libc.func('int socket(int, int, int)');
const libcClose: Call<[number]> = libc.func('int close(int)');
const libcBind: Call<[number, Buffer, number]> = libc.func('int bind(int, const void *, uint32_t)');
const libcConnect: Call<[number, Buffer, number]> = libc.func('int connect(int, const void *, uint32_t)');
const libcSetsockopt: Call<[number, number, number, Buffer, number]> = libc.func(
  'int setsockopt(int, int, int, const void *, uint32_t)',
);
const libcGetsockopt: Call<[number, number, number, Buffer, Buffer]> = libc.func(
  'int getsockopt(int, int, int, _Out_ void *, _Inout_ void *)',
);
const libcSend = libc.func('intptr_t send(int, const void *, size_t, int)');
const libcSendto: Call<[number, Buffer, number, number, Buffer, number]> = libc.func(
  'intptr_t sendto(int, const void *, size_t, int, const void *, uint32_t)',
);
const libcRecv: Call<[number, Buffer, number, number]> = libc.func(
  'intptr_t recv(int, _Out_ void *, size_t, int)',
);
const libcPoll = libc.func('int poll(_Inout_ void *, unsigned long, int)');
const libcEventfd: Call<[number, number]> = libc.func('int eventfd(unsigned int, int)');
const libcRead: Call<[number, Buffer, number]> = libc.func('intptr_t read(int, _Out_ void *, size_t)');
const libcWrite: Call<[number, Buffer, number]> = libc.func('intptr_t write(int, const void *, size_t)');
const libcSetns: Call<[number, number]> = libc.func('int setns(int, int)');
const libcAbort: () => void = libc.func('void abort()');

export const AF_INET = 2;
export const AF_INET6 = 10;
export const AF_NETLINK = 16;
export const SOCK_STREAM = 1;
export const SOCK_DGRAM = 2;
export const SOCK_RAW = 3;
export const SOCK_NONBLOCK = 0o4000;
export const SOCK_CLOEXEC = 0o2000000;
export const MSG_DONTWAIT = 0x40;
export const POLLIN = 1;
const CLONE_NEWNET = 0x40000000;
const POLLFD_LENGTH = 8;
/** An eventfd is read and written eight bytes at a time: a number that writes add to (eventfd(2)). */
const EVENT_LENGTH = 8;

function checked(step: string, result: number): number {
  if (result < 0) throw new KernelRefusal(step, errnoName(koffi.errno()));
  return result;
}

/** socket(2): answers the file descriptor. */
export const openSocket = (family: number, type: number, protocol: number): number =>
  checked('open a socket', libcSocket(family, type | SOCK_CLOEXEC, protocol));

/** close(2), for descriptors of `openSocket`: node:fs warns about those that it did not open itself. */
export function closeSocket(fd: number): void {
  checked('close a socket', libcClose(fd));
}

/** getsockopt(2): fills `value`, whose length is the option's. */
export function getSocketOption(
  fd: number,
  { level, option }: { readonly level: number; readonly option: number },
  value: Buffer,
): void {
  const length = Buffer.alloc(4);
  length.writeInt32LE(value.length);
  checked('read a socket option', libcGetsockopt(fd, level, option, value, length));
}

export function bindSocket(fd: number, address: Buffer, step: string): void {
  checked(step, libcBind(fd, address, address.length));
}

/** connect(2). A non-blocking socket that has begun to connect (EINPROGRESS) counts as done. */
export function connectSocket(fd: number, address: Buffer, step: string): void {
  if (libcConnect(fd, address, address.length) === 0) return;
  const errno = errnoName(koffi.errno());
  if (errno !== 'EINPROGRESS') throw new KernelRefusal(step, errno);
}

/** setsockopt(2) with an int. */
export function setSocketOption(fd: number, level: number, option: number, value: number): void {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  setSocketOptionBytes(fd, level, option, bytes);
}

export function setSocketOptionBytes(fd: number, level: number, option: number, bytes: Buffer): void {
  checked(`set socket option ${level}/${option}`, libcSetsockopt(fd, level, option, bytes, bytes.length));
}

export function sendAll(fd: number, bytes: Buffer, step: string): void {
  checkSent(step, checked(step, libcSend(fd, bytes, bytes.length, 0) as number), bytes);
}

/**
 * The same on a thread of libuv's pool, for a message at which the kernel works long. The socket's namespace counts, not
 * the thread's. Not to be called from inside another namespace: it may start the pool's threads.
 */
export function sendFromPool(fd: number, bytes: Buffer, step: string): Promise<void> {
  return new Promise((resolve, reject) => {
    libcSend.async(fd, bytes, bytes.length, 0, (error: unknown, sent: number) => {
      // The errno stays on the pool's thread.
      if (error !== null || sent < 0) reject(new KernelRefusal(step, 'EIO', 'the message could not be sent'));
      else if (sent !== bytes.length) reject(new KernelRefusal(step, 'EMSGSIZE'));
      else resolve();
    });
  });
}

function checkSent(step: string, sent: number, bytes: Buffer): void {
  if (sent !== bytes.length)
    throw new KernelRefusal(step, 'EMSGSIZE', `${sent} of ${bytes.length} bytes sent`);
}

export function sendTo(fd: number, bytes: Buffer, address: Buffer, step: string): void {
  checked(step, libcSendto(fd, bytes, bytes.length, 0, address, address.length));
}

/** recv(2) into `buffer`: answers the number of bytes. */
export const receive = (fd: number, buffer: Buffer, flags: number): number =>
  checked('receive from a socket', libcRecv(fd, buffer, buffer.length, flags));

/**
 * poll(2) for input, on a thread of libuv's pool: answers those of `fds` that have something to read (or an error to
 * report). Not to be called from inside another namespace, as `sendFromPool`.
 */
export function pollInputFromPool(fds: readonly number[], timeoutMs: number): Promise<readonly number[]> {
  const set = Buffer.alloc(fds.length * POLLFD_LENGTH);
  for (const [index, fd] of fds.entries()) {
    set.writeInt32LE(fd, index * POLLFD_LENGTH);
    set.writeInt16LE(POLLIN, index * POLLFD_LENGTH + 4);
  }
  return new Promise((resolve, reject) => {
    libcPoll.async(set, fds.length, timeoutMs, (error: unknown, count: number) => {
      // The errno stays on the pool's thread, where libuv blocks signals: this is no EINTR.
      if (error !== null || count < 0) reject(new KernelRefusal('poll sockets', 'EIO'));
      else resolve(fds.filter((_, index) => set.readInt16LE(index * POLLFD_LENGTH + 6) !== 0));
    });
  });
}

/** eventfd(2): a descriptor that a poll of it notices once `wakeUp` was called. To be closed by `closeSocket`. */
export const openWakeUp = (): number =>
  checked('open an eventfd', libcEventfd(0, SOCK_CLOEXEC | SOCK_NONBLOCK));

export function wakeUp(fd: number): void {
  const one = Buffer.alloc(EVENT_LENGTH);
  one.writeBigUInt64LE(1n);
  checked('write to an eventfd', libcWrite(fd, one, one.length));
}

/** Only after a poll has answered it: there is something to read then. */
export function drainWakeUp(fd: number): void {
  checked('read from an eventfd', libcRead(fd, Buffer.alloc(EVENT_LENGTH), EVENT_LENGTH));
}

/** Blocks this thread, as every other call here does. */
export function waitOneMillisecond(): void {
  libcPoll(Buffer.alloc(POLLFD_LENGTH), 0, 1);
}

/** setns(2) into a network namespace, for the calling thread alone. */
export function enterNetworkNamespace(fd: number, step: string): void {
  if (libcSetns(fd, CLONE_NEWNET) === 0) return;
  const errno = errnoName(koffi.errno());
  throw new KernelRefusal(step, errno, errno === 'EINVAL' ? 'it is not a network namespace' : undefined);
}

/** abort(3): process.abort() is refused in Workers. */
export function abortProcess(): never {
  libcAbort();
  throw new Error('abort() returned');
}
