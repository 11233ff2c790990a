// The judges of a seeded run: they hear what really happens, and say which rule is broken.

import type { InstanceId, NodeName } from '../../../domain/ids.ts';
import type { JournalRecord } from '../../../domain/ipam/ledger.ts';
import { createAddressChecker } from '../../checkers/address-checker.ts';
import { addressesOf, type Checker, type LiveSandbox, type WorldTruth } from '../../checkers/checker.ts';
import { createEniChecker } from '../../checkers/eni-checker.ts';
import { chosenName, createGrantChecker } from '../../checkers/grant-checker.ts';
import { createIpv6Checker } from '../../checkers/ipv6-checker.ts';
import { createImdsChecker } from '../../checkers/imds-checker.ts';
import { createLeadershipChecker } from '../../checkers/leadership-checker.ts';
import { createLivenessChecker } from '../../checkers/liveness-checker.ts';
import { createMoveChecker } from '../../checkers/move-checker.ts';
import { createOfferChecker } from '../../checkers/offer-checker.ts';
import { createOptOutChecker, isOptedOut } from '../../checkers/opt-out-checker.ts';
import { createOwnConfigChecker } from '../../checkers/own-config-checker.ts';
import { createPaceChecker, type PaceChecker } from '../../checkers/pace-checker.ts';
import { createPodChoiceChecker, placeOfPod } from '../../checkers/pod-choice-checker.ts';
import type { PodWishes } from '../../checkers/pod-wishes.ts';
import { createRestChecker } from '../../checkers/rest-checker.ts';
import { createSelectionChecker, LAG_MS, type Place } from '../../checkers/selection-checker.ts';
import type { SimCluster } from '../../cluster/sim-cluster.ts';
import type { SimEc2 } from '../../ec2/sim-ec2.ts';
import type { ChoiceModel } from './sim-choice.ts';
import { COOLDOWN_SECONDS } from './sim-controller.ts';
import { ELECTOR_COUNT } from './sim-electors.ts';
import { poolWishOf, type SimMode } from './sim-mode.ts';
import { CONTROLLER } from './sim-process.ts';
import { createRobbery } from './sim-robbery.ts';
import type { PodRegister } from './sim-runtime.ts';

export interface BrokenRule {
  readonly rule: string;
  readonly what: string;
  /** Milliseconds since the epoch. */
  readonly atMs: number;
}

export interface JudgesDeps {
  readonly now: () => number;
  readonly ec2: SimEc2;
  readonly cluster: SimCluster;
  readonly choices: ChoiceModel;
  readonly wishes: PodWishes;
  readonly mode: SimMode;
  readonly instanceOf: (node: NodeName) => InstanceId | undefined;
  /** What is durable of the agent's journal; undefined for a node that is gone. */
  readonly journalOf: (node: NodeName) => readonly JournalRecord[] | undefined;
  /** Addresses that a node's kernel lets reach instance metadata. */
  readonly imdsOpenOn: (node: NodeName) => readonly string[];
  /** For how long a controller's connections may hang; 0: never. */
  readonly hangMaxMs: number;
  /** How much longer than by watches alone a controller may know nothing of what people write. */
  readonly controllerAwayMs: number;
  /** Controllers that believe to lead; absent where they do not contend for a lease. */
  readonly leaders?: () => readonly string[];
  readonly tell: (text: string) => void;
}

/** What the owners of agents' events are called by. */
const AGENT = 'agent/';

export interface Judges {
  /** What nodes tell of their pods. */
  readonly register: PodRegister;
  onDiskLost(node: NodeName): void;
  /** To be called for every event of the run. */
  readonly onEvent: PaceChecker['onEvent'];
  /** The first broken rule. */
  brokenRule(): BrokenRule | undefined;
  podsServed(): number;
  /** The faults are over. */
  startCalm(): void;
  /** So long after the faults that a controller must lead. */
  checkLed(): void;
  /** From now on nothing may be written. */
  startQuiet(): void;
  /** Everything has healed and is quiet: it must all be as it should. */
  atRest(): void;
}

export function createJudges(deps: JudgesDeps): Judges {
  const { now, ec2, cluster, choices, instanceOf, tell } = deps;
  let firstBroken: BrokenRule | undefined;
  let podsServed = 0;
  const broken = (rule: string, what: string): void => {
    firstBroken ??= { rule, what, atMs: now() };
  };
  const live = new Map<string, LiveSandbox>();
  const isController = (actor: string): boolean => actor.startsWith(CONTROLLER);
  const robbery = createRobbery({ now, live, isController, instanceOf });
  const truth: WorldTruth = {
    now,
    ec2: ec2.truth,
    cluster: cluster.admin,
    cooldownMs: COOLDOWN_SECONDS * 1000,
    lagMs: LAG_MS + deps.hangMaxMs,
    live,
    isRobbed: robbery.isRobbed,
    instanceOf,
    isLeftAlone: (node) => isOptedOut(cluster.admin.get('Node', node)),
    familiesOf: choices.familiesOf,
    isController,
    broken,
  };
  const { checkers, startQuiet, checkLed } = createCheckers(truth, deps);
  ec2.onChange((change) => {
    robbery.onEc2Change(change);
    for (const checker of checkers) checker.onEc2Change?.(change);
  });
  return {
    register: {
      live,
      added: (sandbox) => {
        podsServed += 1;
        tell(`${sandbox.pod} lives on ${sandbox.node} with ${addressesOf(sandbox).join(' and ')}`);
        live.set(sandbox.containerId, sandbox);
        robbery.onAdded(sandbox);
        for (const checker of checkers) checker.onAdded?.(sandbox);
      },
      ending: (containerId) => {
        const sandbox = live.get(containerId);
        if (sandbox === undefined) return;
        tell(`${sandbox.pod} on ${sandbox.node} ends with ${sandbox.address}`);
        live.delete(containerId);
        for (const checker of checkers) checker.onDeleting?.(sandbox);
      },
      broken,
    },
    onDiskLost: (node) => {
      for (const checker of checkers) checker.onDiskLost?.(node);
    },
    onEvent: createPaceChecker(truth, (owner) => isController(owner) || owner.startsWith(AGENT)).onEvent,
    brokenRule: () => firstBroken,
    podsServed: () => podsServed,
    startCalm: robbery.startCalm,
    checkLed,
    startQuiet,
    atRest: () => {
      for (const checker of checkers) checker.atRest?.();
      for (const rule of ec2.truth.brokenRules()) broken('IP-3', rule);
    },
  };
}

function createCheckers(
  truth: WorldTruth,
  { ec2, cluster, choices, mode, wishes, journalOf, imdsOpenOn, leaders, controllerAwayMs }: JudgesDeps,
): { readonly checkers: readonly Checker[]; startQuiet(): void; checkLed(): void } {
  const placeOf = (node: NodeName): Place | undefined => {
    const right = choices.rightPlaces(node);
    const inForce = chosenName(cluster.admin.nodeNetwork(node)?.spec);
    return right.find(({ name }) => name === inForce) ?? right[0];
  };
  const keeps = (node: NodeName): boolean => choices.mayKeep(node, 0);
  const sources = { world: truth, model: choices, wishes };
  const liveness = createLivenessChecker({
    world: truth,
    placeOf,
    placeOfPod: (pod) => placeOfPod(sources, pod, placeOf(pod.node)),
    keeps,
  });
  const grants = createGrantChecker(sources);
  const ownConfigs = createOwnConfigChecker(truth, choices);
  const optOuts = createOptOutChecker(truth);
  const moves = createMoveChecker(truth, choices, controllerAwayMs);
  cluster.admin.onChange((change) => {
    grants.onClusterChange(change);
    ownConfigs.onClusterChange(change);
    optOuts.onClusterChange(change);
    moves.onClusterChange(change);
  });
  const rest = createRestChecker({
    world: truth,
    placeOf,
    journalOf,
    counts: () => ({ ec2: ec2.calls.total(), api: cluster.admin.requestCount() }),
    poolWishOf: (node) => poolWishOf(mode, choices, node),
    electorCount: leaders === undefined ? 0 : ELECTOR_COUNT,
  });
  const leadership =
    leaders && createLeadershipChecker({ world: truth, lease: () => cluster.lease.truth(), leaders });
  return {
    checkers: [
      createAddressChecker(truth),
      createEniChecker(truth),
      createIpv6Checker(truth, { model: choices, placeOf }),
      createSelectionChecker(truth, choices, wishes),
      createPodChoiceChecker(sources),
      grants,
      ownConfigs,
      optOuts,
      moves,
      createImdsChecker(truth, imdsOpenOn),
      createOfferChecker(truth, journalOf),
      liveness,
      rest,
      ...(leadership === undefined ? [] : [leadership]),
    ],
    checkLed: () => leadership?.checkLed(),
    startQuiet: () => {
      liveness.startQuiet();
      grants.startQuiet();
      rest.startQuiet();
    },
  };
}
