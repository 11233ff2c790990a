// The pools of pods that chose their ENIConfig, as the controller has published its decisions.

import { wishOf } from '../eniconfig/pod-choice.ts';
import type { Selection } from '../eniconfig/selection.ts';
import type { PodKey } from '../ids.ts';
import type { NodeView, PodPool } from '../ipam/node-view.ts';
import { type Picture, type PictureNetwork, type PicturePod, podsOn } from './picture.ts';

type Pods = Pick<NodeView, 'pods' | 'podPools' | 'choosing'>;

/** Without published decisions pods may not choose, and all of them take what the node has. */
export function podsOfPools(picture: Picture, network: PictureNetwork, selection: Selection): Pods {
  const { choosing } = network.spec;
  const pods = podsOn(picture, network.name);
  if (choosing === undefined) return { pods: pods.map((pod) => pod.key) };
  const decisions = new Map(choosing.pods.map((one) => [one.pod, one]));
  const own = selection.kind === 'EniConfig' ? selection.name : undefined;
  const chooses = (pod: PicturePod): boolean =>
    wishOf(pod.annotations).kind !== 'Nothing' || choosing.namespaces.includes(pod.namespace);
  const byName = new Map<string, PodKey[]>();
  const ownPods: PodKey[] = [];
  for (const pod of pods) {
    const decision = decisions.get(pod.key);
    if (decision === undefined ? !chooses(pod) : decision.kind === 'EniConfig' && decision.eniConfig === own)
      ownPods.push(pod.key);
    else if (decision?.kind === 'EniConfig')
      byName.set(decision.eniConfig, [...(byName.get(decision.eniConfig) ?? []), pod.key]);
  }
  const podPools = [...byName].flatMap(
    ([name, keys]) => poolOf(picture, network, { name, pods: keys }) ?? [],
  );
  return { pods: ownPods, podPools, choosing };
}

function poolOf(
  picture: Picture,
  { spec }: PictureNetwork,
  { name, pods }: { readonly name: string; readonly pods: readonly PodKey[] },
): PodPool | undefined {
  const view = picture.index.views.get(name);
  if (view?.kind !== 'Valid') return undefined;
  const { subnetId, securityGroupIds } = view.eniConfig;
  const groups = securityGroupIds.length > 0 ? securityGroupIds : spec.instance.primarySecurityGroupIds;
  const reason = `pods chose ENIConfig "${name}"`;
  const source = 'Annotation' as const;
  return {
    selection: { kind: 'EniConfig', name, subnetId, securityGroupIds: groups, source, reason },
    pods,
  };
}
