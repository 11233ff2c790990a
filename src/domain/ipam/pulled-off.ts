// An ENI of ours that somebody has taken off its instance, and what pods still have of it.

import { cidrContains } from '../address/cidr.ts';
import type { Ip } from '../address/ip.ts';
import { emptyStatus } from './node-network.ts';
import type { EniView, NodeView } from './node-view.ts';

type Content = Pick<EniView, 'addresses' | 'prefixes' | 'ipv6Prefixes'>;

const holds = ({ addresses, prefixes, ipv6Prefixes }: Content, ip: Ip): boolean =>
  addresses.includes(ip) || [...prefixes, ...ipv6Prefixes].some((prefix) => cidrContains(prefix, ip));

/** With how many addresses of the ENI pods live, as their agent has told, those among them that EC2 may have taken off it. */
export const livingCount = ({ published }: NodeView, eni: Content): number =>
  (published?.status ?? emptyStatus).used.filter(({ ip }) => holds(eni, ip)).length;

/** Whether an address of the ENI rests. */
export const hasResting = ({ published }: NodeView, eni: Content): boolean =>
  (published?.status ?? emptyStatus).cooling.some((ip) => holds(eni, ip));

/** Whether pods live with an ENI that is on no instance. */
export const isPulledOff = (view: NodeView): boolean =>
  view.enis.some((eni) => eni.owned && eni.attachment === undefined && livingCount(view, eni) > 0);
