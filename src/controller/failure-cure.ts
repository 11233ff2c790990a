// What each kind of EC2 failure calls for.

import type { SubnetId } from '../domain/ids.ts';
import type { Action } from '../domain/ipam/action.ts';
import type { NodeView, Obstacle } from '../domain/ipam/node-view.ts';
import { sameData } from '../domain/same-data.ts';
import type { Ec2Failure } from '../ports/ec2.ts';
import { failureText } from './failure-text.ts';

export interface Cure {
  /** Stops growth for a while, and is told to people. */
  readonly obstacle?: Obstacle;
  /** Our view may be wrong: read the instance again. */
  readonly reread: boolean;
  /** EC2's subnet count was wrong: read it again, and keep reading while somebody waits. */
  readonly pollSubnet: boolean;
  /** The subnet has not this many free blocks. */
  readonly missingBlockCount?: number;
}

/** What only a person can mend is tried again this often. */
const PERSON_MS = 60_000;

const PERMISSION: Readonly<Record<Action['do'], string>> = {
  CreateEni: 'ec2:CreateNetworkInterface and ec2:CreateTags',
  AttachEni: 'ec2:AttachNetworkInterface',
  SetDeleteOnTermination: 'ec2:ModifyNetworkInterfaceAttribute',
  SetSecurityGroups: 'ec2:ModifyNetworkInterfaceAttribute',
  AssignAddresses: 'ec2:AssignPrivateIpAddresses',
  AssignPrefixes: 'ec2:AssignPrivateIpAddresses',
  AssignIpv6Prefix: 'ec2:AssignIpv6Addresses',
  UnassignAddresses: 'ec2:UnassignPrivateIpAddresses',
  UnassignPrefixes: 'ec2:UnassignPrivateIpAddresses',
  DetachEni: 'ec2:DetachNetworkInterface',
  DeleteEni: 'ec2:DeleteNetworkInterface',
};

const again = { reread: false, pollSubnet: false } as const;

/** Pure: the cure for `failure` of `action` in the node's present view. */
export function cureFor(failure: Ec2Failure, action: Action, view: NodeView): Cure {
  const said = failureText(failure);
  switch (failure.kind) {
    case 'throttled':
    case 'server-error':
      return again;
    case 'subnet-full':
      // The view's count was wrong, and is set right: the planner then says what is full, and waits for a describe.
      return { ...again, pollSubnet: true };
    case 'no-free-block':
      // A /64 has 65,536 of them: whoever has none is a person's matter.
      if (action.do === 'AssignIpv6Prefix') return refused(failure, action, view);
      // Addresses may be free by the thousand, so the count stands; it is read again all the same.
      return { ...again, pollSubnet: true, missingBlockCount: blockCountOf(action) };
    case 'eni-full':
    case 'instance-full':
    case 'device-index-taken':
    case 'in-use':
    case 'not-found':
      return { ...again, reread: true };
    case 'unauthorized':
      return {
        ...again,
        obstacle: {
          code: 'Unauthorized',
          of: obstacleOf(action),
          message: `the controller may not ${callName(action)} for instance ${view.instance.instanceId}: ${said}`,
          fix: `allow ${PERMISSION[action.do]} in the policy of the controller's IAM role`,
          until: view.now + PERSON_MS,
        },
      };
    case 'invalid':
      return refused(failure, action, view);
  }
}

const refused = (failure: Ec2Failure, action: Action, view: NodeView): Cure => ({
  reread: true,
  pollSubnet: false,
  obstacle: {
    code: 'Ec2Refused',
    of: obstacleOf(action),
    message: `EC2 refused to ${callName(action)} for instance ${view.instance.instanceId}: ${failureText(failure)}`,
    fix: refusedFix(action, view),
    until: view.now + PERSON_MS,
    ...choiceOf(action),
  },
});

/** What a refusal of the action is about, where it may be about the subnet or the groups that somebody chose. */
function choiceOf(action: Action): Pick<Obstacle, 'choice'> {
  switch (action.do) {
    case 'CreateEni': {
      const { subnetId, securityGroupIds } = action.intent;
      return { choice: { subnetId, securityGroupIds } };
    }
    case 'SetSecurityGroups':
      return { choice: { securityGroupIds: action.securityGroupIds } };
    default:
      return {};
  }
}

/** What a refusal of the action stands in the way of. */
function obstacleOf(action: Action): Obstacle['of'] {
  switch (action.do) {
    case 'CreateEni':
    case 'AttachEni':
    case 'AssignAddresses':
    case 'AssignPrefixes':
    case 'AssignIpv6Prefix':
      return 'Growth';
    case 'SetDeleteOnTermination':
    case 'SetSecurityGroups':
      return 'Attribute';
    case 'UnassignAddresses':
    case 'UnassignPrefixes':
    case 'DetachEni':
    case 'DeleteEni':
      return 'Release';
  }
}

/** Whether `action`, which was done, shows that the obstacle is none any more: not of another choice. */
export const isOvercome = ({ of, choice }: Obstacle, action: Action): boolean =>
  of === obstacleOf(action) && (choice === undefined || sameData(choice, choiceOf(action).choice));

const blockCountOf = (action: Action): number => {
  if (action.do === 'CreateEni') return action.intent.prefixCount;
  return action.do === 'AssignPrefixes' ? action.count : 0;
};

/** The subnet that an action draws addresses from. */
export function subnetOf(action: Action, view: NodeView): SubnetId | undefined {
  if (action.do === 'CreateEni') return action.intent.subnetId;
  if (action.do === 'AssignAddresses' || action.do === 'AssignPrefixes') return action.subnetId;
  return view.selection.kind === 'None' ? undefined : view.selection.subnetId;
}

function refusedFix(action: Action, { selection }: NodeView): string {
  const own = selection.kind === 'EniConfig' ? selection.name : '';
  const name = action.do === 'CreateEni' ? action.intent.eniConfig : own;
  return name === ''
    ? "check the instance's subnet and security groups"
    : `check spec.subnet and spec.securityGroups of ENIConfig "${name}"`;
}

const callName = (action: Action): string => {
  const words: Readonly<Record<Action['do'], string>> = {
    CreateEni: 'create a network interface',
    AttachEni: 'attach a network interface',
    SetDeleteOnTermination: 'set delete-on-termination',
    SetSecurityGroups: 'change the security groups of a network interface',
    AssignAddresses: 'assign addresses',
    AssignPrefixes: 'assign prefixes',
    AssignIpv6Prefix: 'assign an IPv6 prefix',
    UnassignAddresses: 'unassign addresses',
    UnassignPrefixes: 'unassign prefixes',
    DetachEni: 'detach a network interface',
    DeleteEni: 'delete a network interface',
  };
  return words[action.do];
};
