// What EC2 refuses to tell the controller: only a person can mend it, so it is told where the person looks.

import type { Ec2Outcome } from '../ports/ec2.ts';
import { failureText } from './failure-text.ts';

const ACTION = {
  instances: 'DescribeInstances',
  'network interfaces': 'DescribeNetworkInterfaces',
  'network interfaces made for instances': 'DescribeNetworkInterfaces',
  'network interfaces of VPCs': 'DescribeNetworkInterfaces',
  'own network interfaces': 'DescribeNetworkInterfaces',
  subnets: 'DescribeSubnets',
  'tagged subnets': 'DescribeSubnets',
  'security groups': 'DescribeSecurityGroups',
  VPCs: 'DescribeVpcs',
  'instance types': 'DescribeInstanceTypes',
} as const;

/** What is asked for, as logs name it. */
export type ReadSubject = keyof typeof ACTION;

/** EC2 action -> how EC2 refused it last. */
export type ReadTroubles = Map<string, ReadTrouble>;

export interface ReadTrouble {
  readonly code: 'Unauthorized' | 'Ec2Refused';
  readonly message: string;
  readonly fix: string;
}

/** Takes in the outcome of a read: an answer ends a trouble, and what passes by itself neither makes nor ends one. */
export function noteRead(troubles: ReadTroubles, subject: ReadSubject, outcome: Ec2Outcome<unknown>): void {
  const action = ACTION[subject];
  if (outcome.kind === 'ok') troubles.delete(action);
  if (outcome.kind !== 'failed') return;
  const { kind } = outcome.failure;
  const said = `EC2 refuses ${action} to the controller: ${failureText(outcome.failure)}`;
  if (kind === 'unauthorized') {
    const fix = `allow ec2:${action} in the policy of the controller's IAM role (eniwhere iam-policy prints it)`;
    troubles.set(action, { code: 'Unauthorized', message: said, fix });
  } else if (kind === 'invalid') {
    const fix = "check the controller's Region, EC2 endpoint and credentials";
    troubles.set(action, { code: 'Ec2Refused', message: said, fix });
  }
}

/** The trouble to tell of, if there is one: the first by the action's name, so that it stays the same one. */
export function readTrouble(troubles: ReadTroubles): ReadTrouble | undefined {
  const [first] = [...troubles].sort(([a], [b]) => (a < b ? -1 : 1));
  return first?.[1];
}
