// The table of faults: for each, the values that a run may draw, and how often a run has it at all.

import type { FaultProfile } from './fault-profile.ts';

type World = keyof FaultProfile;
type Unit = 'odds' | 'ms' | 'per hour' | 'per second' | 'on or off';

/**
 * The field, what happens, its unit, the values of which a run with the fault has one, and the odds that a run has it.
 * Most rows are off in most runs, so that no fault hides another ("swarm testing").
 */
type Row<W extends World> = {
  readonly [F in keyof FaultProfile[W] & string]: readonly [
    field: F,
    what: string,
    unit: Unit,
    draws: readonly FaultProfile[W][F][],
    runOdds: number,
  ];
}[keyof FaultProfile[W] & string];

export interface FaultRow {
  readonly world: World;
  readonly field: string;
  readonly what: string;
  readonly unit: Unit;
  readonly draws: readonly (number | boolean)[];
  readonly runOdds: number;
}

// The odds are chosen to find faults in the product, not to be like AWS on a normal day.

const EC2_ROWS: readonly Row<'ec2'>[] = [
  ['latencyMaxMs', 'slow calls', 'ms', [100, 2000], 0.3],
  ['attachSlowOdds', 'an attach takes 10 s and more', 'odds', [0.05, 0.3], 0.4],
  ['attachSlowMs', 'how long a slow attach takes', 'ms', [10_000, 40_000, 300_000], 1],
  ['detachStuckOdds', 'a detach hangs for minutes', 'odds', [0.05, 0.3], 0.3],
  ['otherSpendersPerSecond', 'other tools spend tokens', 'per second', [1, 4], 0.3],
  ['throttleOdds', 'RequestLimitExceeded', 'odds', [0.05, 0.2, 0.4], 0.5],
  ['serverErrorOdds', 'HTTP 500', 'odds', [0.02, 0.1], 0.4],
  ['lostRequestOdds', 'a request never arrives', 'odds', [0.02, 0.1], 0.4],
  ['lateRequestOdds', 'a request arrives after its caller has given up', 'odds', [0.02, 0.1], 0.3],
  ['lostAnswerOdds', 'the answer is lost after the effect', 'odds', [0.05, 0.3], 0.5],
  ['staleOdds', 'a describe answers from the past', 'odds', [0.2, 0.8], 0.5],
  ['staleMs', 'how old a stale describe is at most', 'ms', [3000, 15_000], 1],
  ['stalePerObject', 'a stale describe shows each object at another age', 'on or off', [true], 0.3],
  ['notFoundOdds', 'NotFound right after a create', 'odds', [0.2, 0.6], 0.3],
  ['randomAddresses', 'addresses in no order', 'on or off', [false], 0.3],
];

const CLUSTER_ROWS: readonly Row<'cluster'>[] = [
  ['watchDelayMaxMs', 'late watch events', 'ms', [500, 5000], 0.4],
  ['watchSlowOdds', 'a watch hangs', 'odds', [0.01, 0.05], 0.3],
  ['watchSlowMs', 'how long a watch hangs', 'ms', [10_000, 45_000], 0.3],
  ['staleListOdds', 'a list comes from a stale cache', 'odds', [0.3, 1], 0.3],
  ['coalesceOdds', 'events of one object become one', 'odds', [0.3, 1], 0.4],
  ['duplicateOdds', 'an event comes twice', 'odds', [0.1, 0.5], 0.3],
  ['gapOdds', 'a watch breaks and lists anew', 'odds', [0.01, 0.1], 0.4],
  ['conflictOdds', 'somebody else has just changed the object', 'odds', [0.05, 0.3], 0.4],
  ['lostRequestOdds', 'a request never arrives', 'odds', [0.02, 0.1], 0.3],
  ['lostAnswerOdds', 'the answer is lost after the effect', 'odds', [0.02, 0.1], 0.4],
  ['outageOdds', 'the API server goes down', 'odds', [0.001, 0.005], 0.3],
];

const NODE_ROWS: readonly Row<'node'>[] = [
  ['controllerCrashesPerHour', 'the controller crashes', 'per hour', [6, 60], 0.5],
  ['agentCrashesPerHour', 'an agent crashes', 'per hour', [6, 60], 0.5],
  ['rebootsPerHour', 'a node reboots', 'per hour', [2, 12], 0.2],
  ['tornJournalOdds', 'a crash tears the journal', 'odds', [0.2, 0.8], 0.4],
  ['repeatedAddOdds', 'ADD comes twice', 'odds', [0.1, 0.5], 0.4],
  ['earlyDelOdds', "DEL comes before ADD's answer", 'odds', [0.1, 0.5], 0.4],
  ['missingDelOdds', 'a pod goes without DEL', 'odds', [0.1, 0.5], 0.3],
  ['stackErrorOdds', 'the kernel refuses a call', 'odds', [0.02, 0.1], 0.4],
  ['linkLateMaxMs', 'a link shows up late in the guest', 'ms', [3000, 20_000], 0.4],
  ['controllerCrashInCallOdds', 'the controller crashes within a call', 'odds', [0.01, 0.05], 0.4],
  ['leaderOverlapOdds', 'two controllers lead, the lease of one is over', 'odds', [0.5, 1], 0.4],
  ['controllerClockSkewMaxMs', 'the clock of the next controller is off', 'ms', [30_000, 7_200_000], 0.3],
  ['agentClockSkewMaxMs', 'the clock of the next agent is off', 'ms', [30_000, 7_200_000], 0.3],
  ['twoControllers', 'two controllers contend for a lease', 'on or off', [true], 0.25],
  ['ipv6', 'pods get both address families', 'on or off', [true], 0.13],
  ['ipv6Only', 'with them, or a change of them: no IPv4', 'on or off', [true], 0.4],
  ['controllerPausesPerHour', 'a controller is stopped, and goes on', 'per hour', [3, 12], 0.2],
  ['controllerClockJumpsPerHour', 'the clock of a running controller is set', 'per hour', [12, 60], 0.2],
  ['agentClockJumpsPerHour', 'the clock of a running agent is set', 'per hour', [12, 60], 0.2],
  ['haltsPerHour', 'a virtual machine is halted, and goes on', 'per hour', [3, 12], 0.25],
  ['controllerHangsPerHour', "a controller's connections to the API server hang", 'per hour', [6, 20], 0.2],
  ['agentHangsPerHour', "an agent's connections to the API server hang", 'per hour', [3, 12], 0.2],
  ['journalLostOdds', 'a reboot loses the journal', 'odds', [0.3], 0.3],
  ['diskMaxMs', 'a sync of the journal takes long', 'ms', [20, 1000], 0.3],
  ['collectionsPerHour', 'the runtime calls GC', 'per hour', [12, 60], 0.5],
];

const PERSON_ROWS: readonly Row<'person'>[] = [
  ['subnetFillingsPerHour', 'others fill a subnet', 'per hour', [6, 30], 0.4],
  ['permissionLossesPerHour', 'a permission is taken away', 'per hour', [3, 12], 0.2],
  ['tokenSpreesPerHour', 'another tool uses up the tokens', 'per hour', [6, 30], 0.3],
  ['foreignEnisPerHour', 'ENIs of others on our instances', 'per hour', [6, 30], 0.3],
  ['unassignmentsPerHour', 'an address is taken off behind our back', 'per hour', [6, 30], 0.3],
  ['ipv6UnassignmentsPerHour', "an ENI's /80 is taken off behind our back", 'per hour', [6, 30], 0.3],
  ['eniRemovalsPerHour', 'an ENI of ours is pulled off or deleted', 'per hour', [3, 12], 0.2],
  ['terminationsPerHour', 'an instance is terminated, and replaced', 'per hour', [3, 20], 0.3],
  ['stopsPerHour', 'an instance is stopped, and started again', 'per hour', [3, 12], 0.2],
  ['nodeDeletionsPerHour', 'a Node is deleted, and registers again', 'per hour', [3, 20], 0.2],
  ['nodeNetworkDeletionsPerHour', 'a NodeNetwork is deleted', 'per hour', [3, 20], 0.2],
];

const WORKLOAD_ROWS: readonly Row<'workload'>[] = [
  ['annotationOdds', 'a node is annotated', 'odds', [0.05, 0.2], 0.6],
  ['labelOdds', 'a node is labelled', 'odds', [0.05, 0.2], 0.4],
  ['flapOdds', 'an annotation flaps', 'odds', [0.02, 0.1], 0.3],
  ['eniConfigToggleOdds', 'an ENIConfig goes, or comes back', 'odds', [0.02, 0.1], 0.5],
  ['eniConfigChangeOdds', 'an ENIConfig gets another subnet or other groups', 'odds', [0.02, 0.1], 0.4],
  ['eniConfigRenameOdds', 'an ENIConfig is made anew under another name', 'odds', [0.02, 0.1], 0.3],
  ['classOdds', 'a class, or what it goes by, is changed', 'odds', [0.05, 0.2], 0.3],
  ['mistakeOdds', 'an ENIConfig says what cannot be, or is put right', 'odds', [0.05, 0.2], 0.3],
  ['optOutOdds', 'a node is to be left alone, or no more', 'odds', [0.02, 0.1], 0.25],
  ['familiesOdds', "the cluster's address families are changed", 'odds', [0.01, 0.05], 0.4],
  ['ipv6BlockOdds', 'a subnet gets its IPv6 block, or loses it', 'odds', [0.02, 0.1], 0.4],
  ['choosingPodOdds', 'a pod chooses its ENIConfig', 'odds', [0.1, 0.5], 0.3],
  ['namespaceChoiceOdds', "a namespace's pods choose, or choose another", 'odds', [0.02, 0.1], 0.2],
  ['burstOdds', 'many pods at once', 'odds', [0.1, 0.4], 0.6],
  ['massDeletionOdds', 'all pods are deleted', 'odds', [0.02, 0.1], 0.4],
  ['forcedDeletionOdds', 'a pod is deleted by force', 'odds', [0.1, 0.5], 0.4],
  ['recreationOdds', 'a deleted pod comes again under its name', 'odds', [0.1, 0.5], 0.4],
  ['completionOdds', 'a pod completes instead of being deleted', 'odds', [0.1, 0.5], 0.3],
];

const KERNEL_ROWS: readonly Row<'kernel'>[] = [
  ['randomTies', 'events of one time in no order', 'on or off', [true], 0.5],
];

const rowsOf = <W extends World>(world: W, rows: readonly Row<W>[]): readonly FaultRow[] =>
  rows.map(([field, what, unit, draws, runOdds]) => {
    const plain: readonly unknown[] = draws;
    return { world, field, what, unit, draws: plain as FaultRow['draws'], runOdds };
  });

export const FAULT_ROWS: readonly FaultRow[] = [
  ...rowsOf('ec2', EC2_ROWS),
  ...rowsOf('cluster', CLUSTER_ROWS),
  ...rowsOf('node', NODE_ROWS),
  ...rowsOf('person', PERSON_ROWS),
  ...rowsOf('workload', WORKLOAD_ROWS),
  ...rowsOf('kernel', KERNEL_ROWS),
];

/** `world.field`: what a row is called on the command line and in failure reports. */
export const faultName = ({ world, field }: FaultRow): string => `${world}.${field}`;
