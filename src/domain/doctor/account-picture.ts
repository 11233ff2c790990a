// What only an account can tell, beside the picture of the cluster: networks of the VPC, routes, instance metadata.

import type { Cidr, Ip } from '../address/ip.ts';
import type { InstanceId, SubnetId, VpcId } from '../ids.ts';
import type { PermissionFinding } from './permission-finding.ts';

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
  /** Absent when nothing was tried. */
  readonly permissions?: {
    /** Whose credentials they are: then what is denied keeps the cluster from working. */
    readonly of: 'Controller' | 'Caller';
    readonly tried: readonly PermissionFinding[];
  };
  /** What could not be read, each with its cause. */
  readonly unread: readonly string[];
}
