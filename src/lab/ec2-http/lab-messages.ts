// What a lab and a simulated EC2 in another process say to each other, beside the query protocol, as JSON.

import type { SubnetTruth } from '../ec2/ec2-truth.ts';
import type { Ec2Change, SimVpc } from '../ec2/region.ts';
import type { SimSecurityGroup } from '../ec2/security-group.ts';
import type { Ec2Eni, Ec2Instance } from '../../ports/ec2.ts';

/** POST: one call of the lab's hand. */
export const HAND_PATH = '/lab/hand';
/** GET: a line of JSON for the truth as it is, and one more after each change, until the client goes. */
export const TRUTH_PATH = '/lab/truth';

export interface HandRequest {
  readonly call: string;
  readonly request: readonly unknown[];
}

export interface HandAnswer {
  /** The first revision that holds what the call did. */
  readonly revision: number;
  /** Absent for calls that answer nothing. */
  readonly result?: unknown;
}

/** Everything that exists. */
export interface TruthData {
  readonly vpcs: readonly SimVpc[];
  readonly subnets: readonly SubnetTruth[];
  readonly securityGroups: readonly SimSecurityGroup[];
  readonly instances: readonly Ec2Instance[];
  readonly enis: readonly Ec2Eni[];
}

export interface TruthLine {
  /** Rises with every line. */
  readonly revision: number;
  readonly truth: TruthData;
  /** What has happened since the line before. */
  readonly changes: readonly Ec2Change[];
}
