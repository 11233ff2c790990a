// One seeded run of the whole system: faults first, then calm; every rule is checked against the world's truth.

import type { InstanceId, NodeName } from '../../../domain/ids.ts';
import { assert } from '../../../domain/result.ts';
import type { Log } from '../../../ports/log.ts';
import { createAddressChecker } from '../../checkers/address-checker.ts';
import type { Checker, LiveSandbox, WorldTruth } from '../../checkers/checker.ts';
import { createEniChecker } from '../../checkers/eni-checker.ts';
import { createImdsChecker } from '../../checkers/imds-checker.ts';
import { createLivenessChecker, type LivenessChecker } from '../../checkers/liveness-checker.ts';
import { createSelectionChecker } from '../../checkers/selection-checker.ts';
import { createSimCluster, type SimCluster } from '../../cluster/sim-cluster.ts';
import { createSimEc2, type SimEc2 } from '../../ec2/sim-ec2.ts';
import { calm, createFaultDial, type FaultProfile } from '../../faults/fault-profile.ts';
import { drawProfile } from '../../faults/fault-rows.ts';
import { startMischief } from '../../faults/mischief.ts';
import { drawBetween } from '../../kernel/draw.ts';
import { createKernel, type Kernel, type RunEnd } from '../../kernel/kernel.ts';
import { type ChoiceModel, createChoiceModel } from './sim-choice.ts';
import { CONTROLLER, COOLDOWN_SECONDS, startControllers, startCrashes } from './sim-controller.ts';
import { type SimNode, startSimNode } from './sim-node.ts';
import { INSTANCE_TYPE, makeSimVpc, type SimVpcPlan, ZONES } from './sim-vpc.ts';
import { startWorkload } from './sim-workload.ts';

export interface SimulationOptions {
  readonly seed: number;
  /** Lets promises go on: one macrotask turn. */
  readonly drain: () => Promise<void>;
  /** Of the faulty phase. */
  readonly faultyMinutes?: number;
  /** Faults instead of those that the seed draws. */
  readonly profile?: FaultProfile;
  /** Hears every log line and mark with its virtual time, for a failing seed's trace. */
  readonly onLog?: (line: string) => void;
}

export interface SimulationResult {
  readonly seed: number;
  /** Broken rule and what happened; absent when all held. */
  readonly broken?: { readonly rule: string; readonly what: string; readonly atMs: number };
  readonly eventCount: number;
  readonly traceHash: string;
  /** Rare branches that the run went through -> how often. */
  readonly marks: ReadonlyMap<string, number>;
  readonly recentEvents: readonly string[];
  readonly podsServed: number;
}

const FAULTY_MINUTES = 6;
/** After the faults stop: time to heal, and then time in which nothing may be written. */
const HEALING_MS = 10 * 60_000;
const QUIET_MS = 5 * 60_000;
const MINUTE_MS = 60_000;

/** Runs one seed. The same seed and options give the same run, event for event. */
export async function simulate(options: SimulationOptions): Promise<SimulationResult> {
  const root = createKernel({ seed: options.seed });
  const profile = options.profile ?? drawProfile(root.random.fork('profile'));
  const kernel = createKernel({ seed: options.seed, randomTies: profile.kernel.randomTies });
  const run = startWorld(kernel, profile, options);
  const startMs = kernel.now();
  const check = (): string | undefined => run.brokenRule();
  const phase = async (untilMs: number): Promise<RunEnd> =>
    kernel.run({ untilMs, drain: options.drain, check });

  const faultyMs = (options.faultyMinutes ?? FAULTY_MINUTES) * MINUTE_MS;
  let end = await phase(startMs + faultyMs);
  if (end.kind === 'TimeUp') {
    run.calm();
    end = await phase(startMs + faultyMs + HEALING_MS);
  }
  if (end.kind === 'TimeUp') {
    run.startQuiet();
    end = await phase(startMs + faultyMs + HEALING_MS + QUIET_MS);
  }
  if (end.kind === 'TimeUp') run.atRest();
  else if (end.kind !== 'Broken') run.broken('LV-1', `the run ended early: ${JSON.stringify(end)}`);
  return { seed: options.seed, ...run.result() };
}

interface World {
  brokenRule(): string | undefined;
  broken(rule: string, what: string): void;
  calm(): void;
  startQuiet(): void;
  atRest(): void;
  result(): Omit<SimulationResult, 'seed'>;
}

/** What is written down of a run. */
interface Account {
  firstBroken: SimulationResult['broken'];
  podsServed: number;
  readonly marks: Map<string, number>;
}

function startWorld(kernel: Kernel, profile: FaultProfile, options: SimulationOptions): World {
  const random = kernel.random;
  const clock = kernel.clock('world');
  const dial = createFaultDial(profile);
  const ec2 = createSimEc2({ clock, random: random.fork('ec2'), profile: () => dial.ec2() });
  const cluster = createSimCluster({ clock, random: random.fork('cluster'), profile: () => dial.cluster() });
  const vpc = makeSimVpc(ec2, cluster);
  const account: Account = { firstBroken: undefined, podsServed: 0, marks: new Map() };
  const log = createSimLog(kernel, account.marks, options.onLog);
  const broken = (rule: string, what: string): void => {
    account.firstBroken ??= { rule, what, atMs: kernel.now() };
  };
  const live = new Map<string, LiveSandbox>();
  const instances = new Map<NodeName, InstanceId>();
  const truth: WorldTruth = {
    now: () => kernel.now(),
    ec2: ec2.truth,
    cluster: cluster.admin,
    cooldownMs: COOLDOWN_SECONDS * 1000,
    live,
    instanceOf: (node) => instances.get(node),
    isController: (actor) => actor.startsWith(CONTROLLER),
    broken,
  };
  const nodesByName = new Map<NodeName, SimNode>();
  const imds = createImdsChecker(truth, (node) => nodesByName.get(node)?.imdsOpen() ?? []);
  const { checkers, choices, liveness } = createCheckers({ truth, vpc, account, more: [imds] });
  ec2.onChange((change) => {
    for (const checker of checkers) checker.onEc2Change?.(change);
  });
  const nodes = launchNodes({ kernel, ec2, cluster, vpc, instances }).map(({ name, instanceId, zone }) => {
    choices.addNode(name, zone);
    const node = startSimNode({ name, instanceId, kernel, ec2, cluster, dial, log, live, checkers, broken });
    nodesByName.set(name, node);
    return node;
  });
  startCrashes({ kernel, dial, nodes, controller: startControllers({ kernel, ec2, cluster, log }) });
  startMischief({ clock, random: random.fork('mischief'), ec2, profile: () => dial.profile().person });
  const names = nodes.map((node) => node.name);
  const workload = startWorkload({
    clock,
    random: random.fork('workload'),
    cluster,
    vpc,
    choices,
    nodes: names,
  });
  return {
    brokenRule: () => account.firstBroken && `${account.firstBroken.rule}: ${account.firstBroken.what}`,
    broken,
    calm: () => {
      dial.set(calm);
      cluster.admin.bringUp();
      workload.freeze();
    },
    startQuiet: () => liveness.startQuiet(),
    atRest: () => {
      for (const checker of checkers) checker.atRest?.();
      for (const rule of ec2.truth.brokenRules()) broken('IP-3', rule);
    },
    result: () => resultOf(kernel, account),
  };
}

function resultOf(
  kernel: Kernel,
  { firstBroken, podsServed, marks }: Account,
): Omit<SimulationResult, 'seed'> {
  return {
    ...(firstBroken === undefined ? {} : { broken: firstBroken }),
    eventCount: kernel.eventCount(),
    traceHash: kernel.traceHash(),
    marks,
    recentEvents: kernel.recentEvents(),
    podsServed,
  };
}

interface CheckerParts {
  readonly truth: WorldTruth;
  readonly vpc: SimVpcPlan;
  readonly account: Account;
  readonly more: readonly Checker[];
}

function createCheckers({ truth, vpc, account, more }: CheckerParts): {
  checkers: readonly Checker[];
  choices: ChoiceModel;
  liveness: LivenessChecker;
} {
  const choices = createChoiceModel(vpc.podSubnets, truth.now);
  const selection = createSelectionChecker(truth, choices);
  const liveness = createLivenessChecker({ world: truth, choiceOf: (node) => choices.subnetOf(node) });
  const counter: Checker = {
    onAdded: () => {
      account.podsServed += 1;
    },
  };
  const addresses = createAddressChecker(truth);
  const checkers = [addresses, createEniChecker(truth), selection, liveness, ...more, counter];
  return { checkers, choices, liveness };
}

interface LaunchDeps {
  readonly kernel: Kernel;
  readonly ec2: SimEc2;
  readonly cluster: SimCluster;
  readonly vpc: SimVpcPlan;
  readonly instances: Map<NodeName, InstanceId>;
}

function launchNodes(
  deps: LaunchDeps,
): { name: NodeName; instanceId: InstanceId; zone: (typeof ZONES)[number] }[] {
  const count = drawBetween(deps.kernel.random.fork('nodes'), { min: 2, max: 4 });
  return Array.from({ length: count }, (_, n) => {
    const zone = ZONES[n % ZONES.length] ?? ZONES[0];
    const subnetId = deps.vpc.nodeSubnets.get(zone);
    assert(subnetId !== undefined, `zone ${zone} has a node subnet`);
    const request = { instanceType: INSTANCE_TYPE, subnetId, securityGroupIds: [deps.vpc.nodesGroup] };
    const launched = deps.ec2.admin.launchInstance(request);
    assert(launched.ok, 'an instance can be launched');
    const name = `n${n + 1}` as NodeName;
    const { instanceId } = launched.value;
    deps.instances.set(name, instanceId);
    deps.cluster.admin.applyNode({ name, instanceId, zone });
    return { name, instanceId, zone };
  });
}

function createSimLog(kernel: Kernel, marks: Map<string, number>, onLog: SimulationOptions['onLog']): Log {
  const startMs = kernel.now();
  const write =
    (level: string): Log['info'] =>
    (message, fields) =>
      onLog?.(
        `+${((kernel.now() - startMs) / 1000).toFixed(3)}s ${level} ${message} ${JSON.stringify(fields ?? {})}`,
      );
  return {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    mark: (name) => {
      marks.set(name, (marks.get(name) ?? 0) + 1);
    },
  };
}
