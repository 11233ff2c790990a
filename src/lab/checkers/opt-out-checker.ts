// SEL-15: for a node that is to be left alone nothing is written, neither to EC2 nor to its NodeNetwork.

import type { NodeName } from '../../domain/ids.ts';
import { INSTANCE_TAG } from '../../domain/ipam/tags.ts';
import type { NodeRecord } from '../../ports/cluster.ts';
import type { AnyStoreChange } from '../cluster/object-store.ts';
import type { Ec2Change } from '../ec2/region.ts';
import type { Checker, WorldTruth } from './checker.ts';

export interface OptOutChecker extends Checker {
  onClusterChange(change: AnyStoreChange): void;
}

/** What a person writes on such a node. */
export const OPT_OUT_LABEL = 'eniwhere.io/managed';
export const isOptedOut = (node: NodeRecord | undefined): boolean => node?.labels[OPT_OUT_LABEL] === 'false';

/** Judges once everybody must have seen the label. */
export function createOptOutChecker(world: WorldTruth): OptOutChecker {
  const since = new Map<NodeName, number>();
  const isJudged = (node: NodeName): boolean => world.now() - (since.get(node) ?? Infinity) > world.lagMs;
  const judge = (node: NodeName, what: string): void => {
    if (isJudged(node)) world.broken('SEL-15', `${node} is to be left alone, and ${what}`);
  };
  return {
    onClusterChange: (change) => {
      if (change.kind === 'Node') {
        const { name } = change.object;
        if (change.type === 'Deleted' || !isOptedOut(change.object)) since.delete(name);
        else if (!since.has(name)) since.set(name, world.now());
      }
      if (change.kind !== 'NodeNetwork' || change.type !== 'Applied') return;
      const { object, before } = change;
      if (object.generation !== before?.generation) judge(object.name, 'its NodeNetwork is written');
    },
    onEc2Change: (change) => {
      if (!world.isController(change.actor)) return;
      const instanceId = instanceIn(change);
      for (const node of since.keys())
        if (instanceId !== undefined && world.instanceOf(node) === instanceId)
          judge(node, `EC2 is written to for it: ${change.kind}`);
    },
  };
}

/** The instance that a change of an ENI is for. */
function instanceIn(change: Ec2Change): string | undefined {
  if (change.kind === 'AttachmentChanged') return change.attachment.instanceId;
  return 'eni' in change ? (change.eni.attachment?.instanceId ?? change.eni.tags[INSTANCE_TAG]) : undefined;
}
