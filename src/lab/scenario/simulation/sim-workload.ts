// What the users of the cluster do in a seeded run: pods come and go, annotations, labels and ENIConfigs change.

import { ALLOW_IMDS_ANNOTATION } from '../../../domain/datapath/imds-permission.ts';
import { type NodeName, type PodKey, podKey } from '../../../domain/ids.ts';
import type { WorkloadProfile } from '../../faults/fault-profile.ts';
import { chance, drawBetween, pick } from '../../kernel/draw.ts';
import { type ClassDeps, classDeeds } from './sim-class-deeds.ts';
import { configDeeds } from './sim-config-deeds.ts';

export interface WorkloadDeps extends ClassDeps {
  readonly profile: () => WorkloadProfile;
  readonly struck: (fault: keyof WorkloadProfile) => void;
}

export interface Workload {
  /** Nothing more is changed; wrong annotations and missing ENIConfigs stay as they are. */
  freeze(): void;
}

const PAUSE_MS = { min: 200, max: 8_000 };
const END_PODS_ODDS = 0.45;
/** Pods on all nodes together, per node: above what the subnets hold, below what would drown the run. */
const PODS_PER_NODE_MAX = 14;
/** Pods that may reach instance metadata. */
const IMDS_ODDS = 0.25;
const NAMESPACE = 'default';
const BURST = { min: 3, max: 12 };

type Deed = readonly [fault: keyof WorkloadProfile | undefined, odds: number, run: () => void];

/** Draws deeds until frozen. */
export function startWorkload(deps: WorkloadDeps): Workload {
  const { clock, random } = deps;
  let frozen = false;
  const pods = podDeeds(deps);
  const configs = configDeeds(deps);
  const classes = classDeeds({ ...deps, random: random.fork('classes') });
  const act = (): void => {
    if (frozen) return;
    const odds = deps.profile();
    const deeds: readonly Deed[] = [
      ['annotationOdds', odds.annotationOdds, configs.annotate],
      ['labelOdds', odds.labelOdds, configs.label],
      ['flapOdds', odds.flapOdds, configs.flap],
      ['eniConfigToggleOdds', odds.eniConfigToggleOdds, configs.toggle],
      ['eniConfigChangeOdds', odds.eniConfigChangeOdds, configs.change],
      ['eniConfigRenameOdds', odds.eniConfigRenameOdds, configs.rename],
      ['classOdds', odds.classOdds, classes.act],
      ['massDeletionOdds', odds.massDeletionOdds, pods.endAll],
      [undefined, END_PODS_ODDS, pods.endOne],
      [undefined, 1, pods.start],
    ];
    const [fault, , run] = deeds.find(([, each]) => chance(random, each)) ?? [];
    if (fault !== undefined) deps.struck(fault);
    run?.();
    clock.timer(drawBetween(random, PAUSE_MS), 'deed', act);
  };
  clock.timer(drawBetween(random, PAUSE_MS), 'deed', act);
  return {
    freeze: () => {
      frozen = true;
    },
  };
}

interface PodDeeds {
  start(): void;
  endOne(): void;
  endAll(): void;
}

function podDeeds({ random, cluster, profile, tell, struck }: WorkloadDeps): PodDeeds {
  let podNumber = 0;
  const { admin } = cluster;
  const nodeNames = (): NodeName[] => admin.list('Node').map((node) => node.name);
  const keys = (): PodKey[] => admin.list('Pod').flatMap((pod) => (pod.finished ? [] : [pod.key]));
  const make = (name: string, node: NodeName): void => {
    const annotations = chance(random, IMDS_ODDS) ? { [ALLOW_IMDS_ANNOTATION]: 'true' } : {};
    admin.applyPod({ namespace: NAMESPACE, name, annotations });
    admin.bindPod(podKey(NAMESPACE, name), node);
    tell(`pod ${name} is bound to ${node}`);
  };
  const end = (key: PodKey): void => {
    const { forcedDeletionOdds, recreationOdds, completionOdds } = profile();
    const name = key.slice(NAMESPACE.length + 1);
    if (chance(random, completionOdds)) {
      struck('completionOdds');
      admin.finishPod(key);
      tell(`pod ${name} completes`);
      return;
    }
    const comesAgain = chance(random, recreationOdds);
    const isForced = !comesAgain && chance(random, forcedDeletionOdds);
    if (comesAgain) struck('recreationOdds');
    if (isForced) struck('forcedDeletionOdds');
    if (comesAgain || isForced) admin.deletePod(key);
    else admin.startPodDeletion(key);
    tell(`pod ${name} is deleted${comesAgain ? ', and made again' : ''}`);
    const nodes = nodeNames();
    if (comesAgain && nodes.length > 0) make(name, pick(random, nodes));
  };
  return {
    start: () => {
      const nodes = nodeNames();
      if (nodes.length === 0) return;
      const isBurst = chance(random, profile().burstOdds);
      if (isBurst) struck('burstOdds');
      const count = isBurst ? drawBetween(random, BURST) : 1;
      const node = pick(random, nodes);
      for (let n = 0; n < count && keys().length < PODS_PER_NODE_MAX * nodes.length; n += 1) {
        podNumber += 1;
        make(`p${podNumber}`, node);
      }
    },
    endOne: () => {
      const now = keys();
      if (now.length > 0) end(pick(random, now));
    },
    endAll: () => {
      for (const key of keys()) end(key);
    },
  };
}
