// Pods that come and go through the plugin's executable while the agent is killed, and a ledger of what they were given.

import { setTimeout as sleep } from 'node:timers/promises';
import { chance, drawBetween } from '../../../src/lab/kernel/draw.ts';
import type { SeededRandom } from '../../../src/lab/kernel/seeded-random.ts';
import type { TestNode } from './node.ts';
import { addressOf, callPlugin, type PluginEnd, type PodNamespaces, type PodRun } from './plugin.ts';

/** Pause before a runtime tries again, milliseconds. */
const RETRY_MS = 50;
/** A step that has not succeeded by then has failed, milliseconds. */
const STEP_MS_MAX = 60_000;

export interface LoadReport {
  /** Rules that were broken, as sentences. */
  readonly faults: string[];
  /** Calls that failed and were tried again. */
  retryCount: number;
  cycleCount: number;
}

interface Ledger {
  /** Addresses of pods whose DEL has not been asked for, and whose they are. */
  readonly holders: Map<string, string>;
  /** When the DEL was first asked for, milliseconds since the epoch: no rest began before. */
  readonly leftAt: Map<string, number>;
}

export interface LoadOptions {
  readonly node: TestNode;
  readonly namespaces: PodNamespaces;
  readonly random: SeededRandom;
  readonly cycleCount: number;
  readonly parallelCount: number;
  readonly cooldownMs: number;
}

/** Runs the cycles, each an ADD, a short life and a DEL. */
export async function runLoad(options: LoadOptions): Promise<LoadReport> {
  const report: LoadReport = { faults: [], retryCount: 0, cycleCount: 0 };
  const ledger: Ledger = { holders: new Map(), leftAt: new Map() };
  const { cycleCount, parallelCount } = options;
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < cycleCount) {
      next += 1;
      await cycle({ ...options, report, ledger }, next);
      report.cycleCount += 1;
    }
  };
  await Promise.all(Array.from({ length: parallelCount }, lane));
  return report;
}

interface CycleParts extends LoadOptions {
  readonly report: LoadReport;
  readonly ledger: Ledger;
}

async function cycle(parts: CycleParts, number: number): Promise<void> {
  const random = parts.random.fork(`cycle-${number}`);
  const { namespaces } = parts;
  const { run, address } = await addUntilDone(parts, number, random);
  take(parts, run.containerId, address);
  const inPod = namespaces.addresses(run.containerId).join();
  if (inPod !== address) parts.report.faults.push(`${run.containerId} has ${inPod} and not ${address}`);
  await sleep(drawBetween(random, { min: 0, max: 60 }));
  if (namespaces.addresses(run.containerId).join() !== address) {
    parts.report.faults.push(`${run.containerId} has lost ${address} while it ran`);
  }
  leave(parts, run.containerId, address);
  // A runtime may throw the namespace away first, and may ask again for what is done.
  const isNamespaceFirst = chance(random, 0.2);
  if (isNamespaceFirst) namespaces.remove(run.containerId);
  await delUntilDone(parts, run);
  if (chance(random, 0.2)) await delUntilDone(parts, run);
  if (!isNamespaceFirst) namespaces.remove(run.containerId);
}

/** As kubelet does it: ADD again for the same sandbox, or DEL and a new sandbox for the same pod. */
async function addUntilDone(
  parts: CycleParts,
  number: number,
  random: SeededRandom,
): Promise<{ readonly run: PodRun; readonly address: string }> {
  const end = performance.now() + STEP_MS_MAX;
  for (let sandbox = 0; ; sandbox += 1) {
    const containerId = `c${number}-${sandbox}`;
    const run = { pod: `pod-${number}`, containerId, netnsPath: parts.namespaces.make(containerId) };
    for (let isAgain = true; isAgain; ) {
      const added = await callPlugin(parts.node, 'ADD', run);
      if (added.exitCode === 0) return { run, address: addressOf(added) };
      if (performance.now() > end) throw new Error(`no ADD of ${run.pod} succeeds: ${added.stdout}`);
      failedOnce(parts, added);
      await sleep(RETRY_MS);
      isAgain = chance(random, 0.5);
    }
    await delUntilDone(parts, run);
    parts.namespaces.remove(containerId);
  }
}

async function delUntilDone(parts: CycleParts, run: PodRun): Promise<void> {
  const end = performance.now() + STEP_MS_MAX;
  for (;;) {
    const deleted = await callPlugin(parts.node, 'DEL', run);
    if (deleted.exitCode === 0) return;
    if (performance.now() > end) throw new Error(`no DEL of ${run.pod} succeeds: ${deleted.stdout}`);
    failedOnce(parts, deleted);
    await sleep(RETRY_MS);
  }
}

/** "Try again later" is what a runtime may hear while the agent is away; anything else is a fault. */
const TRY_AGAIN_LATER = 11;

function failedOnce({ report }: CycleParts, { stdout }: PluginEnd): void {
  report.retryCount += 1;
  const { code } = JSON.parse(stdout) as { readonly code?: number };
  if (code !== TRY_AGAIN_LATER) report.faults.push(`the plugin failed: ${stdout}`);
}

function take({ ledger, report, cooldownMs }: CycleParts, pod: string, address: string): void {
  const holder = ledger.holders.get(address);
  if (holder !== undefined) report.faults.push(`${address} of ${holder} was given to ${pod} too`);
  const restedMs = Date.now() - (ledger.leftAt.get(address) ?? 0);
  if (restedMs < cooldownMs) report.faults.push(`${address} was given again after ${restedMs} ms`);
  ledger.holders.set(address, pod);
}

function leave({ ledger }: CycleParts, pod: string, address: string): void {
  if (ledger.holders.get(address) === pod) ledger.holders.delete(address);
  ledger.leftAt.set(address, Date.now());
}

/**
 * Kills the agent again and again, a random while after it listens or serves, and starts it anew, until told to end: then
 * the last one is left alive. Answers the schedule.
 */
export async function killRepeatedly(
  node: TestNode,
  random: SeededRandom,
  isOver: () => boolean,
): Promise<readonly string[]> {
  const schedule: string[] = [];
  for (;;) {
    const agent = node.startAgent();
    // One in four dies while it starts, at the latest when it has read its journal.
    const whileStarting = chance(random, 0.25);
    await (whileStarting ? agent.listening : agent.serving);
    const ms = whileStarting
      ? drawBetween(random, { min: 0, max: 40 })
      : drawBetween(random, { min: 100, max: 300 });
    await sleep(ms);
    if (isOver()) return schedule;
    await agent.kill();
    schedule.push(`${whileStarting ? 'starting' : 'serving'}+${ms}`);
  }
}
