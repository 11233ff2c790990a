// SEL-1: an ENI is only made in a subnet that the node's selection may really have named, and none while a person's choice is wrong.

import type { NodeName, SubnetId } from '../../domain/ids.ts';
import { INSTANCE_TAG } from '../../domain/ipam/tags.ts';
import type { Checker, WorldTruth } from './checker.ts';

/** What nodes should get, by a model of the workload's own. */
export interface SelectionModel {
  nodes(): readonly NodeName[];
  /**
   * Subnets that somebody may take for the node's who sees each object as it was at some time of the last `lagMs`
   * milliseconds: watches of different kinds are late by different times. Empty: none, the choice is wrong.
   */
  possibleSubnets(node: NodeName, lagMs: number): ReadonlySet<SubnetId>;
}

/** How long a choice may still lead to an ENI after it was replaced: the watch's delay, a retried create and EC2's own time. */
const LAG_MS = 90_000;

/** Compares every ENI made for a node with what the node could be taken to want. */
export function createSelectionChecker(world: WorldTruth, model: SelectionModel): Checker {
  return {
    onEc2Change: (change) => {
      if (change.kind !== 'EniCreated' || !world.isController(change.actor)) return;
      const node = model.nodes().find((name) => world.instanceOf(name) === change.eni.tags[INSTANCE_TAG]);
      if (node === undefined) return;
      const possible = model.possibleSubnets(node, LAG_MS);
      if (possible.has(change.eni.subnetId)) return;
      const named = possible.size === 0 ? 'none' : [...possible].join(', ');
      world.broken(
        'SEL-1',
        `an ENI was made for ${node} in ${change.eni.subnetId}; its selection named ${named}`,
      );
    },
  };
}
