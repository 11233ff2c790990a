// Whether security groups let a connection pass: port and protocol arithmetic over their rules.
// https://docs.aws.amazon.com/vpc/latest/userguide/security-group-rules.html

import { cidrContainsCidr, cidrOverlaps } from '../address/cidr.ts';
import type { Cidr } from '../address/ip.ts';
import type { SecurityGroupId } from '../ids.ts';

export interface SecurityGroupRule {
  readonly direction: 'Ingress' | 'Egress';
  /** `other`: a protocol by number. */
  readonly protocol: 'all' | 'tcp' | 'udp' | 'icmp' | 'other';
  /** Of tcp and udp, both ends included; all ports when absent. */
  readonly ports?: { readonly from: number; readonly to: number };
  readonly peer:
    | { readonly kind: 'Cidr'; readonly cidr: Cidr }
    /** Every ENI that has this group. */
    | { readonly kind: 'Group'; readonly securityGroupId: SecurityGroupId }
    /** What is in it is not known here. */
    | { readonly kind: 'PrefixList'; readonly prefixListId: string };
}

/** Group -> its rules; a group that is not here could not be read. */
export type GroupRules = ReadonlyMap<SecurityGroupId, readonly SecurityGroupRule[]>;

/** One end of a connection: the groups of its ENI, and the block that its address lies in. */
export interface FlowEnd {
  readonly securityGroupIds: readonly SecurityGroupId[];
  readonly cidr: Cidr;
}

export interface Flow {
  readonly from: FlowEnd;
  readonly to: FlowEnd;
  readonly protocol: 'tcp' | 'udp';
  /** Absent: any port will do. */
  readonly port?: number;
}

/** `Unknown`: rules that are not known, or that hold for a part of a block only, decide. */
export type Passage = 'Passes' | 'Unknown' | 'EgressDenied' | 'IngressDenied';

/** Groups are stateful, so answers need no rule; what one rule of one group allows is allowed. Pure. */
export function passageOf(flow: Flow, rules: GroupRules): Passage {
  const out = allowed({ flow, own: flow.from, peer: flow.to, direction: 'Egress' }, rules);
  if (out === 'No') return 'EgressDenied';
  const into = allowed({ flow, own: flow.to, peer: flow.from, direction: 'Ingress' }, rules);
  if (into === 'No') return 'IngressDenied';
  return out === 'Yes' && into === 'Yes' ? 'Passes' : 'Unknown';
}

interface Side {
  readonly flow: Flow;
  readonly own: FlowEnd;
  readonly peer: FlowEnd;
  readonly direction: SecurityGroupRule['direction'];
}

type Answer = 'Yes' | 'Maybe' | 'No';

function allowed({ flow, own, peer, direction }: Side, rules: GroupRules): Answer {
  const answers = own.securityGroupIds.flatMap((id): readonly Answer[] => {
    const ofGroup = rules.get(id);
    if (ofGroup === undefined) return ['Maybe'];
    return ofGroup
      .filter((rule) => rule.direction === direction && isOfTraffic(rule, flow))
      .map((rule) => isOfPeer(rule, peer));
  });
  if (answers.includes('Yes')) return 'Yes';
  return answers.includes('Maybe') ? 'Maybe' : 'No';
}

function isOfTraffic({ protocol, ports }: SecurityGroupRule, flow: Flow): boolean {
  if (protocol === 'all') return true;
  if (protocol !== flow.protocol) return false;
  if (ports === undefined || flow.port === undefined) return true;
  return ports.from <= flow.port && flow.port <= ports.to;
}

function isOfPeer({ peer }: SecurityGroupRule, end: FlowEnd): Answer {
  switch (peer.kind) {
    case 'Group':
      return end.securityGroupIds.includes(peer.securityGroupId) ? 'Yes' : 'No';
    case 'PrefixList':
      return 'Maybe';
    case 'Cidr':
      if (cidrContainsCidr(peer.cidr, end.cidr)) return 'Yes';
      return cidrOverlaps(peer.cidr, end.cidr) ? 'Maybe' : 'No';
  }
}
