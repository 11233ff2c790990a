// What people do with pods: they start and end them, and let some choose their ENIConfig.

import { ALLOW_IMDS_ANNOTATION } from '../../../domain/datapath/imds-permission.ts';
import { type NodeName, type PodKey, podKey } from '../../../domain/ids.ts';
import type { Random } from '../../../ports/random.ts';
import type { Wish } from '../../checkers/pod-wishes.ts';
import { chance, drawBetween, pick } from '../../kernel/draw.ts';
import { TIERS } from './sim-class-plan.ts';
import { annotationsOf } from './sim-pod-wishes.ts';
import type { ClusterAdmin } from '../../cluster/cluster-admin.ts';
import type { WorkloadProfile } from '../../faults/fault-profile.ts';
import type { ClassDeps } from './sim-class-deeds.ts';

/** Pods on all nodes together, per node: above what the subnets hold, below what would drown the run. */
const PODS_PER_NODE_MAX = 14;
/** Pods that may reach instance metadata. */
const IMDS_ODDS = 0.25;
const NAMESPACES = ['default', 'team'] as const;
/** Says itself what its pods choose. */
const CHOOSING_NAMESPACE = NAMESPACES[1];
const BURST = { min: 3, max: 12 };

export interface WorkloadDeps extends ClassDeps {
  readonly profile: () => WorkloadProfile;
  readonly struck: (fault: keyof WorkloadProfile) => void;
}

export interface PodDeeds {
  start(): void;
  endOne(): void;
  endAll(): void;
  /** Pods of a namespace choose, choose something else, or no more. */
  annotateNamespace(): void;
}

export function podDeeds(deps: WorkloadDeps): PodDeeds {
  const { random, cluster, profile, tell, struck } = deps;
  // Of its own, so that runs in which nobody chooses stay as they were.
  const wishDraws = random.fork('wishes');
  let podNumber = 0;
  const { admin } = cluster;
  const nodeNames = (): NodeName[] => admin.list('Node').map((node) => node.name);
  const keys = (): PodKey[] => admin.list('Pod').flatMap((pod) => (pod.finished ? [] : [pod.key]));
  const make = (key: PodKey, node: NodeName): void => {
    const mayReachImds = chance(random, IMDS_ODDS);
    const chooses = chance(wishDraws, profile().choosingPodOdds);
    if (chooses) struck('choosingPodOdds');
    const annotations = {
      ...(mayReachImds ? { [ALLOW_IMDS_ANNOTATION]: 'true' } : {}),
      ...(chooses ? annotationsOf(drawWish(wishDraws, admin)) : {}),
    };
    admin.applyPod({ ...namesOf(key), annotations });
    admin.bindPod(key, node);
    tell(`pod ${key} is bound to ${node}${chooses ? `, and chooses: ${JSON.stringify(annotations)}` : ''}`);
  };
  const end = (key: PodKey): void => {
    const { forcedDeletionOdds, recreationOdds, completionOdds } = profile();
    if (chance(random, completionOdds)) {
      struck('completionOdds');
      admin.finishPod(key);
      tell(`pod ${key} completes`);
      return;
    }
    const comesAgain = chance(random, recreationOdds);
    const isForced = !comesAgain && chance(random, forcedDeletionOdds);
    if (comesAgain) struck('recreationOdds');
    if (isForced) struck('forcedDeletionOdds');
    if (comesAgain || isForced) admin.deletePod(key);
    else admin.startPodDeletion(key);
    tell(`pod ${key} is deleted${comesAgain ? ', and made again' : ''}`);
    const nodes = nodeNames();
    if (comesAgain && nodes.length > 0) make(key, pick(random, nodes));
  };
  const newKey = (): PodKey => {
    podNumber += 1;
    const namespace = profile().namespaceChoiceOdds > 0 ? pick(wishDraws, NAMESPACES) : NAMESPACES[0];
    return podKey(namespace, `p${podNumber}`);
  };
  return {
    start: () => {
      const nodes = nodeNames();
      if (nodes.length === 0) return;
      const isBurst = chance(random, profile().burstOdds);
      if (isBurst) struck('burstOdds');
      const count = isBurst ? drawBetween(random, BURST) : 1;
      const node = pick(random, nodes);
      for (let n = 0; n < count && keys().length < PODS_PER_NODE_MAX * nodes.length; n += 1)
        make(newKey(), node);
    },
    endOne: () => {
      const now = keys();
      if (now.length > 0) end(pick(random, now));
    },
    endAll: () => {
      for (const key of keys()) end(key);
    },
    annotateNamespace: () => {
      const annotations = annotationsOf(
        chance(wishDraws, 0.3) ? { kind: 'Nothing' } : drawWish(wishDraws, admin),
      );
      admin.applyNamespace({ name: CHOOSING_NAMESPACE, annotations });
      tell(`pods of namespace ${CHOOSING_NAMESPACE} choose: ${JSON.stringify(annotations)}`);
    },
  };
}

function drawWish(random: Random, admin: ClusterAdmin): Wish {
  switch (pick(random, ['Name', 'Name', 'Name', 'Tier', 'Mistake'] as const)) {
    case 'Name': {
      const names = [...admin.list('EniConfig').map(({ name }) => name), 'missing'];
      return { kind: 'Name', name: pick(random, names) };
    }
    case 'Tier':
      return { kind: 'Tier', tier: pick(random, [...TIERS, 'nowhere']) };
    case 'Mistake':
      return { kind: 'Mistake' };
  }
}

function namesOf(key: PodKey): { readonly namespace: string; readonly name: string } {
  const [namespace = '', name = ''] = key.split('/');
  return { namespace, name };
}
