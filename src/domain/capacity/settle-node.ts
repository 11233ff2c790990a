// What one node of a group holds once its pool has come to rest, by the controller's own planner.

import type { PodKey } from '../ids.ts';
import { maxPods } from '../instance/max-pods.ts';
import { ADDRESSES_PER_PREFIX } from '../instance/slots.ts';
import { plan } from '../ipam/plan.ts';
import { sameData } from '../same-data.ts';
import { assert } from '../result.ts';
import type { NodeHolding, PlannedGroup } from './model.ts';
import type { SubnetRoom } from './subnet-room.ts';
import { answerOf, newNode, perform, podsOf, type SimulatedNode, viewOf } from './simulated-node.ts';

/** Two for each ENI or assignment, of which a node has a few dozen at most; more would mean that the plan never rests. */
const ROUNDS_MAX = 400;
const HOST_NETWORK_POD_COUNT = 2;

export interface NodeQuestion {
  readonly group: PlannedGroup;
  readonly podCount: number;
  /** Of the pods' subnet. */
  readonly room: SubnetRoom;
}

/** Pods beyond the node's max pods are not bound to it: the scheduler leaves them to others. */
export const podsOnNode = (group: PlannedGroup): number =>
  Math.min(group.podsPerNode, Math.max(0, maxPodsOf(group) - HOST_NETWORK_POD_COUNT));

export const maxPodsOf = ({ limits, mode }: PlannedGroup): number =>
  maxPods({ limits, customNetworking: true, prefix: mode === 'Prefix' }).maxPods;

/** What the node holds once the controller's planner has nothing more to do. */
export function settleNode({ group, podCount, room }: NodeQuestion): NodeHolding {
  const pods = podsOf(podCount);
  let node = newNode(room);
  for (let round = 1; round <= ROUNDS_MAX; round += 1) {
    const planned = plan(viewOf(node, group, { round, maxPods: maxPodsOf(group), pods }));
    assert(planned !== undefined, 'a planned node knows its own subnet');
    const isPublished = node.published !== undefined && sameData(node.published.spec, planned.spec);
    const status = answerOf(planned.spec, pods, round);
    const isAnswered = node.published !== undefined && sameData(node.published.status.used, status.used);
    if (isPublished && planned.actions.length === 0 && isAnswered) {
      const blocked = planned.waiting.blocked?.message;
      return holdingOf(node, blocked === undefined ? {} : { blocked });
    }
    // As the controller does: publish first, act only on what is published.
    node = isPublished
      ? planned.actions.reduce(perform, node)
      : { ...node, published: { spec: planned.spec, status } };
    if (isPublished && planned.actions.length === 0)
      node = { ...node, published: { spec: planned.spec, status } };
  }
  assert(false, `LV-2: the plan for ${podCount} pods on ${group.limits.instanceType} comes to rest`);
}

function holdingOf(node: SimulatedNode, blocked: { readonly blocked?: string }): NodeHolding {
  const own = node.enis.filter((eni) => !eni.primary);
  const prefixCount = own.reduce((sum, eni) => sum + eni.prefixes.length, 0);
  const served = new Set<PodKey>((node.published?.status.used ?? []).map(({ pod }) => pod));
  return {
    eniCount: own.length,
    podAddressCount:
      own.reduce((sum, eni) => sum + eni.addresses.length, 0) + ADDRESSES_PER_PREFIX * prefixCount,
    prefixCount,
    podCount: served.size,
    ...blocked,
  };
}
