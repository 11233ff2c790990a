// What the planner asks of EC2: one effect as data, each with the reason in words.

import type { Cidr, Ip } from '../address/ip.ts';
import type { AttachmentId, EniId, SecurityGroupId, SubnetId } from '../ids.ts';
import type { Intent } from './node-network.ts';

export type Action =
  /** The intent stands in the published spec already; its id is the client token. */
  | { readonly do: 'CreateEni'; readonly intent: Intent; readonly because: string }
  | {
      readonly do: 'AttachEni';
      readonly eniId: EniId;
      readonly deviceIndex: number;
      readonly networkCardIndex: number;
      readonly because: string;
    }
  | {
      readonly do: 'SetDeleteOnTermination';
      readonly eniId: EniId;
      readonly attachmentId: AttachmentId;
      readonly because: string;
    }
  | {
      readonly do: 'SetSecurityGroups';
      readonly eniId: EniId;
      readonly securityGroupIds: readonly SecurityGroupId[];
      readonly because: string;
    }
  | {
      readonly do: 'AssignAddresses';
      readonly eniId: EniId;
      readonly subnetId: SubnetId;
      readonly count: number;
      readonly because: string;
    }
  | {
      readonly do: 'AssignPrefixes';
      readonly eniId: EniId;
      readonly subnetId: SubnetId;
      readonly family: 4;
      readonly count: number;
      readonly because: string;
    }
  /** The one /80 that an ENI for pods with IPv6 has. */
  | {
      readonly do: 'AssignIpv6Prefix';
      readonly eniId: EniId;
      readonly subnetId: SubnetId;
      readonly because: string;
    }
  | {
      readonly do: 'UnassignAddresses';
      readonly eniId: EniId;
      readonly addresses: readonly Ip[];
      readonly because: string;
    }
  | {
      readonly do: 'UnassignPrefixes';
      readonly eniId: EniId;
      /** All of one family. */
      readonly prefixes: readonly Cidr[];
      readonly because: string;
    }
  | {
      readonly do: 'DetachEni';
      readonly eniId: EniId;
      readonly attachmentId: AttachmentId;
      readonly because: string;
    }
  | { readonly do: 'DeleteEni'; readonly eniId: EniId; readonly because: string };
