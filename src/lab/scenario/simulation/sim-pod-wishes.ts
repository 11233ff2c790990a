// What the pods of a seeded run ask for, by a model of its own: names, tiers and mistakes, on pods and on namespaces.

import { POD_ENI_CONFIG, POD_ENI_CONFIG_SELECTOR } from '../../../domain/eniconfig/pod-choice.ts';
import type { NodeName } from '../../../domain/ids.ts';
import type { PodWishes, Wish } from '../../checkers/pod-wishes.ts';
import type { SimCluster } from '../../cluster/sim-cluster.ts';
import { TIER_LABEL } from './sim-class-plan.ts';
import { createSpans } from './spans.ts';

type Annotations = Readonly<Record<string, string>>;

/**
 * What a namespace says gets to a node by way of the controller, which may be stopped twice in a row and have its writes
 * lost between: until then the node's agent takes its pods for ones that ask for nothing (docs/pods-that-choose.md).
 */
export const CONTROLLER_AWAY_MS = 300_000;

const NOTHING: Wish = { kind: 'Nothing' };

/** As a pod or a namespace says it. */
export function annotationsOf(wish: Wish): Annotations {
  switch (wish.kind) {
    case 'Nothing':
      return {};
    case 'Name':
      return { [POD_ENI_CONFIG]: wish.name };
    case 'Tier':
      return { [POD_ENI_CONFIG_SELECTOR]: `${TIER_LABEL}=${wish.tier}` };
    case 'Mistake':
      return { [POD_ENI_CONFIG]: '' };
  }
}

/** The reverse. The workload writes nothing else. */
function wishIn(annotations: Annotations): Wish {
  const name = annotations[POD_ENI_CONFIG];
  const selector = annotations[POD_ENI_CONFIG_SELECTOR];
  if (name !== undefined) return name === '' ? { kind: 'Mistake' } : { kind: 'Name', name };
  return selector === undefined ? NOTHING : { kind: 'Tier', tier: selector.slice(TIER_LABEL.length + 1) };
}

interface PodWords {
  readonly namespace: string;
  readonly own: Wish;
  readonly node: NodeName | undefined;
}

/** Follows pods and namespaces. `now` in milliseconds since the epoch; the controller may be away from a node for `awayMs`. */
export function createPodWishes(cluster: SimCluster, now: () => number, awayMs: number): PodWishes {
  const pods = createSpans<PodWords>(now); // by uid
  const namespaces = createSpans<Wish>(now);
  cluster.admin.onChange((change) => {
    const isThere = change.type === 'Applied';
    if (change.kind === 'Namespace')
      namespaces.set(change.object.name, isThere ? wishIn(change.object.annotations) : undefined);
    if (change.kind !== 'Pod') return;
    const { uid, namespace, annotations, nodeName, finished } = change.object;
    const words = { namespace, own: wishIn(annotations), node: nodeName };
    pods.set(uid, isThere && !finished ? words : undefined);
  });
  const inNamespace = (name: string, since: number): readonly Wish[] => {
    const said = namespaces.since(since, name);
    return namespaces.always(name, since, () => true) ? said : [NOTHING, ...said];
  };
  const wishesOf = ({ own, namespace }: PodWords, since: number): readonly Wish[] =>
    own.kind === 'Nothing' ? inNamespace(namespace, since - awayMs) : [own];
  return {
    wishOf: (uid) => {
      const said = pods.now(uid);
      if (said === undefined) return undefined;
      return said.own.kind === 'Nothing' ? (namespaces.now(said.namespace) ?? NOTHING) : said.own;
    },
    wishesOf: (uid, lagMs) => {
      const [said] = pods.since(-Infinity, uid).slice(-1);
      return said === undefined ? undefined : wishesOf(said, now() - lagMs);
    },
    wishesOn: (node, lagMs) =>
      pods
        .since(now() - lagMs)
        .filter((said) => said.node === node)
        .flatMap((said) => wishesOf(said, now() - lagMs)),
  };
}
