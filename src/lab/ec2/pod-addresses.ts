// The addresses of an ENI that pods may have.

import { cidrContains } from '../../domain/address/cidr.ts';
import type { Ip } from '../../domain/address/ip.ts';
import { prefixAddresses } from '../../domain/address/prefix.ts';
import type { Ec2Eni } from '../../ports/ec2.ts';

/** IPv4 addresses: all but the primary, those of prefixes one by one. */
export const podAddresses = ({
  addresses,
  prefixes,
}: Pick<Ec2Eni, 'addresses' | 'prefixes'>): readonly Ip[] =>
  prefixes.length === 0 ? addresses : [...addresses, ...prefixes.flatMap(prefixAddresses)];

/** Whether the ENI holds the address, of either family, for pods: as a secondary one or within a prefix. */
export const holdsForPods = (
  { addresses, prefixes, ipv6Prefixes }: Pick<Ec2Eni, 'addresses' | 'prefixes' | 'ipv6Prefixes'>,
  address: Ip,
): boolean =>
  addresses.includes(address) ||
  prefixes.some((prefix) => cidrContains(prefix, address)) ||
  ipv6Prefixes.some((prefix) => cidrContains(prefix, address));
