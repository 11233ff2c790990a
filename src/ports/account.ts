// What of an AWS account only the tools look at: routes and instance metadata. The controller needs none of it.

import type { DefaultRoute } from '../domain/doctor/account-picture.ts';
import type { InstanceId, SubnetId, VpcId } from '../domain/ids.ts';
import type { Ec2Outcome } from './ec2.ts';

export interface VpcRoutes {
  readonly vpcId: VpcId;
  /** Of the main route table, for subnets without one of their own. */
  readonly main: DefaultRoute;
  readonly bySubnet: ReadonlyMap<SubnetId, DefaultRoute>;
}

export interface AccountReader {
  describeDefaultRoutes(vpcIds: readonly VpcId[]): Promise<Ec2Outcome<readonly VpcRoutes[]>>;
  /** HttpPutResponseHopLimit by instance; those without metadata are left out. */
  describeHopLimits(ids: readonly InstanceId[]): Promise<Ec2Outcome<ReadonlyMap<InstanceId, number>>>;
}
