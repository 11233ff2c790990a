// What the pods of one node chose: a decision for each, and a pool for each ENIConfig that they share.

import type { EniConfigView } from '../domain/eniconfig/eni-config.ts';
import {
  decidePodChoice,
  type PodDecision,
  type PodWish,
  wishOf,
  wishOfPod,
} from '../domain/eniconfig/pod-choice.ts';
import type { SelectionNode } from '../domain/eniconfig/selection-node.ts';
import type { Selection } from '../domain/eniconfig/selection.ts';
import type { PodKey } from '../domain/ids.ts';
import type { Choosing, NodeNetworkSpec } from '../domain/ipam/node-network.ts';
import type { PodPool } from '../domain/ipam/node-view.ts';
import type { PodRecord } from '../ports/cluster.ts';
import type { ClusterView } from './cluster-view.ts';

export interface PodChoices {
  /** Pods that take what the node has: those that do not choose, or chose just that. */
  readonly pods: readonly PodKey[];
  readonly podPools: readonly PodPool[];
  /** Absent: pods may not choose. */
  readonly choosing?: Choosing;
}

export interface PodChoicesInput {
  readonly cluster: ClusterView;
  /** The pods of the node that need an address. */
  readonly pods: readonly PodRecord[];
  readonly node: SelectionNode;
  readonly byName: ReadonlyMap<string, EniConfigView>;
  readonly selection: Selection;
  readonly published: NodeNetworkSpec | undefined;
  readonly settings: { readonly customNetworking: boolean; readonly podsChoose: boolean };
}

/** Decides for every pod that chooses. A pod of which nothing can be decided yet is in no pool, and waits. */
export function podChoicesOf(input: PodChoicesInput): PodChoices {
  const { cluster, settings } = input;
  if (!settings.podsChoose) return { pods: keysOf(input.pods), podPools: [] };
  const wishes = input.pods.map((pod) => ({
    pod,
    wish: wishOfPod(pod.annotations, cluster.namespaces.get(pod.namespace)?.annotations),
  }));
  const decisions = wishes.flatMap(({ pod, wish }) => decide(input, pod, wish) ?? []);
  const pools = poolsOf(input, decisions);
  const own = input.selection.kind === 'EniConfig' ? input.selection.name : undefined;
  const chosenOwn = decisions.flatMap((one) =>
    one.kind === 'EniConfig' && one.eniConfig === own ? [one.pod] : [],
  );
  const indifferent = wishes.flatMap(({ pod, wish }) => (wish.kind === 'Nothing' ? [pod.key] : []));
  return {
    pods: [...indifferent, ...chosenOwn].sort(),
    podPools: pools,
    choosing: {
      namespaces: choosingNamespaces(cluster),
      pods: [...decisions].sort((a, b) => (a.pod < b.pod ? -1 : 1)),
    },
  };
}

const keysOf = (pods: readonly PodRecord[]): readonly PodKey[] => pods.map(({ key }) => key).sort();

const choosingNamespaces = ({ namespaces }: ClusterView): readonly string[] =>
  [...namespaces.values()]
    .filter(({ annotations }) => wishOf(annotations).kind !== 'Nothing')
    .map(({ name }) => name)
    .sort();

function decide(input: PodChoicesInput, pod: PodRecord, wish: PodWish): PodDecision | undefined {
  if (wish.kind === 'Nothing') return undefined;
  const { node, byName, published, selection, settings } = input;
  const before = published?.choosing?.pods.find((one) => one.uid === pod.uid);
  const present = [
    ...(selection.kind === 'EniConfig' ? [selection.name] : []),
    ...(published?.enis ?? []).flatMap((eni) => (eni.primary || eni.cordoned ? [] : [eni.eniConfig])),
    ...(published?.intents ?? []).map((intent) => intent.eniConfig),
  ];
  const decision = decidePodChoice({
    pod: pod.key,
    uid: pod.uid,
    wish,
    node,
    byName,
    customNetworking: settings.customNetworking,
    present,
    ...(before?.kind === 'EniConfig' ? { before: before.eniConfig } : {}),
  });
  // What EC2 has not answered for again yet, after a restart, stays as it was decided.
  const isSame = wish.kind === 'Selector' || (wish.kind === 'Name' && wish.name === decidedName(before));
  return decision ?? (isSame ? before : undefined);
}

const decidedName = (decision: PodDecision | undefined): string | undefined =>
  decision?.kind === 'EniConfig' ? decision.eniConfig : undefined;

/** One pool per ENIConfig that is chosen and is not the node's own, by name. */
function poolsOf(input: PodChoicesInput, decisions: readonly PodDecision[]): readonly PodPool[] {
  const { selection } = input;
  const podsOf = new Map<string, PodKey[]>();
  for (const decision of decisions) {
    if (decision.kind === 'Refused') continue;
    podsOf.set(decision.eniConfig, [...(podsOf.get(decision.eniConfig) ?? []), decision.pod]);
  }
  const own = selection.kind === 'EniConfig' ? selection.name : undefined;
  return [...podsOf]
    .filter(([name]) => name !== own)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([name, pods]) => {
      const place = placeOf(input, name);
      return place === undefined
        ? []
        : [{ selection: chosenSelection(input, name, place), pods: pods.sort() }];
    });
}

type Place = Pick<Extract<Selection, { kind: 'EniConfig' }>, 'subnetId' | 'securityGroupIds'>;

/** The subnet and the groups of the ENIConfig; while EC2 has not answered for it, those of the ENIs that are there. */
function placeOf({ byName, node, published }: PodChoicesInput, name: string): Place | undefined {
  const view = byName.get(name);
  if (view?.kind === 'Unresolved')
    return published?.enis.find((eni) => eni.chosenOnly === true && eni.eniConfig === name);
  if (view?.kind !== 'Valid') return undefined;
  const { subnetId, securityGroupIds } = view.eniConfig;
  // None means the groups of the primary ENI; while those are not known either, EC2 would take the VPC's default.
  const groups = securityGroupIds.length > 0 ? securityGroupIds : node.primarySecurityGroupIds;
  return groups.length === 0 ? undefined : { subnetId, securityGroupIds: groups };
}

const chosenSelection = (
  { node }: PodChoicesInput,
  name: string,
  { subnetId, securityGroupIds }: Place,
): PodPool['selection'] => ({
  kind: 'EniConfig',
  name,
  subnetId,
  securityGroupIds,
  source: 'Annotation',
  reason: `pods of node ${node.name} chose ENIConfig "${name}"`,
});
