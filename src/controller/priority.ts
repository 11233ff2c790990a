// How urgent an EC2 call is, when tokens are short.

import type { Action } from '../domain/ipam/action.ts';
import type { NodeView } from '../domain/ipam/node-view.ts';
import type { Plan } from '../domain/ipam/plan.ts';
import type { Priority } from './budget-line.ts';

/** Pure. The order is ec2.md's: waiting pods, nodes with nothing yet, warm pools, giving back. */
export function priorityOf(verb: Action['do'], view: NodeView, plan: Plan): Priority {
  switch (verb) {
    case 'CreateEni':
    case 'AttachEni':
    case 'AssignAddresses':
    case 'AssignPrefixes':
    case 'AssignIpv6Prefix': {
      if (plan.waiting.pods.length > 0 || plan.isRestoring) return 'WaitingPods';
      const hasEni = view.enis.some((eni) => eni.owned && !eni.primary && eni.attachment !== undefined);
      return hasEni ? 'WarmPool' : 'NewNode';
    }
    // Put off for long, an ENI without it outlives its instance; and groups are somebody's protection.
    case 'SetDeleteOnTermination':
    case 'SetSecurityGroups':
      return 'NewNode';
    case 'UnassignAddresses':
    case 'UnassignPrefixes':
    case 'DetachEni':
    case 'DeleteEni':
      return plan.isMakingRoom ? 'WaitingPods' : 'Release';
  }
}
