// Whether a further pod would get an address on a node: what the scheduler cannot know by itself.

import { podKey } from '../ids.ts';
import type { NodeView, OwnCondition } from './node-view.ts';
import { plan } from './plan.ts';

/** No pod's: names of pods have no colon. */
const FURTHER_POD = podKey('eniwhere', ':further');

/**
 * Why one more pod that chooses no ENIConfig would wait, by the plan for it; undefined: it would get an address, or one
 * would be on its way. Pure.
 */
export function furtherPodObstacle(view: NodeView): OwnCondition | undefined {
  const next = plan({ ...view, pods: [...view.pods, FURTHER_POD] });
  return next?.stuck.find(({ pods }) => pods.includes(FURTHER_POD))?.blocked;
}
