// The table of faults: for each, the values that a run may draw, and how often a run has it at all.

import type { Random } from '../../ports/random.ts';
import { chance, pick } from '../kernel/draw.ts';
import { seededRandom } from '../kernel/seeded-random.ts';
import { calm, type FaultProfile } from './fault-profile.ts';

type World = keyof FaultProfile;
type FieldRow<W extends World, F extends keyof FaultProfile[W]> = {
  readonly world: W;
  readonly field: F;
  readonly what: string;
  readonly unit: 'odds' | 'ms' | 'per hour' | 'per second' | 'on or off';
  /** One of these, in a run that has the fault. */
  readonly draws: readonly FaultProfile[W][F][];
  /** Odds that a run has the fault. Most rows are off in most runs, so that no fault hides another ("swarm testing"). */
  readonly runOdds: number;
};

export type FaultRow = {
  [W in World]: { [F in keyof FaultProfile[W]]: FieldRow<W, F> }[keyof FaultProfile[W]];
}[World];

/** The odds are chosen to find faults in the product, not to be like AWS on a normal day. */
export const FAULT_ROWS: readonly FaultRow[] = [
  {
    world: 'ec2',
    field: 'latencyMaxMs',
    what: 'slow calls',
    unit: 'ms',
    draws: [100, 2000],
    runOdds: 0.3,
  },
  {
    world: 'ec2',
    field: 'attachSlowOdds',
    what: 'an attach takes 10 s and more',
    unit: 'odds',
    draws: [0.05, 0.3],
    runOdds: 0.4,
  },
  {
    world: 'ec2',
    field: 'attachSlowMs',
    what: 'how long a slow attach takes',
    unit: 'ms',
    draws: [10_000, 40_000],
    runOdds: 1,
  },
  {
    world: 'ec2',
    field: 'detachStuckOdds',
    what: 'a detach hangs for minutes',
    unit: 'odds',
    draws: [0.05, 0.3],
    runOdds: 0.3,
  },
  {
    world: 'ec2',
    field: 'otherSpendersPerSecond',
    what: 'other tools spend tokens',
    unit: 'per second',
    draws: [1, 4],
    runOdds: 0.3,
  },
  {
    world: 'ec2',
    field: 'throttleOdds',
    what: 'RequestLimitExceeded',
    unit: 'odds',
    draws: [0.05, 0.2, 0.4],
    runOdds: 0.5,
  },
  {
    world: 'ec2',
    field: 'serverErrorOdds',
    what: 'HTTP 500',
    unit: 'odds',
    draws: [0.02, 0.1],
    runOdds: 0.4,
  },
  {
    world: 'ec2',
    field: 'lostRequestOdds',
    what: 'a request never arrives',
    unit: 'odds',
    draws: [0.02, 0.1],
    runOdds: 0.4,
  },
  {
    world: 'ec2',
    field: 'lostAnswerOdds',
    what: 'the answer is lost after the effect',
    unit: 'odds',
    draws: [0.05, 0.3],
    runOdds: 0.5,
  },
  {
    world: 'ec2',
    field: 'staleOdds',
    what: 'a describe answers from the past',
    unit: 'odds',
    draws: [0.2, 0.8],
    runOdds: 0.5,
  },
  {
    world: 'ec2',
    field: 'staleMs',
    what: 'how old a stale describe is at most',
    unit: 'ms',
    draws: [3000, 15_000],
    runOdds: 1,
  },
  {
    world: 'ec2',
    field: 'stalePerObject',
    what: 'a stale describe shows each object at another age',
    unit: 'on or off',
    draws: [true],
    runOdds: 0.3,
  },
  {
    world: 'ec2',
    field: 'notFoundOdds',
    what: 'NotFound right after a create',
    unit: 'odds',
    draws: [0.2, 0.6],
    runOdds: 0.3,
  },
  {
    world: 'ec2',
    field: 'randomAddresses',
    what: 'addresses in no order',
    unit: 'on or off',
    draws: [false],
    runOdds: 0.3,
  },
  {
    world: 'cluster',
    field: 'watchDelayMaxMs',
    what: 'late watch events',
    unit: 'ms',
    draws: [500, 5000],
    runOdds: 0.4,
  },
  {
    world: 'cluster',
    field: 'watchSlowOdds',
    what: 'a watch hangs for seconds',
    unit: 'odds',
    draws: [0.01, 0.05],
    runOdds: 0.3,
  },
  {
    world: 'cluster',
    field: 'coalesceOdds',
    what: 'events of one object become one',
    unit: 'odds',
    draws: [0.3, 1],
    runOdds: 0.4,
  },
  {
    world: 'cluster',
    field: 'duplicateOdds',
    what: 'an event comes twice',
    unit: 'odds',
    draws: [0.1, 0.5],
    runOdds: 0.3,
  },
  {
    world: 'cluster',
    field: 'gapOdds',
    what: 'a watch breaks and lists anew',
    unit: 'odds',
    draws: [0.01, 0.1],
    runOdds: 0.4,
  },
  {
    world: 'cluster',
    field: 'conflictOdds',
    what: 'somebody else has just changed the object',
    unit: 'odds',
    draws: [0.05, 0.3],
    runOdds: 0.4,
  },
  {
    world: 'cluster',
    field: 'lostRequestOdds',
    what: 'a request never arrives',
    unit: 'odds',
    draws: [0.02, 0.1],
    runOdds: 0.3,
  },
  {
    world: 'cluster',
    field: 'lostAnswerOdds',
    what: 'the answer is lost after the effect',
    unit: 'odds',
    draws: [0.02, 0.1],
    runOdds: 0.4,
  },
  {
    world: 'cluster',
    field: 'outageOdds',
    what: 'the API server goes down',
    unit: 'odds',
    draws: [0.001, 0.005],
    runOdds: 0.3,
  },
  {
    world: 'node',
    field: 'controllerCrashesPerHour',
    what: 'the controller crashes',
    unit: 'per hour',
    draws: [6, 60],
    runOdds: 0.5,
  },
  {
    world: 'node',
    field: 'agentCrashesPerHour',
    what: 'an agent crashes',
    unit: 'per hour',
    draws: [6, 60],
    runOdds: 0.5,
  },
  {
    world: 'node',
    field: 'rebootsPerHour',
    what: 'a node reboots',
    unit: 'per hour',
    draws: [2, 12],
    runOdds: 0.2,
  },
  {
    world: 'node',
    field: 'tornJournalOdds',
    what: 'a crash tears the journal',
    unit: 'odds',
    draws: [0.2, 0.8],
    runOdds: 0.4,
  },
  {
    world: 'node',
    field: 'repeatedAddOdds',
    what: 'ADD comes twice',
    unit: 'odds',
    draws: [0.1, 0.5],
    runOdds: 0.4,
  },
  {
    world: 'node',
    field: 'earlyDelOdds',
    what: "DEL comes before ADD's answer",
    unit: 'odds',
    draws: [0.1, 0.5],
    runOdds: 0.4,
  },
  {
    world: 'node',
    field: 'missingDelOdds',
    what: 'a pod goes without DEL',
    unit: 'odds',
    draws: [0.1, 0.5],
    runOdds: 0.3,
  },
  {
    world: 'node',
    field: 'stackErrorOdds',
    what: 'the kernel refuses a call',
    unit: 'odds',
    draws: [0.02, 0.1],
    runOdds: 0.4,
  },
  {
    world: 'node',
    field: 'linkLateMaxMs',
    what: 'a link shows up late in the guest',
    unit: 'ms',
    draws: [3000, 20_000],
    runOdds: 0.4,
  },
  {
    world: 'person',
    field: 'subnetFillingsPerHour',
    what: 'others fill a subnet',
    unit: 'per hour',
    draws: [6, 30],
    runOdds: 0.4,
  },
  {
    world: 'person',
    field: 'permissionLossesPerHour',
    what: 'a permission is taken away',
    unit: 'per hour',
    draws: [3, 12],
    runOdds: 0.2,
  },
  {
    world: 'person',
    field: 'tokenSpreesPerHour',
    what: 'another tool uses up the tokens',
    unit: 'per hour',
    draws: [6, 30],
    runOdds: 0.3,
  },
  {
    world: 'person',
    field: 'foreignEnisPerHour',
    what: 'ENIs of others on our instances',
    unit: 'per hour',
    draws: [6, 30],
    runOdds: 0.3,
  },
  {
    world: 'kernel',
    field: 'randomTies',
    what: 'events of one time in no order',
    unit: 'on or off',
    draws: [true],
    runOdds: 0.5,
  },
];

/** `world.field`: what a row is called on the command line and in failure reports. */
export const faultName = ({ world, field }: FaultRow): string => `${world}.${field}`;

/** A run's faults. Each row draws from its own stream, so that a new row changes no old seed's other rows. */
export function drawProfile(random: Random): FaultProfile {
  const root = seededRandom(random.uint32());
  return FAULT_ROWS.reduce((profile, each) => {
    const draws = root.fork(faultName(each));
    if (!chance(draws, each.runOdds)) return profile;
    return withValue(profile, each, pick<number | boolean>(draws, each.draws));
  }, calm);
}

/** The same profile with one fault switched off: how a failing seed is shrunk. An unknown name changes nothing. */
export function withoutFault(profile: FaultProfile, name: string): FaultProfile {
  const found = FAULT_ROWS.find((each) => faultName(each) === name);
  return found === undefined ? profile : withValue(profile, found, valueOf(calm, found));
}

/** The faults that a profile has, as `world.field=value`. */
export const describeFaults = (profile: FaultProfile): readonly string[] =>
  FAULT_ROWS.filter((each) => valueOf(profile, each) !== valueOf(calm, each)).map(
    (each) => `${faultName(each)}=${valueOf(profile, each)}`,
  );

const valueOf = (profile: FaultProfile, { world, field }: FaultRow): number | boolean =>
  (profile[world] as unknown as Record<string, number | boolean>)[field] as number | boolean;

/** The row's type ties its values to its field, which the type of a union of rows cannot say. */
const withValue = (
  profile: FaultProfile,
  { world, field }: FaultRow,
  value: number | boolean,
): FaultProfile => ({
  ...profile,
  [world]: { ...profile[world], [field]: value },
});
