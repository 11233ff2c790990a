// An ENI of ours that somebody has taken off its instance, and what pods still have of it.

import { cidrContains } from '../address/cidr.ts';
import type { Ip } from '../address/ip.ts';
import { isListedIpv6Address } from '../address/ipv6-prefix.ts';
import { emptyStatus } from './node-network.ts';
import type { EniView, NodeView } from './node-view.ts';

type Content = Pick<EniView, 'addresses' | 'prefixes' | 'ipv6Prefixes'>;

/** Of a pod with both families its IPv4 address says where it is: the other one only follows from it. */
const holds = ({ addresses, prefixes, ipv6Prefixes }: Content, ip: Ip): boolean =>
  addresses.includes(ip) ||
  prefixes.some((prefix) => cidrContains(prefix, ip)) ||
  ipv6Prefixes.some((prefix) => isListedIpv6Address(prefix, ip));

/** With how many addresses of the ENI pods live, as their agent has told, those among them that EC2 may have taken off it. */
export const livingCount = ({ published }: NodeView, eni: Content): number =>
  (published?.status ?? emptyStatus).used.filter(({ ip }) => holds(eni, ip)).length;

/** Whether an address of the ENI rests. */
export const hasResting = ({ published }: NodeView, eni: Content): boolean =>
  (published?.status ?? emptyStatus).cooling.some((ip) => holds(eni, ip));

/** Whether pods live with an ENI that is on no instance. */
export const isPulledOff = (view: NodeView): boolean =>
  view.enis.some((eni) => eni.owned && eni.attachment === undefined && livingCount(view, eni) > 0);
