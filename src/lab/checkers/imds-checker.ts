// NET-1: a pod that was never allowed to reach instance metadata starts with an address that the kernel keeps from it.

import { ALLOW_IMDS_ANNOTATION } from '../../domain/datapath/imds-permission.ts';
import type { NodeName } from '../../domain/ids.ts';
import { addressesOf, type Checker, type LiveSandbox, type WorldTruth } from './checker.ts';

/** `openOn` answers the addresses that a node's kernel lets through. */
export function createImdsChecker(world: WorldTruth, openOn: (node: NodeName) => readonly string[]): Checker {
  /** Undefined: the pod's object is gone, and nobody can say any more. */
  const isAllowed = ({ pod, podUid }: LiveSandbox): boolean | undefined => {
    const object = world.cluster.get('Pod', pod);
    return object?.uid === podUid ? object.annotations[ALLOW_IMDS_ANNOTATION] === 'true' : undefined;
  };
  const check = (sandbox: LiveSandbox): void => {
    if (isAllowed(sandbox) !== false) return;
    const { node, pod } = sandbox;
    const open = openOn(node);
    for (const ip of addressesOf(sandbox))
      if (open.includes(ip))
        world.broken(
          'NET-1',
          `${pod} on ${node} reaches instance metadata with ${ip}, and was never allowed to`,
        );
  };
  return {
    onAdded: check,
    atRest: () => {
      for (const sandbox of world.live.values()) {
        check(sandbox);
        const { node, pod } = sandbox;
        // The agent of a node that is to be left alone has ended.
        if (world.isLeftAlone(node) || isAllowed(sandbox) !== true) continue;
        const open = openOn(node);
        for (const ip of addressesOf(sandbox))
          if (!open.includes(ip))
            world.broken(
              'NET-1',
              `${pod} on ${node} was allowed to reach instance metadata, and ${ip} may not`,
            );
      }
    },
  };
}
