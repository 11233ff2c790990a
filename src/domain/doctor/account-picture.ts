// What only an account can tell, beside the picture of the cluster: networks of the VPC, routes, instance metadata.

import type { Cidr, Ip } from '../address/ip.ts';
import type { SubnetReservations } from '../address/subnet-reservations.ts';
import type { EniId, InstanceId, SecurityGroupId, SubnetId, VpcId } from '../ids.ts';
import type { PermissionFinding } from './permission-finding.ts';
import type { GroupRules } from './security-group-rule.ts';
import type { VpcEndpoint } from './vpc-endpoint.ts';

export interface UsedAddresses {
  readonly addresses: readonly Ip[];
  readonly prefixes: readonly Cidr[];
}

export type DefaultRoute = 'nat-gateway' | 'internet-gateway' | 'other' | 'none';

/** One of the ENIs by which the control plane of an EKS cluster is in the VPC. */
export interface ControlPlaneEni {
  readonly eniId: EniId;
  readonly subnetId: SubnetId;
  readonly address: Ip;
  readonly securityGroupIds: readonly SecurityGroupId[];
}

/** A map that is absent could not be read. */
export interface AccountPicture {
  readonly vpcCidrs?: ReadonlyMap<VpcId, readonly Cidr[]>;
  /** subnet -> what all its ENIs hold, those of others included */
  readonly used?: ReadonlyMap<SubnetId, UsedAddresses>;
  readonly reservations?: ReadonlyMap<SubnetId, SubnetReservations>;
  readonly defaultRoutes?: ReadonlyMap<SubnetId, DefaultRoute>;
  /** subnet -> gateway endpoints that its route table leads to */
  readonly gatewayEndpoints?: ReadonlyMap<SubnetId, readonly string[]>;
  readonly subnetTags?: ReadonlyMap<SubnetId, Readonly<Record<string, string>>>;
  readonly groupRules?: GroupRules;
  readonly endpoints?: readonly VpcEndpoint[];
  /** ENIs of EKS's control plane in the VPCs; empty when none is seen. */
  readonly controlPlane?: readonly ControlPlaneEni[];
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
