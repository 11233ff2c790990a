// EC2 behind the fence: no call is sent by a controller that may not lead any more.

import { familyOf } from '../domain/address/ip.ts';
import type { Ec2, Ec2Outcome, Ec2Writer } from '../ports/ec2.ts';
import type { Term } from '../ports/leadership.ts';
import { failed } from '../ports/outcome.ts';

/**
 * The same EC2, whose writes are refused unsent once the term is over: a failure of its own, never an unknown outcome.
 * The term hears of outcomes that are unknown.
 */
export function fencedEc2(ec2: Ec2, term: Term): Ec2 {
  const heard = <Answer>(outcome: Ec2Outcome<Answer>): Ec2Outcome<Answer> => {
    if (outcome.kind === 'unknown') term.leftOpen();
    return outcome;
  };
  const fenced =
    <Request, Answer>(action: string, call: (request: Request) => Promise<Ec2Outcome<Answer>>) =>
    (request: Request): Promise<Ec2Outcome<Answer>> =>
      term.isHeld() ? call(request).then(heard) : Promise.resolve(notLeading(action));
  // Each write by name: one that the port gains is an error of the compiler here.
  const writer: Ec2Writer = {
    createNetworkInterface: fenced('CreateNetworkInterface', ec2.createNetworkInterface),
    attachNetworkInterface: fenced('AttachNetworkInterface', ec2.attachNetworkInterface),
    setDeleteOnTermination: fenced('ModifyNetworkInterfaceAttribute', ec2.setDeleteOnTermination),
    setSecurityGroups: fenced('ModifyNetworkInterfaceAttribute', ec2.setSecurityGroups),
    assignPrivateIpAddresses: fenced('AssignPrivateIpAddresses', ec2.assignPrivateIpAddresses),
    unassignPrivateIpAddresses: fenced('UnassignPrivateIpAddresses', ec2.unassignPrivateIpAddresses),
    assignPrefixes: (request) =>
      fenced(
        request.family === 6 ? 'AssignIpv6Addresses' : 'AssignPrivateIpAddresses',
        ec2.assignPrefixes,
      )(request),
    unassignPrefixes: (request) =>
      fenced(
        request.prefixes.some((prefix) => familyOf(prefix) === 6)
          ? 'UnassignIpv6Addresses'
          : 'UnassignPrivateIpAddresses',
        ec2.unassignPrefixes,
      )(request),
    detachNetworkInterface: fenced('DetachNetworkInterface', ec2.detachNetworkInterface),
    deleteNetworkInterface: fenced('DeleteNetworkInterface', ec2.deleteNetworkInterface),
  };
  return { ...ec2, ...writer };
}

const notLeading = (action: string): Ec2Outcome<never> =>
  failed({
    kind: 'server-error',
    code: 'NotLeader',
    message: `${action} was not sent: this controller's lease is over, and another may lead`,
  });
