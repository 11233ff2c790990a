// What people and controllers of workloads do in a seeded run: pods come and go, annotations and ENIConfigs change.

import { ALLOW_IMDS_ANNOTATION } from '../../../domain/datapath/imds-permission.ts';
import { type NodeName, type PodKey, podKey } from '../../../domain/ids.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { SimCluster } from '../../cluster/sim-cluster.ts';
import { chance, drawBetween, pick } from '../../kernel/draw.ts';
import type { SeededRandom } from '../../kernel/seeded-random.ts';
import type { ChoiceModel } from './sim-choice.ts';
import { applyEniConfig, type SimVpcPlan } from './sim-vpc.ts';

export interface WorkloadDeps {
  readonly clock: Clock;
  readonly random: SeededRandom;
  readonly cluster: SimCluster;
  readonly vpc: SimVpcPlan;
  readonly choices: ChoiceModel;
  readonly nodes: readonly NodeName[];
}

export interface Workload {
  /** Nothing more is changed; wrong annotations and missing ENIConfigs stay as they are. */
  freeze(): void;
}

const PAUSE_MS = { min: 200, max: 8_000 };
/** Pods on all nodes together, per node: above what the subnets hold, below what would drown the run. */
const PODS_PER_NODE_MAX = 14;
/** One pod in so many may reach instance metadata. */
const IMDS_EVERY = 4;
const ANNOTATION = 'k8s.amazonaws.com/eniConfig';

/** Starts to draw deeds until frozen. */
export function startWorkload(deps: WorkloadDeps): Workload {
  const { clock, random, cluster } = deps;
  let frozen = false;
  let podNumber = 0;
  const removedConfigs = new Set<string>();

  const podKeys = (): PodKey[] => cluster.admin.list('Pod').map((pod) => pod.key);
  const startPods = (): void => {
    const count = chance(random, 0.15) ? drawBetween(random, { min: 3, max: 10 }) : 1;
    const node = pick(random, deps.nodes);
    for (let n = 0; n < count && podKeys().length < PODS_PER_NODE_MAX * deps.nodes.length; n += 1) {
      podNumber += 1;
      const name = `p${podNumber}`;
      const annotations = podNumber % IMDS_EVERY === 0 ? { [ALLOW_IMDS_ANNOTATION]: 'true' } : {};
      cluster.admin.applyPod({ namespace: 'default', name, annotations });
      cluster.admin.bindPod(podKey('default', name), node);
    }
  };
  const endPods = (): void => {
    const keys = podKeys();
    const count = chance(random, 0.1) ? keys.length : 1;
    for (let n = 0; n < count && keys.length > 0; n += 1) {
      const key = pick(random, keys);
      keys.splice(keys.indexOf(key), 1);
      cluster.admin.startPodDeletion(key);
    }
  };
  const annotate = (): void => {
    const node = pick(random, deps.nodes);
    const names = [...deps.vpc.podSubnets.map((one) => one.eniConfig), 'missing', undefined, undefined];
    const name = pick(random, names);
    cluster.admin.setAnnotation({ kind: 'Node', name: node }, ANNOTATION, name);
    deps.choices.annotate(node, name);
  };
  const toggleEniConfig = (): void => {
    const subnet = pick(random, deps.vpc.podSubnets);
    const exists = !removedConfigs.delete(subnet.eniConfig);
    if (exists) {
      removedConfigs.add(subnet.eniConfig);
      cluster.admin.deleteEniConfig(subnet.eniConfig);
    } else applyEniConfig(cluster, deps.vpc, subnet);
    deps.choices.setEniConfig(subnet.eniConfig, !exists);
  };
  const deeds: readonly { readonly odds: number; readonly run: () => void }[] = [
    { odds: 0.05, run: annotate },
    { odds: 0.02, run: toggleEniConfig },
    { odds: 0.45, run: endPods },
    { odds: 1, run: startPods },
  ];
  const act = (): void => {
    if (frozen) return;
    for (const deed of deeds) {
      if (!chance(random, deed.odds)) continue;
      deed.run();
      break;
    }
    clock.timer(drawBetween(random, PAUSE_MS), 'deed', act);
  };
  clock.timer(drawBetween(random, PAUSE_MS), 'deed', act);
  return {
    freeze: () => {
      frozen = true;
    },
  };
}
