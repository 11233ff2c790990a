// Makes and removes the fabric's network namespaces.

import { constants, existsSync } from 'node:fs';
import { access, mkdir, readdir, readFile } from 'node:fs/promises';
import { err, ok } from '../../domain/result.ts';
import type { FabricResult } from './fabric-failure.ts';
import { NETNS_DIRECTORY } from './namespace-names.ts';
import { removeWithIp, runIp, runProgram } from './run-program.ts';

/**
 * Sees to a directory in which namespaces can be kept. Inside a user namespace that is a tmpfs of its own, over
 * /run/netns or else over /run, so that nothing shows outside, not even after a crash.
 */
export async function prepareNetnsDirectory(): Promise<FabricResult<void>> {
  const exists = await canWrite();
  if (!(await isInUserNamespace())) {
    if (exists) return ok(undefined);
    try {
      await mkdir(NETNS_DIRECTORY, { recursive: true });
      return ok(undefined);
    } catch (error) {
      return notPermitted(String(error));
    }
  }
  if (await isOwnMount()) return ok(undefined);
  const onNetns = await runProgram({ argv: ['mount', '-t', 'tmpfs', 'eniwhere-netns', NETNS_DIRECTORY] });
  if (onNetns.ok || onNetns.error.kind === 'program-missing') return onNetns.ok ? ok(undefined) : onNetns;
  const onRun = await runProgram({ argv: ['mount', '-t', 'tmpfs', 'eniwhere-netns', '/run'] });
  if (!onRun.ok) return notPermitted(onRun.error.message);
  await mkdir(NETNS_DIRECTORY);
  return ok(undefined);
}

const notPermitted = (cause: string): FabricResult<never> =>
  err({
    kind: 'not-permitted',
    message: `cannot keep network namespaces in ${NETNS_DIRECTORY}: ${cause}; run as root, or under: unshare -Urnm`,
  });

async function canWrite(): Promise<boolean> {
  return access(NETNS_DIRECTORY, constants.W_OK).then(
    () => true,
    () => false,
  );
}

/** The initial user namespace maps every id to itself: user_namespaces(7). */
async function isInUserNamespace(): Promise<boolean> {
  const map = await readFile('/proc/self/uid_map', 'utf8');
  return map.trim().split(/\s+/).join(' ') !== '0 0 4294967295';
}

/** Whether an earlier start in this mount namespace has mounted the tmpfs already. */
async function isOwnMount(): Promise<boolean> {
  const mounts = await readFile('/proc/self/mounts', 'utf8');
  return mounts.split('\n').some((line) => line.startsWith('eniwhere-netns ')) && (await canWrite());
}

/** Of the namespace that this process is in. */
export const bringUpLoopback = (): Promise<FabricResult<void>> => runIp(undefined, ['link set dev lo up']);

/** Makes namespaces, each with its loopback link up. */
export async function addNamespaces(names: readonly string[]): Promise<FabricResult<void>> {
  const added = await runIp(
    undefined,
    names.map((name) => `netns add ${name}`),
  );
  if (!added.ok) return added;
  const results = await Promise.all(names.map((name) => runIp(name, ['link set dev lo up'])));
  return results.find((result) => !result.ok) ?? ok(undefined);
}

/** Removes namespaces; the kernel then removes their links. One that is gone already is no failure. */
export const removeNamespaces = (names: readonly string[]): Promise<FabricResult<void>> =>
  removeWithIp(
    undefined,
    names.map((name) => `netns del ${name}`),
  );

/** Names of all namespaces there are, in code-unit order. */
export async function listNamespaces(): Promise<readonly string[]> {
  // iproute2 makes the directory with the first namespace.
  const names = existsSync(NETNS_DIRECTORY) ? await readdir(NETNS_DIRECTORY) : [];
  return names.sort();
}
