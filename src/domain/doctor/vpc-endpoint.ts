// What of a VPC's endpoints the checks look at.

import type { Ip } from '../address/ip.ts';
import type { SecurityGroupId, VpcId } from '../ids.ts';

export interface VpcEndpoint {
  readonly endpointId: string;
  readonly vpcId: VpcId;
  /** As in its service's name behind the Region: `ec2`, `ecr.api`, `s3`. The whole name of services that are not AWS's. */
  readonly service: string;
  readonly kind: 'Interface' | 'Gateway' | 'Other';
  readonly isAvailable: boolean;
  /** The service's own name leads to the endpoint. */
  readonly hasPrivateDns: boolean;
  /** Of its ENIs; interface endpoints only. */
  readonly securityGroupIds: readonly SecurityGroupId[];
  /** Of its ENIs, as far as they are known. */
  readonly addresses: readonly Ip[];
}
