// NET-1: a pod that was never allowed to reach instance metadata starts with an address that the kernel keeps from it.

import { ALLOW_IMDS_ANNOTATION } from '../../domain/datapath/imds-permission.ts';
import type { NodeName } from '../../domain/ids.ts';
import type { Checker, LiveSandbox, WorldTruth } from './checker.ts';

/** `openOn` answers the addresses that a node's kernel lets through. */
export function createImdsChecker(world: WorldTruth, openOn: (node: NodeName) => readonly string[]): Checker {
  /** Undefined: the pod's object is gone, and nobody can say any more. */
  const isAllowed = ({ pod, podUid }: LiveSandbox): boolean | undefined => {
    const object = world.cluster.get('Pod', pod);
    return object?.uid === podUid ? object.annotations[ALLOW_IMDS_ANNOTATION] === 'true' : undefined;
  };
  const check = (sandbox: LiveSandbox): void => {
    const { node, pod, address } = sandbox;
    if (isAllowed(sandbox) !== false || !openOn(node).includes(address)) return;
    world.broken(
      'NET-1',
      `${pod} on ${node} reaches instance metadata with ${address}, and was never allowed to`,
    );
  };
  return {
    onAdded: check,
    atRest: () => {
      for (const sandbox of world.live.values()) {
        check(sandbox);
        const { node, pod, address } = sandbox;
        // The agent of a node that is to be left alone has ended.
        if (world.isLeftAlone(node) || isAllowed(sandbox) !== true || openOn(node).includes(address))
          continue;
        world.broken(
          'NET-1',
          `${pod} on ${node} was allowed to reach instance metadata, and ${address} may not`,
        );
      }
    },
  };
}
