// The addresses of an ENI that pods may have.

import { cidrContains } from '../../domain/address/cidr.ts';
import { type AddressFamily, grantedFamily } from '../../domain/address/families.ts';
import type { Ip } from '../../domain/address/ip.ts';
import { listedIpv6Addresses } from '../../domain/address/ipv6-prefix.ts';
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

/** What of the ENI is granted one by one to pods of the families: IPv4 addresses, or without IPv4 those of its /80s. */
export const grantableAddresses = (
  eni: Pick<Ec2Eni, 'addresses' | 'prefixes' | 'ipv6Prefixes'>,
  families: readonly AddressFamily[],
): readonly Ip[] =>
  grantedFamily(families) === 4 ? podAddresses(eni) : eni.ipv6Prefixes.flatMap(listedIpv6Addresses);
