// What one node of a group holds once its pool has come to rest, by the controller's own planner.

import type { PodKey } from '../ids.ts';
import { maxPods } from '../instance/max-pods.ts';
import { slotsPerEni } from '../instance/slots.ts';
import { plan } from '../ipam/plan.ts';
import { sameData } from '../same-data.ts';
import { assert } from '../result.ts';
import type { NodeHolding, PlannedGroup } from './model.ts';
import { answerOf, newNode, perform, podsOf, type SimulatedNode, viewOf } from './simulated-node.ts';

/** Two for each ENI or assignment, of which a node has a few dozen at most; more would mean that the plan never rests. */
const ROUNDS_MAX = 400;
const ADDRESSES_PER_PREFIX = 16;
const HOST_NETWORK_POD_COUNT = 2;

export interface NodeQuestion {
  readonly group: PlannedGroup;
  readonly podCount: number;
  /** Of the pods' subnet. */
  readonly freeAddressCount: number;
}

/** Pods beyond the node's max pods are not bound to it: the scheduler leaves them to others. */
export const podsOnNode = (group: PlannedGroup): number =>
  Math.min(group.podsPerNode, Math.max(0, maxPodsOf(group) - HOST_NETWORK_POD_COUNT));

export const maxPodsOf = ({ limits, mode }: PlannedGroup): number =>
  maxPods({ limits, customNetworking: true, prefix: mode === 'Prefix' }).maxPods;

/** Mode SecondaryIP by the controller's planner; mode Prefix, which it does not plan yet, by the same targets in blocks. */
export function settleNode(question: NodeQuestion): NodeHolding {
  return question.group.mode === 'Prefix' ? settleByPrefixes(question) : settleByPlan(question);
}

function settleByPlan({ group, podCount, freeAddressCount }: NodeQuestion): NodeHolding {
  const pods = podsOf(podCount);
  let node = newNode(freeAddressCount);
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
  const served = new Set<PodKey>((node.published?.status.used ?? []).map(({ pod }) => pod));
  return {
    eniCount: own.length,
    podAddressCount: own.reduce((sum, eni) => sum + eni.addresses.length, 0),
    podCount: served.size,
    ...blocked,
  };
}

/**
 * As many prefixes as pods and targets ask for, as many as the ENIs have slots for, and as many as the subnet has room
 * for. Counts free addresses, not free blocks: a fragmented subnet holds less.
 */
function settleByPrefixes({ group, podCount, freeAddressCount }: NodeQuestion): NodeHolding {
  const { limits, targets } = group;
  const warmIp = targets.warmIp ?? 0;
  const minimumIp = targets.minimumIp ?? 0;
  const blocks = (addresses: number): number => Math.ceil(addresses / ADDRESSES_PER_PREFIX);
  const wanted =
    warmIp > 0 || minimumIp > 0
      ? blocks(Math.max(podCount + warmIp, minimumIp))
      : blocks(podCount) + targets.warmPrefix;
  // Warm blocks beyond max pods serve nobody, as in the planner.
  const useful = Math.max(blocks(podCount), Math.min(wanted, blocks(maxPodsOf(group))));
  const slots = slotsPerEni(limits);
  const eniMax = Math.min(limits.eniMax, targets.maxEni ?? limits.eniMax) - 1;
  const fitting = Math.min(useful, Math.max(0, eniMax) * slots);
  let prefixCount = 0;
  for (let count = fitting; count > 0 && prefixCount === 0; count -= 1)
    if (Math.ceil(count / slots) + count * ADDRESSES_PER_PREFIX <= freeAddressCount) prefixCount = count;
  const served = Math.min(podCount, prefixCount * ADDRESSES_PER_PREFIX);
  return {
    eniCount: Math.ceil(prefixCount / slots),
    podAddressCount: prefixCount * ADDRESSES_PER_PREFIX,
    podCount: served,
    ...(served < podCount ? { blocked: 'the subnet or the instance has no room for another /28' } : {}),
  };
}
