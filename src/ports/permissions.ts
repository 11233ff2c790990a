// Whether the credentials in use may do what the controller needs, asked of EC2 itself without doing it.

import type { InstanceId, SecurityGroupId, SubnetId } from '../domain/ids.ts';
import type { Ec2Eni } from './ec2.ts';

export interface PermissionFinding {
  /** EC2's name of the action; CreateNetworkInterface stands for CreateTags, too, which the same request needs. */
  readonly action: string;
  /** `Unknown`: EC2 said neither yes nor no, or there is nothing to try it on. */
  readonly verdict: 'Allowed' | 'Denied' | 'Unknown';
  /** EC2's words, or what is missing for an answer. */
  readonly message: string;
}

/** What the actions are tried on. Policies name tags and resources, so a try on something else says nothing. */
export interface PermissionTarget {
  readonly clusterName: string;
  readonly subnetId?: SubnetId;
  readonly securityGroupIds?: readonly SecurityGroupId[];
  readonly instanceId?: InstanceId;
  /** An ENI with this cluster's tag; attached, or detaching cannot be tried. */
  readonly ownEni?: Ec2Eni;
}

export interface PermissionChecker {
  /** One finding per action, by dry runs: nothing is changed. */
  checkPermissions(target: PermissionTarget): Promise<readonly PermissionFinding[]>;
}
