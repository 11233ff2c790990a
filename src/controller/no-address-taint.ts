// Keeps pods from nodes that have no address for them, by a taint, where the operator wants one.

import type { NodeName } from '../domain/ids.ts';
import { furtherPodObstacle } from '../domain/ipam/further-pod.ts';
import type { NodeView } from '../domain/ipam/node-view.ts';
import type { ClusterReader, ClusterWriter, NodeRecord } from '../ports/cluster.ts';
import type { Log } from '../ports/log.ts';
import type { ClusterView } from './cluster-view.ts';
import type { NodeMemory } from './node-memory.ts';
import { writeTaint } from './write-taint.ts';

interface Deps {
  readonly cluster: Pick<ClusterReader, 'get'> & Pick<ClusterWriter, 'addNodeTaint' | 'removeNodeTaint'>;
  readonly clusterView: ClusterView;
  readonly log: Log;
  readonly settings: { readonly noAddressTaint: string };
}

/** A want of addresses must last this long: a subnet that is short for a moment is no reason to write nodes. */
const HOLD_MS = 10_000;
/** Pods on the host's network, for which max pods has room and no address is needed. */
const HOST_NETWORK_POD_COUNT = 2;

/** Adds or removes the taint. Answers when to look again, ms; undefined: when something changes. */
export async function keepNoAddressTaint(
  deps: Deps,
  name: NodeName,
  view: NodeView,
  memory: NodeMemory,
): Promise<number | undefined> {
  const key = deps.settings.noAddressTaint;
  const node = deps.clusterView.nodes.get(name);
  if (key === '' || node === undefined) return undefined;
  const isTainted = node.taints.some((taint) => taint.key === key);
  const obstacle = isFullAnyway(node, view) ? undefined : furtherPodObstacle(view);
  if (obstacle === undefined) {
    delete memory.noAddressSince;
    if (!isTainted) return undefined;
    return writeTaint(deps, name, {
      write: () => deps.cluster.removeNodeTaint(node, key),
      said: 'a further pod would get an address: taint removed',
      fields: { taint: key },
    });
  }
  memory.noAddressSince ??= view.now;
  if (isTainted) return undefined;
  const waitMs = memory.noAddressSince + HOLD_MS - view.now;
  if (waitMs > 0) return waitMs;
  return writeTaint(deps, name, {
    write: () => deps.cluster.addNodeTaint(node, { key, effect: 'NoSchedule' }),
    said: 'a further pod would get no address: taint added',
    fields: { taint: key, because: obstacle.message },
  });
}

/** The scheduler puts nothing on a node that has as many pods as kubelet was told. */
const isFullAnyway = ({ podCapacity }: NodeRecord, view: NodeView): boolean =>
  view.pods.length + HOST_NETWORK_POD_COUNT >= (podCapacity ?? view.maxPods);
