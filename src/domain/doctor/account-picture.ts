// What only an account can tell, beside the picture of the cluster: networks of the VPC, routes, instance metadata.

import type { Cidr, Ip } from '../address/ip.ts';
import type { InstanceId, SubnetId, VpcId } from '../ids.ts';

export interface UsedAddresses {
  readonly addresses: readonly Ip[];
  readonly prefixes: readonly Cidr[];
}

export type DefaultRoute = 'nat-gateway' | 'internet-gateway' | 'other' | 'none';

/** A map that is absent could not be read. */
export interface AccountPicture {
  readonly vpcCidrs?: ReadonlyMap<VpcId, readonly Cidr[]>;
  /** subnet -> what all its ENIs hold, those of others included */
  readonly used?: ReadonlyMap<SubnetId, UsedAddresses>;
  readonly defaultRoutes?: ReadonlyMap<SubnetId, DefaultRoute>;
  /** HttpPutResponseHopLimit */
  readonly hopLimits?: ReadonlyMap<InstanceId, number>;
  /** What could not be read, each with its cause. */
  readonly unread: readonly string[];
}
