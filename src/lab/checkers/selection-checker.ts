// SEL-1: an ENI is only made in a subnet that the node's selection really named, and none while a person's choice is wrong.

import type { NodeName, SubnetId } from '../../domain/ids.ts';
import { INSTANCE_TAG } from '../../domain/ipam/tags.ts';
import type { Checker, WorldTruth } from './checker.ts';

/** What a node's labels, annotations and the ENIConfigs say by a model of its own, kept by the workload. */
export interface Choice {
  readonly node: NodeName;
  /** `undefined`: the choice is wrong, so no ENI may be made. */
  readonly subnetId: SubnetId | undefined;
}

/** How long a choice may still lead to an ENI after it was replaced: the watch's delay, a retried create and EC2's own time. */
const LAG_MS = 90_000;

export interface SelectionChecker extends Checker {
  /** The workload changed what the node should get. */
  onChoice(choice: Choice): void;
}

/** Follows what each node should get, and compares every ENI made for it. */
export function createSelectionChecker(world: WorldTruth): SelectionChecker {
  const history = new Map<NodeName, { subnetId: SubnetId | undefined; until: number }[]>();
  return {
    onChoice: ({ node, subnetId }) => {
      const past = history.get(node) ?? [];
      const last = past.at(-1);
      if (last !== undefined) last.until = world.now();
      past.push({ subnetId, until: Number.POSITIVE_INFINITY });
      history.set(node, past);
    },
    onEc2Change: (change) => {
      if (change.kind !== 'EniCreated' || !world.isController(change.actor)) return;
      const node = [...history.keys()].find(
        (name) => world.instanceOf(name) === change.eni.tags[INSTANCE_TAG],
      );
      if (node === undefined) return;
      const allowed = (history.get(node) ?? []).filter((one) => one.until + LAG_MS >= world.now());
      if (!allowed.some((one) => one.subnetId === change.eni.subnetId)) {
        const named = allowed.map((one) => one.subnetId ?? 'none').join(', ');
        world.broken(
          'SEL-1',
          `an ENI was made for ${node} in ${change.eni.subnetId}; its selection named ${named}`,
        );
      }
    },
  };
}
