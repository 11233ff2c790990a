// The record of one run of applyHost: what was changed, and what the kernel refused.

import type { HostNamespace } from './host-namespace.ts';
import { KernelRefusal, unless } from './kernel-refusal.ts';
import type { NetlinkMessage } from './netlink-message.ts';
import { request } from './netlink-socket.ts';

export interface Changes {
  /** One `ip`, `sysctl` or `nft` line each. */
  readonly lines: string[];
  readonly refusals: KernelRefusal[];
}

/** Runs one part; notes a refusal and goes on. */
export function attempt(changes: Changes, run: () => void): void {
  try {
    run();
  } catch (error) {
    if (!(error instanceof KernelRefusal)) throw error;
    changes.refusals.push(error);
  }
}

/** Sends the messages; their steps are the lines of what was changed. */
export function change(host: HostNamespace, messages: readonly NetlinkMessage[], changes: Changes): void {
  if (messages.length === 0) return;
  request(host.netlink, messages);
  changes.lines.push(...messages.map(({ step }) => step));
}

/** Sends a deletion, or a change, of something that the kernel may have dropped meanwhile (with its link, for instance). */
export function changeIfThere(host: HostNamespace, message: NetlinkMessage, changes: Changes): void {
  const done = unless(['ESRCH', 'ENOENT', 'ENODEV'], () => request(host.netlink, [message]));
  if (done !== undefined) changes.lines.push(message.step);
}
