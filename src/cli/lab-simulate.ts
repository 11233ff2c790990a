// `eniwhere lab simulate`: seeded runs of the whole system under faults, and what to look at when one fails.

import { type Command, InvalidArgumentError } from 'commander';
import { failureReport, parseFaultList } from '../lab/scenario/simulation/failure-report.ts';
import { shrink } from '../lab/scenario/simulation/shrink.ts';
import type { RunPlan, SimulationResult } from '../lab/scenario/simulation/simulate.ts';
import { addResult, describeCoverage, describeTally, emptyTally } from '../lab/scenario/simulation/tally.ts';
import { type CliContext, EXIT } from './context.ts';

type Profile = NonNullable<RunPlan['profile']>;

interface SimulateOptions {
  readonly seed?: number;
  readonly from: number;
  readonly count: number;
  readonly nodes?: number;
  readonly minutes?: number;
  readonly hours?: number;
  readonly faults?: Profile;
  readonly workers: number;
  readonly log: boolean;
  readonly coverage: boolean;
}

/** Failing seeds that are shrunken and told in full; of further ones only the rule is. */
const REPORTED_COUNT_MAX = 3;
const SEED_MAX = 0xffff_ffff;
const MINUTES_PER_HOUR = 60;

const wholeNumber =
  (min: number, max: number) =>
  (text: string): number => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`expected a whole number from ${min} to ${max}`);
  };

function duration(text: string): number {
  const value = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && value > 0) return value;
  throw new InvalidArgumentError('expected a number above 0');
}

function faultList(text: string): Profile {
  const parsed = parseFaultList(text);
  if (parsed.ok) return parsed.value;
  throw new InvalidArgumentError(parsed.error);
}

export function addLabSimulate(lab: Command, context: CliContext, end: (exitCode: number) => void): void {
  lab
    .command('simulate')
    .summary('search for mistakes: whole clusters, on a virtual clock, under faults drawn by seed')
    .description(
      'Runs the real controller and agents over a simulated EC2, cluster and nodes. Faults last for a while, then ' +
        'everything has to heal and come to rest; every rule is checked against what really is. The same seed gives ' +
        'the same run. A seed that breaks a rule is shrunken and told, with the command that replays it.',
    )
    .option('--seed <n>', 'one seed', wholeNumber(0, SEED_MAX))
    .option('--from <n>', 'the first of many seeds', wholeNumber(0, SEED_MAX), 1)
    .option('--count <n>', 'how many seeds', wholeNumber(1, 100_000_000), 100)
    .option('--nodes <n>', 'nodes at the start (default: 2 to 4, drawn)', wholeNumber(1, 200))
    .option('--minutes <n>', 'virtual minutes with faults (default: 6)', duration)
    .option('--hours <n>', 'the same in hours', duration)
    .option('--faults <list>', 'world.fault=value,... or none, instead of what the seed draws', faultList)
    .option('--workers <n>', 'threads', wholeNumber(1, 256), context.simulation.coreCount)
    .option('--log', 'tell all that happens, with its virtual time (one seed)', false)
    .option('--coverage', 'say which faults never fell into which states', false)
    .addHelpText(
      'after',
      `
Exit code: 0 when every rule held, 1 when one was broken, 2 when the command line is wrong.

Examples:
  eniwhere lab simulate --count 1000 --coverage
  eniwhere lab simulate --seed 442 --log
  eniwhere lab simulate --seed 442 --nodes 8 --hours 24
  eniwhere lab simulate --seed 442 --faults ec2.lostAnswerOdds=0.3,node.agentCrashesPerHour=60`,
    )
    .action(async (options: SimulateOptions) => {
      end(await run(context, options));
    });
}

async function run(context: CliContext, options: SimulateOptions): Promise<number> {
  const { simulation, write } = context;
  const startedAtMs = simulation.nowMs();
  const plans = plansOf(options);
  const [only] = plans;
  let tally = emptyTally;
  const failed: SimulationResult[] = [];
  const onResult = (result: SimulationResult): void => {
    tally = addResult(tally, result);
    if (result.broken !== undefined) failed.push(result);
  };
  const isTold = options.log && plans.length === 1 && only !== undefined;
  if (isTold) onResult(await simulation.runOne(only, (line) => write(`${line}\n`)));
  else await simulation.runMany(plans, { workerCount: options.workers, onResult });

  failed.sort((a, b) => a.seed - b.seed);
  for (const [index, result] of failed.entries()) {
    const isReported = index < REPORTED_COUNT_MAX && !isTold;
    write(isReported ? await report(context, result) : `seed ${result.seed} breaks ${describe(result)}\n`);
  }
  write(`${describeTally(tally, (simulation.nowMs() - startedAtMs) / 1000)}\n`);
  if (options.coverage) write(`${describeCoverage(tally)}\n`);
  return failed.length === 0 ? EXIT.ok : EXIT.broken;
}

function plansOf(options: SimulateOptions): readonly RunPlan[] {
  const from = options.seed ?? options.from;
  const faultyMinutes = options.hours === undefined ? options.minutes : options.hours * MINUTES_PER_HOUR;
  return Array.from({ length: options.seed === undefined ? options.count : 1 }, (_, index) => ({
    seed: from + index,
    ...(options.nodes === undefined ? {} : { nodeCount: options.nodes }),
    ...(faultyMinutes === undefined ? {} : { faultyMinutes }),
    ...(options.faults === undefined ? {} : { profile: options.faults }),
  }));
}

const describe = ({ broken }: SimulationResult): string => `${broken?.rule}: ${broken?.what}`;

async function report({ simulation }: CliContext, failed: SimulationResult): Promise<string> {
  const small = await shrink(failed, (plan) => simulation.runOne(plan));
  const story: string[] = [];
  await simulation.runOne(small.plan, (line) => story.push(line));
  return failureReport(failed, small, story);
}
