// Entering network namespaces: synchronous code only, on a Worker's thread.

import { closeSync, openSync } from 'node:fs';
import { KernelRefusal, refusalOf } from './kernel-refusal.ts';
import { abortProcess, enterNetworkNamespace } from './libc.ts';

/** A function's answer that is certainly not a promise. */
type Synchronous<T> = T extends PromiseLike<unknown> ? never : T;

// Of the thread, not of the process: /proc/self names the main thread's namespace.
const home = openSync('/proc/thread-self/ns/net', 'r');

/** Opens the file of a network namespace (`/var/run/netns/NAME`, `/proc/PID/ns/net`). The caller closes it. */
export function openNamespace(netnsPath: string): number {
  const step = `open network namespace ${netnsPath}`;
  try {
    return openSync(netnsPath, 'r');
  } catch (error) {
    throw refusalOf(step, error);
  }
}

/** Opens a namespace for as long as `use` runs. */
export function withNamespace<T>(netnsPath: string, use: (fd: number) => T): T {
  const fd = openNamespace(netnsPath);
  try {
    return use(fd);
  } finally {
    closeSync(fd);
  }
}

/**
 * Runs `run` with this thread inside the namespace. Nothing in it may be asynchronous: an asynchronous call made in
 * this window can create libuv's pool threads inside the pod's namespace, for good.
 */
export function insideNamespace<T>(fd: number, run: () => Synchronous<T>): T {
  enterNetworkNamespace(fd, 'enter network namespace (is the path a network namespace?)');
  try {
    return run();
  } finally {
    leave();
  }
}

function leave(): void {
  try {
    enterNetworkNamespace(home, 'return from network namespace');
  } catch (error) {
    if (!(error instanceof KernelRefusal)) throw error;
    // This thread would go on working in a pod's namespace: no state of the process can be trusted any more.
    abortProcess();
  }
}
