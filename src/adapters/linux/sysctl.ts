// Kernel settings below /proc/sys, read and written synchronously: they are those of the calling thread's namespace.

import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { KernelRefusal, refusalOf, unless } from './kernel-refusal.ts';

const SYSCTL_PATH = /^net(?:\/[A-Za-z0-9_.:@-]+)+$/;

function fileOf(path: string): string {
  // The values come from our own data, but a link's name is part of some paths, and links are named by others.
  if (!SYSCTL_PATH.test(path) || path.includes('..')) {
    throw new KernelRefusal(`sysctl ${path}`, 'EINVAL', 'not a path below /proc/sys/net');
  }
  return `/proc/sys/${path}`;
}

/** `sysctl -n`. ENOENT when this kernel or namespace has no such setting. */
export function readSysctl(path: string): string {
  const file = fileOf(path);
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw refusalOf(`read sysctl ${path}`, error);
  }
}

/** Folders of links' settings, held open: descriptors. No `ipv6` where the kernel has none. */
export interface LinkSettings {
  readonly ipv4: number;
  readonly ipv6: number | undefined;
}

/**
 * Opens those of the calling thread's namespace. To be closed by `closeLinkSettings`.
 *
 * A path from /proc/sys on has to pass the entries that other namespaces have of the same name, one for each namespace
 * in which anybody has looked: with 240 pods that is a fifth of a millisecond. From an open folder on there are none.
 */
export function openLinkSettings(): LinkSettings {
  const open = (family: 'ipv4' | 'ipv6'): number => {
    const step = `open sysctl net/${family}/conf`;
    try {
      return openSync(fileOf(`net/${family}/conf`), 'r');
    } catch (error) {
      throw refusalOf(step, error);
    }
  };
  return { ipv4: open('ipv4'), ipv6: unless(['ENOENT'], () => open('ipv6')) };
}

export function closeLinkSettings({ ipv4, ipv6 }: LinkSettings): void {
  closeSync(ipv4);
  if (ipv6 !== undefined) closeSync(ipv6);
}

/** `sysctl -w net.FAMILY.conf.LINK.SETTING=VALUE`, in the namespace whose folder it is, whichever the thread is in. */
export function writeLinkSetting(folder: number, path: `${string}/${string}`, value: string): void {
  // The name of a link is one entry of the folder, never a way out of it.
  if (!/^[^/]+\/[a-z0-9_]+$/.test(path) || path.startsWith('..'))
    throw new KernelRefusal(`sysctl ${path}`, 'EINVAL', 'not a setting of a link');
  try {
    writeFileSync(`/proc/thread-self/fd/${folder}/${path}`, value);
  } catch (error) {
    throw refusalOf(`sysctl -w ${path}=${value}`, error);
  }
}

/** `sysctl -w` */
export function writeSysctl(path: string, value: string): void {
  const file = fileOf(path);
  try {
    writeFileSync(file, value);
  } catch (error) {
    throw refusalOf(`sysctl -w ${path}=${value}`, error);
  }
}
