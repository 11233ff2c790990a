// What many runs come to.

import { type Coverage, pairCount, unmetPairs } from './coverage.ts';
import type { SimulationResult } from './simulate.ts';

export interface Tally {
  readonly runCount: number;
  readonly brokenCount: number;
  readonly eventCount: number;
  readonly virtualMs: number;
  readonly podsServed: number;
  /** Rare branches of the product that were gone through -> how often. */
  readonly marks: ReadonlyMap<string, number>;
  readonly coverage: Coverage;
}

export const emptyTally: Tally = {
  runCount: 0,
  brokenCount: 0,
  eventCount: 0,
  virtualMs: 0,
  podsServed: 0,
  marks: new Map(),
  coverage: new Map(),
};

export const addResult = (tally: Tally, result: SimulationResult): Tally => ({
  runCount: tally.runCount + 1,
  brokenCount: tally.brokenCount + (result.broken === undefined ? 0 : 1),
  eventCount: tally.eventCount + result.eventCount,
  virtualMs: tally.virtualMs + result.virtualMs,
  podsServed: tally.podsServed + result.podsServed,
  marks: added(tally.marks, result.marks),
  coverage: added(tally.coverage, result.coverage),
});

function added(a: ReadonlyMap<string, number>, b: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  const sum = new Map(a);
  for (const [key, count] of b) sum.set(key, (sum.get(key) ?? 0) + count);
  return sum;
}

const HOUR_MS = 3_600_000;

/** One line. */
export function describeTally(tally: Tally, wallSeconds: number): string {
  const { runCount, brokenCount, eventCount, virtualMs, podsServed } = tally;
  const verdict = brokenCount === 0 ? 'every rule held' : `${brokenCount} broke a rule`;
  return (
    `${runCount} ${runCount === 1 ? 'seed' : 'seeds'}: ${verdict}; ${eventCount} events, ${podsServed} pods served, ` +
    `${Math.round(virtualMs / HOUR_MS)} h of virtual time, in ${wallSeconds.toFixed(1)} s`
  );
}

/** Which faults never fell into which state. */
export function describeCoverage({ coverage }: Tally): string {
  const unmet = unmetPairs(coverage);
  return [
    `coverage: ${pairCount() - unmet.length} of ${pairCount()} pairs of a fault and a state came together; these never did:`,
    ...unmet.map((pair) => `  ${pair}`),
  ].join('\n');
}
