// What the controller remembers of a node between two reconciles. All of it can be lost: it only makes things calmer.

import type { IntentId, PodKey } from '../domain/ids.ts';
import type { Obstacle } from '../domain/ipam/node-view.ts';

export interface NodeMemory {
  excessSince?: number;
  /** Since when a further pod would get no address. */
  noAddressSince?: number;
  /** Since when there are ENIs that the object does not tell of. */
  lateSince?: number;
  obstacles: Obstacle[];
  /** Intents whose first try failed definitely. */
  readonly failedIntents: Set<IntentId>;
  /**
   * Intents that this process noted itself and has not sent to EC2 yet. Of any other intent an earlier try may be
   * under way, so a failure says nothing about it.
   */
  readonly unsentIntents: Set<IntentId>;
  /**
   * Intent -> when this process noted or first saw it, or first sent it where that was long after; milliseconds since the
   * epoch by its own clock: that of the process which noted it may be off by hours.
   */
  readonly intentSince: Map<IntentId, number>;
  /** The token of the next create has been taken already. */
  hasCreateToken: boolean;
  /** Failed EC2 calls in a row. */
  failureCount: number;
  /** No EC2 call for this node before. */
  backOffUntil: number;
  /** Text of the last Event about the node's condition. */
  nodeEvent?: string;
  /** waiting pod -> text of the last Event about it */
  readonly podEvents: Map<PodKey, string>;
}

/** Nothing remembered. */
export function createNodeMemory(): NodeMemory {
  return {
    obstacles: [],
    failedIntents: new Set(),
    unsentIntents: new Set(),
    intentSince: new Map(),
    podEvents: new Map(),
    hasCreateToken: false,
    failureCount: 0,
    backOffUntil: 0,
  };
}
