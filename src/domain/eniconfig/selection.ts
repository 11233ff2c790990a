// The result of choosing an ENIConfig for a node. The rules are in select-eni-config.ts.

import type { SecurityGroupId, SubnetId } from '../ids.ts';

/** The rule that decided, in order of precedence (architecture.md, Selection, rules 0-6). */
export type SelectionSource =
  | 'CustomNetworkingOff'
  | 'ExternalLabel'
  | 'Annotation'
  | 'Label'
  | 'Class'
  | 'Zone'
  | 'Default'
  | 'ClassFallback'
  | 'Nothing'
  | 'Unreadable';

export type SelectionProblemCode =
  | 'EniConfigNotFound'
  | 'EniConfigInvalid'
  | 'EniConfigUnresolved'
  | 'EniConfigInOtherZone'
  | 'EniConfigInOtherVpc'
  | 'EmptyName'
  | 'NoEniConfig'
  | 'ClassInvalid'
  /** Of a malformed class nobody can tell which nodes it was meant for, so what was decided stays. */
  | 'ClassUnreadable'
  | 'ClassNotSupported'
  | 'NoEniConfigInZone'
  /** Pods are to have IPv6, and the node's own subnet, which they get, has none. */
  | 'SubnetWithoutIpv6'
  | 'InstanceWithoutIpv6'
  | 'Unreadable';

/**
 * Where the node's new ENIs are made. `reason` is a sentence for people. `None` fails closed: no ENI is made,
 * and `message` (what is wrong, naming the object) and `fix` (what to do) go to a condition and an Event.
 */
export type Selection =
  | {
      readonly kind: 'EniConfig';
      readonly name: string;
      readonly subnetId: SubnetId;
      readonly securityGroupIds: readonly SecurityGroupId[];
      readonly source: SelectionSource;
      readonly reason: string;
    }
  | {
      readonly kind: 'NodeSubnet';
      readonly subnetId: SubnetId;
      readonly securityGroupIds: readonly SecurityGroupId[];
      readonly source: SelectionSource;
      readonly reason: string;
    }
  | {
      readonly kind: 'None';
      readonly source: SelectionSource;
      readonly problem: SelectionProblemCode;
      readonly reason: string;
      readonly message: string;
      readonly fix: string;
    };
