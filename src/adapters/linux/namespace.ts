// Entering network namespaces: synchronous code only, on a Worker's thread.

import { closeSync, openSync } from 'node:fs';
import { KernelRefusal, refusalOf } from './kernel-refusal.ts';
import { abortProcess, enterNetworkNamespace } from './libc.ts';

/** A function's answer that is certainly not a promise. */
type Synchronous<T> = T extends PromiseLike<unknown> ? never : T;

// Of the thread, not of the process: /proc/self names the main thread's namespace.
const home = openSync('/proc/thread-self/ns/net', 'r');

/** An open network namespace. */
export interface Namespace {
  readonly fd: number;
  readonly path: string;
}

/** Opens the file of a network namespace (`/var/run/netns/NAME`, `/proc/PID/ns/net`). To be closed by `closeNamespace`. */
export function openNamespace(path: string): Namespace {
  try {
    return { fd: openSync(path, 'r'), path };
  } catch (error) {
    throw refusalOf(`open network namespace ${path}`, error);
  }
}

export const closeNamespace = (namespace: Namespace): void => {
  closeSync(namespace.fd);
};

/** Opens a namespace for as long as `use` runs. */
export function withNamespace<T>(path: string, use: (namespace: Namespace) => T): T {
  const namespace = openNamespace(path);
  try {
    return use(namespace);
  } finally {
    closeNamespace(namespace);
  }
}

/**
 * Runs `run` with this thread inside the namespace. Nothing in it may be asynchronous: an asynchronous call made in
 * this window can create libuv's pool threads inside the pod's namespace, for good.
 */
export function insideNamespace<T>({ fd, path }: Namespace, run: () => Synchronous<T>): T {
  enterNetworkNamespace(fd, `enter network namespace ${path}`);
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
