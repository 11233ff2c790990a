// Whether the credentials in use may do what the controller needs, asked of EC2 itself without doing it.

import type { PermissionFinding } from '../domain/doctor/permission-finding.ts';
import type { InstanceId, SecurityGroupId, SubnetId } from '../domain/ids.ts';
import type { Ec2Eni } from './ec2.ts';

/** What the actions are tried on. Policies name tags and resources, so a try on something else says nothing. */
export interface PermissionTarget {
  /** Absent: no change can be tried, since policies ask for the cluster's tag. */
  readonly clusterName?: string;
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
