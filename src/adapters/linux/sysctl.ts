// Kernel settings below /proc/sys, read and written synchronously: they are those of the calling thread's namespace.

import { readFileSync, writeFileSync } from 'node:fs';
import { KernelRefusal, refusalOf } from './kernel-refusal.ts';

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

/** `sysctl -w` */
export function writeSysctl(path: string, value: string): void {
  const file = fileOf(path);
  try {
    writeFileSync(file, value);
  } catch (error) {
    throw refusalOf(`sysctl -w ${path}=${value}`, error);
  }
}
