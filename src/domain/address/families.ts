// The address families that pods get.

import type { IpFamily } from './ip.ts';

export const ADDRESS_FAMILIES = ['IPv4', 'IPv6'] as const;
export type AddressFamily = (typeof ADDRESS_FAMILIES)[number];

/**
 * The family whose addresses are granted to a node one by one. With both, that is IPv4: a pod's IPv6 address follows from
 * its IPv4 one (`ipv6AddressOf`).
 */
export const grantedFamily = (families: readonly AddressFamily[]): IpFamily =>
  families.includes('IPv4') ? 4 : 6;

export const isDualStack = (families: readonly AddressFamily[]): boolean =>
  families.includes('IPv4') && families.includes('IPv6');
