// What of an AWS account only the tools look at: routes, endpoints, rules of security groups, instance metadata. The
// controller needs none of it.

import type { SubnetReservations } from '../domain/address/subnet-reservations.ts';
import type { DefaultRoute } from '../domain/doctor/account-picture.ts';
import type { GroupRules } from '../domain/doctor/security-group-rule.ts';
import type { VpcEndpoint } from '../domain/doctor/vpc-endpoint.ts';
import type { EniId, InstanceId, SecurityGroupId, SubnetId, VpcId } from '../domain/ids.ts';
import type { Ec2Outcome } from './ec2.ts';

/** Where a route table leads. */
export interface RouteFacts {
  readonly defaultRoute: DefaultRoute;
  readonly gatewayEndpointIds: readonly string[];
}

export interface VpcRoutes {
  readonly vpcId: VpcId;
  /** Of the main route table, for subnets without one of their own. */
  readonly main: RouteFacts;
  readonly bySubnet: ReadonlyMap<SubnetId, RouteFacts>;
}

/** An endpoint as EC2 describes it: its ENIs by id. */
export interface VpcEndpointFacts extends Omit<VpcEndpoint, 'addresses'> {
  readonly eniIds: readonly EniId[];
}

export interface AccountReader {
  describeRoutes(vpcIds: readonly VpcId[]): Promise<Ec2Outcome<readonly VpcRoutes[]>>;
  /** HttpPutResponseHopLimit by instance; those without metadata are left out. */
  describeHopLimits(ids: readonly InstanceId[]): Promise<Ec2Outcome<ReadonlyMap<InstanceId, number>>>;
  describeSubnetTags(
    ids: readonly SubnetId[],
  ): Promise<Ec2Outcome<ReadonlyMap<SubnetId, Readonly<Record<string, string>>>>>;
  /** Every subnet that is asked for is in the answer, one without reservations too. One request each. */
  describeReservations(
    ids: readonly SubnetId[],
  ): Promise<Ec2Outcome<ReadonlyMap<SubnetId, SubnetReservations>>>;
  /** Every group that is asked for is in the answer, one without rules too. */
  describeGroupRules(ids: readonly SecurityGroupId[]): Promise<Ec2Outcome<GroupRules>>;
  describeEndpoints(vpcIds: readonly VpcId[]): Promise<Ec2Outcome<readonly VpcEndpointFacts[]>>;
}
