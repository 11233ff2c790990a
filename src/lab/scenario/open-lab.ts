// A lab that is up, and the clock that moves it: real time over namespaces, virtual time in memory.

import type { Clock } from '../../ports/clock.ts';
import type { Journal } from '../../ports/journal.ts';
import type { Log } from '../../ports/log.ts';
import { createMemoryJournal, type MemoryJournal } from '../journal/memory-journal.ts';
import { createKernel, type Kernel } from '../kernel/kernel.ts';
import type { PodKey } from '../../domain/ids.ts';
import { createFabricNetwork, type FabricNetworkDeps } from './fabric-network.ts';
import type { PodState } from './kubelet.ts';
import { type Lab, podStateOf as podStateIn } from './lab.ts';
import { createMemoryNetwork } from './memory-network.ts';
import type { Scenario } from './scenario.ts';
import { type LabDeps, startLab } from './start-lab.ts';

export interface OpenLab {
  readonly lab: Lab;
  /** In words, for the head of the report. */
  readonly network: string;
  readonly virtualTime: boolean;
  /** Awaits work of the lab; under virtual time nothing moves but in here. */
  drive<T>(work: Promise<T>): Promise<T>;
}

export interface MemoryLabDeps {
  /** The same seed gives the same run. */
  readonly seed: number;
  readonly log: Log;
  readonly labLog: Log;
  /** Why there are no packets, for the head of the report. */
  readonly why: string;
  /** One macrotask turn. */
  readonly drain: () => Promise<void>;
}

/** Opens the scenario in memory, under a virtual clock: it takes no longer than its computing. */
export async function openMemoryLab(scenario: Scenario, deps: MemoryLabDeps): Promise<OpenLab> {
  const kernel = createKernel({ seed: deps.seed });
  const clock = kernel.clock('lab');
  const drive = <T>(work: Promise<T>): Promise<T> => driveKernel(kernel, deps.drain, work);
  const lab = await drive(
    startLab(scenario, {
      clock,
      random: kernel.random,
      log: deps.log,
      labLog: deps.labLog,
      journalOf: memoryJournals(clock),
      networkOn: ({ ec2 }) => Promise.resolve(createMemoryNetwork({ ec2, clock })),
    }),
  );
  return { lab, network: `in memory (${deps.why}); packet lines are not run`, virtualTime: true, drive };
}

export interface RealTimeLabDeps extends Pick<LabDeps, 'clock' | 'random' | 'log' | 'labLog' | 'ec2'> {
  /** Why there are no packets, for the head of the report. */
  readonly why: string;
}

/** Opens the scenario in memory, but in real time: for an EC2 that lives elsewhere. */
export async function openMemoryLabInRealTime(scenario: Scenario, deps: RealTimeLabDeps): Promise<OpenLab> {
  const { clock, why } = deps;
  const lab = await startLab(scenario, {
    ...deps,
    journalOf: memoryJournals(clock),
    networkOn: ({ ec2 }) => Promise.resolve(createMemoryNetwork({ ec2, clock })),
  });
  return {
    lab,
    network: `in memory (${why}); packet lines are not run${whereEc2Is(lab)}`,
    virtualTime: false,
    drive: (work) => work,
  };
}

export interface FabricLabDeps
  extends Omit<FabricNetworkDeps, 'podStateOf'>,
    Pick<LabDeps, 'journalOf' | 'labLog' | 'ec2'> {}

/** Opens the scenario in network namespaces, with real packets and in real time. */
export async function openFabricLab(scenario: Scenario, deps: FabricLabDeps): Promise<OpenLab> {
  const { clock, random, log, labLog, journalOf } = deps;
  let lab: Lab | undefined;
  const podStateOf = (pod: PodKey): PodState | undefined => lab && podStateIn(lab, pod);
  lab = await startLab(scenario, {
    clock,
    random,
    log,
    labLog,
    journalOf,
    ...(deps.ec2 === undefined ? {} : { ec2: deps.ec2 }),
    networkOn: (world) => createFabricNetwork(world, { ...deps, log: labLog, podStateOf }),
  });
  return {
    lab,
    network: `real packets in network namespaces (${deps.prefix}-*)${whereEc2Is(lab)}`,
    virtualTime: false,
    drive: (work) => work,
  };
}

const whereEc2Is = ({ ec2 }: Lab): string => (ec2.elsewhere === undefined ? '' : `; EC2 ${ec2.elsewhere}`);

function memoryJournals(clock: Clock): (node: string) => Journal {
  const journals = new Map<string, MemoryJournal>();
  return (node) => {
    const journal = journals.get(node) ?? createMemoryJournal();
    journals.set(node, journal);
    return journal.open(clock);
  };
}

/** Virtual time that one piece of work may take, milliseconds: a scenario's steps are bounded, so it never does. */
const WORK_MS_MAX = 24 * 3_600_000;

async function driveKernel<T>(kernel: Kernel, drain: () => Promise<void>, work: Promise<T>): Promise<T> {
  let settled = false;
  const done = work.finally(() => {
    settled = true;
  });
  // The kernel is what moves the work, so its failure is awaited below and must not count as unhandled here.
  done.catch(() => {});
  await drain();
  if (!settled) {
    const end = await kernel.run({ untilMs: kernel.now() + WORK_MS_MAX, drain, stopWhen: () => settled });
    if (!settled) throw new Error(`the lab stands still: ${JSON.stringify(end)}`);
  }
  return done;
}
