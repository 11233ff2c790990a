// A failing seed as people read it: the rule, the smallest run that breaks it, its last steps, and how to see all of it.

import { ok, type Result } from '../../../domain/result.ts';
import { calm, type FaultProfile } from '../../faults/fault-profile.ts';
import { describeFaults, parseFaults } from '../../faults/fault-rows.ts';
import type { Shrunken, WholePlan } from './shrink.ts';
import type { SimulationResult } from './simulate.ts';

/** Lines of the small run's story that a report shows; the replay shows all of them. */
const STORY_LINE_COUNT = 60;
const STORY_LINE_LENGTH = 220;

const NO_FAULTS = 'none';

/** The faults of a command line; on an error a sentence. */
export const parseFaultList = (text: string): Result<FaultProfile, string> =>
  text === NO_FAULTS ? ok(calm) : parseFaults(text.split(','));

/** The command that runs the plan again with its whole story. */
function replayCommand({ seed, nodeCount, faultyMinutes, profile }: WholePlan): string {
  const faults = describeFaults(profile).join(',') || NO_FAULTS;
  return `eniwhere lab simulate --seed ${seed} --nodes ${nodeCount} --minutes ${faultyMinutes} --faults ${faults} --log`;
}

/** `story`: what `onLog` heard of the small run. */
export function failureReport(failed: SimulationResult, small: Shrunken, story: readonly string[]): string {
  const { broken } = small.result;
  const seconds = ((broken?.afterMs ?? 0) / 1000).toFixed(3);
  return [
    `seed ${failed.seed} breaks ${failed.broken?.rule}: ${failed.broken?.what}`,
    `  shrunken in ${small.runCount} runs to ${small.plan.nodeCount} nodes, ${small.plan.faultyMinutes} min of faults:`,
    `    ${describeFaults(small.plan.profile).join(', ') || NO_FAULTS}`,
    `  there, after ${seconds} s: ${broken?.what}`,
    ...story
      .filter((line) => !line.includes('s debug '))
      .slice(-STORY_LINE_COUNT)
      .map((line) => `    ${line.slice(0, STORY_LINE_LENGTH)}`),
    `  replay: ${replayCommand(small.plan)}`,
    `  whole:  eniwhere lab simulate --seed ${failed.seed} --log`,
    '',
  ].join('\n');
}
