// The world of a seeded run: everything in it, wired together, with the judges beside it.

import type { NodeName } from '../../../domain/ids.ts';
import type { Subscription } from '../../../ports/cluster.ts';
import { createSimCluster, type SimCluster } from '../../cluster/sim-cluster.ts';
import { createSimEc2, type SimEc2 } from '../../ec2/sim-ec2.ts';
import { calm, createFaultDial, type FaultDial, type FaultProfile } from '../../faults/fault-profile.ts';
import { LED_WITHIN_MS } from '../../checkers/leadership-checker.ts';
import { startMischief } from '../../faults/mischief.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { type Coverage, type CoverageRecorder, createCoverage } from './coverage.ts';
import { createChoiceModel } from './sim-choice.ts';
import { startControllers } from './sim-controller.ts';
import { type Electors, startElectors } from './sim-electors.ts';
import { createSimFamilies, type SimFamilies } from './sim-families.ts';
import { createFleet, type Fleet, startFleetFaults, zoneOfIndex } from './sim-fleet.ts';
import { createJudges, type Judges } from './sim-judges.ts';
import { CONTROLLER_AWAY_MS, createPodWishes } from './sim-pod-wishes.ts';
import { HANG_MS } from './sim-hang.ts';
import { HALT_MS } from './sim-halt.ts';
import { drawSimMode, type SimMode } from './sim-mode.ts';
import { createSimLog, describeChange } from './sim-log.ts';
import type { NodeSurroundings, SimNode } from './sim-node.ts';
import { makeSimVpc, type VpcWish } from './sim-vpc.ts';
import { startWorkload } from './sim-workload.ts';

export interface WorldOptions {
  readonly kernel: Kernel;
  readonly profile: FaultProfile;
  readonly nodeCount: number;
  /** Hears every log line, deed and change with its virtual time. */
  readonly onLog?: (line: string) => void;
}

export interface World {
  readonly judges: Judges;
  /** The faults end, and the users of the cluster rest. */
  calm(): void;
  /** Rare branches that the run went through -> how often. */
  readonly marks: ReadonlyMap<string, number>;
  coverage(): Coverage;
}

export function startWorld(options: WorldOptions): World {
  const [{ kernel }, profile] = [options, possibleFaults(options.profile)];
  const [{ random }, clock] = [kernel, kernel.clock('world')];
  const [dial, mode] = [createFaultDial(profile), drawSimMode(random)];
  const families = createSimFamilies(random, profile);
  const { ec2, cluster, coverage } = createApis(kernel, dial);
  const vpc = makeSimVpc(ec2, cluster, vpcWishOf(mode, families, profile));
  const marks = new Map<string, number>();
  const log = createSimLog(kernel, marks, options.onLog);
  const tell = (text: string): void => log.info(text);
  if (options.onLog !== undefined) ec2.onChange((change) => tell(describeChange(change)));
  const choices = createChoiceModel({ vpc, cluster, families, now: () => kernel.now() });
  let fleet: Fleet | undefined;
  let electors: Electors | undefined;
  const nodeOf = (name: NodeName): SimNode | undefined => fleet?.nodes().find((node) => node.name === name);
  const judges = createJudges({
    now: () => kernel.now(),
    ec2,
    cluster,
    choices,
    wishes: createPodWishes(cluster, () => kernel.now(), awayMsOf(profile)),
    mode,
    instanceOf: (node) => fleet?.instanceOf(node),
    journalOf: (node) => nodeOf(node)?.agent.records(),
    imdsOpenOn: (node) => nodeOf(node)?.imdsOpen() ?? [],
    hangMaxMs: profile.node.controllerHangsPerHour > 0 ? HANG_MS.max : 0,
    controllerAwayMs: mayBeAway(profile) ? CONTROLLER_AWAY_MS : 0,
    ...(profile.node.twoControllers ? { leaders: () => electors?.leaders() ?? [] } : {}),
    tell,
  });
  const [{ struck }, { register, onDiskLost }] = [coverage, judges];
  const surroundings = { kernel, ec2, cluster, dial, log, register, onDiskLost, struck };
  fleet = createFleet({ ...surroundings, vpc, choices, tell });
  const workload = startWorkload({
    clock,
    random: random.fork('workload'),
    ec2,
    cluster,
    vpc,
    choices,
    mode,
    families,
    restartControllers: () => controllerFaults.restartAll(),
    profile: () => dial.profile().workload,
    tell,
    struck: (fault) => struck(`workload.${fault}`),
  });
  for (let index = 0; index < options.nodeCount; index += 1) fleet.launch(zoneOfIndex(index));
  const controllerParts = { kernel, ec2, cluster, dial, log, mode, tell, struck, families };
  if (profile.node.twoControllers) electors = startElectors(controllerParts);
  const controllerFaults = electors?.faults ?? startControllers(controllerParts);
  const fleetFaults = startFleetFaults(fleet, surroundings);
  const mischief = startPeople({ ...surroundings, families });
  return {
    judges,
    calm: () => {
      tell('the faults end');
      dial.set(calm);
      for (const source of [controllerFaults, fleetFaults, mischief]) source.close();
      cluster.admin.bringUp();
      workload.freeze();
      judges.startCalm();
      clock.timer(LED_WITHIN_MS, 'led by now', judges.checkLed);
    },
    marks,
    coverage: coverage.counts,
  };
}

const vpcWishOf = ({ mode }: SimMode, families: SimFamilies, { workload }: FaultProfile): VpcWish => ({
  mode,
  withStrangers: workload.mistakeOdds > 0,
  hasIpv6Block: families.hasBlockAtStart,
});

/** What people and other tools do to the account. */
function startPeople({
  kernel,
  ec2,
  dial,
  struck,
  families,
}: NodeSurroundings & { readonly families: SimFamilies }): Subscription {
  return startMischief({
    clock: kernel.clock('world'),
    random: kernel.random.fork('mischief'),
    ec2,
    profile: () => dial.profile().person,
    onFault: (fault) => struck(`person.${fault}`),
    ipv6: families.isOn,
  });
}

/** Where pods have IPv4 alone, nothing befalls their IPv6. */
function possibleFaults(profile: FaultProfile): FaultProfile {
  const { node, person, workload } = profile;
  if (node.ipv6) return profile;
  return {
    ...profile,
    person: { ...person, ipv6UnassignmentsPerHour: 0 },
    workload: { ...workload, familiesOdds: 0, ipv6BlockOdds: 0 },
  };
}

/** How long a namespace's word may not get to a node: while it is to be left alone, not at all. */
const awayMsOf = ({ workload, node }: FaultProfile): number =>
  workload.optOutOdds > 0 ? Infinity : CONTROLLER_AWAY_MS + (node.haltsPerHour > 0 ? HALT_MS.max : 0);

/** Whether a controller may hang or be stopped for minutes, or nobody lead for a while, or all start again and again. */
const mayBeAway = ({ node, workload }: FaultProfile): boolean =>
  node.twoControllers ||
  node.controllerPausesPerHour > 0 ||
  node.controllerHangsPerHour > 0 ||
  workload.familiesOdds > 0;

interface Apis {
  readonly ec2: SimEc2;
  readonly cluster: SimCluster;
  readonly coverage: CoverageRecorder;
}

function createApis(kernel: Kernel, dial: FaultDial): Apis {
  const { random } = kernel;
  const clock = kernel.clock('world');
  let coverage: CoverageRecorder | undefined;
  const ec2 = createSimEc2({
    clock,
    random: random.fork('ec2'),
    profile: () => dial.ec2(),
    onFault: (fault) => coverage?.struck(`ec2.${fault}`),
  });
  const cluster = createSimCluster({
    clock,
    random: random.fork('cluster'),
    profile: () => dial.cluster(),
    remembers: dial.cluster().staleListOdds > 0,
    onFault: (fault) => coverage?.struck(`cluster.${fault}`),
  });
  coverage = createCoverage(ec2, cluster);
  return { ec2, cluster, coverage };
}
