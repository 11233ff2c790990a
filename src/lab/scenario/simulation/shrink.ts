// Makes a failing run small: fewer faults, fewer nodes, less time, as long as it breaks the same rule.

import { faultsOf, withoutFault } from '../../faults/fault-rows.ts';
import type { RunPlan, SimulationResult } from './simulate.ts';

/** Everything that makes a run what it is. */
export type WholePlan = Required<RunPlan>;

export interface Shrunken {
  readonly plan: WholePlan;
  /** Of the small run. */
  readonly result: SimulationResult;
  readonly runCount: number;
}

/** Runs that shrinking may take; what is reached by then is reported. */
const RUN_COUNT_MAX = 250;
const MINUTE_MS = 60_000;

/** `failed` must be broken. */
export async function shrink(
  failed: SimulationResult,
  run: (plan: WholePlan) => Promise<SimulationResult>,
): Promise<Shrunken> {
  let small = failed;
  let runCount = 0;
  /** Whether the smaller plan breaks the same rule; then it is the one to go on from. */
  const takes = async (plan: WholePlan): Promise<boolean> => {
    if (runCount >= RUN_COUNT_MAX) return false;
    runCount += 1;
    const result = await run(plan);
    if (kindOf(result) !== kindOf(failed)) return false;
    small = result;
    return true;
  };
  const plan = (): WholePlan => planOf(small);

  await takes({ ...plan(), faultyMinutes: minutesToBreak(small) });
  // Once nothing can be taken any more, because it is small or the runs are used up, nothing changes.
  let changed = true;
  while (changed) {
    changed = await dropFaults(plan, takes);
    for (let nodes = 1; nodes < plan().nodeCount; nodes += 1) {
      if (!(await takes({ ...plan(), nodeCount: nodes }))) continue;
      changed = true;
    }
    for (const share of [0.25, 0.5, 0.75]) {
      const faultyMinutes = round(plan().faultyMinutes * share);
      if (await takes({ ...plan(), faultyMinutes })) {
        changed = true;
        break;
      }
    }
  }
  return { plan: plan(), result: small, runCount };
}

/** Switches faults off, many at once at first, then one by one. */
async function dropFaults(
  plan: () => WholePlan,
  takes: (plan: WholePlan) => Promise<boolean>,
): Promise<boolean> {
  let changed = false;
  for (let size = faultsOf(plan().profile).length; size >= 1; size = Math.floor(size / 2)) {
    const names = faultsOf(plan().profile);
    for (let first = 0; first < names.length; first += size) {
      const dropped = names.slice(first, first + size);
      const profile = dropped.reduce(withoutFault, plan().profile);
      if (await takes({ ...plan(), profile })) changed = true;
    }
  }
  return changed;
}

const planOf = ({ seed, nodeCount, faultyMinutes, profile }: SimulationResult): WholePlan => ({
  seed,
  nodeCount,
  faultyMinutes,
  profile,
});

/** The rule and its sentence without names, numbers and ids: one rule may be broken in several ways. */
const kindOf = ({ broken }: SimulationResult): string =>
  broken === undefined
    ? ''
    : [broken.rule, ...broken.what.split(' ').filter((word) => !/\d/.test(word))].join(' ');

const round = (minutes: number): number => Math.ceil(minutes * 10) / 10;

/** Faults after the rule was broken are no matter; a rule broken at rest needs all that came before. */
const minutesToBreak = ({ broken, faultyMinutes }: SimulationResult): number =>
  Math.min(faultyMinutes, round((broken?.afterMs ?? Infinity) / MINUTE_MS));
