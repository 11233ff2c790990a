// What EC2 does to the prefixes of network interfaces: /28 blocks of IPv4 and /80 blocks of IPv6.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-prefix-eni.html

import { type Cidr, familyOf, type IpFamily } from '../../domain/address/ip.ts';
import { prefixAddresses } from '../../domain/address/prefix.ts';
import type { EniId, SubnetId, VpcId } from '../../domain/ids.ts';
import type { InstanceLimits } from '../../domain/instance/instance-limits.ts';
import { ok, type Result } from '../../domain/result.ts';
import type {
  AssignPrefixesRequest,
  CreateEniRequest,
  Ec2Eni,
  Ec2Failure,
  UnassignPrefixesRequest,
} from '../../ports/ec2.ts';
import {
  addressesNotAssigned,
  badCombination,
  badValue,
  eniFull,
  eniNotFound,
  noFreeBlock,
  noIpv6Block,
  noPrefixesOnXen,
} from './ec2-errors.ts';
import { givePrefixes, type Region, takePrefixes } from './region.ts';

type Ec2Result<T> = Result<T, Ec2Failure>;

/** Addresses and prefixes on an ENI that no instance type bounds, the most of any type. */
export const UNATTACHED_ADDRESS_MAX = 50;

/** Of the instance that the ENI is attached to: what it may hold. Undefined for an ENI without one. */
export function limitsOf(region: Region, eni: Ec2Eni): InstanceLimits | undefined {
  const instance = eni.attachment && region.instances.get(eni.attachment.instanceId);
  return instance && region.instanceLimits.get(instance.instanceType);
}

/** The prefixes of a new ENI: all that were asked for, or none. */
export function takeForCreate(
  region: Region,
  place: { readonly eniId: EniId; readonly subnetId: SubnetId; readonly vpcId: VpcId },
  request: Pick<CreateEniRequest, 'secondaryAddressCount' | 'prefixCount' | 'ipv6PrefixCount'>,
): Ec2Result<Pick<Ec2Eni, 'prefixes' | 'ipv6Prefixes'>> {
  const { prefixCount, ipv6PrefixCount, secondaryAddressCount } = request;
  if (prefixCount > 0 && secondaryAddressCount > 0) {
    return badCombination('A count of private addresses and a count of IPv4 prefixes exclude each other.');
  }
  for (const count of [prefixCount, ipv6PrefixCount]) {
    if (count < 0 || count >= UNATTACHED_ADDRESS_MAX)
      return badValue(`prefix count ${count} is out of range`);
  }
  const hasIpv6 = region.ipv6Pools.has(place.subnetId);
  if (ipv6PrefixCount > 0 && !hasIpv6) return noIpv6Block(place.subnetId);
  const prefixes = takePrefixes(region, place, { family: 4, count: prefixCount });
  if (prefixes === undefined) return noFreeBlock(place.subnetId);
  if (!hasIpv6) return ok({ prefixes, ipv6Prefixes: [] });
  const ipv6Prefixes = takePrefixes(region, place, { family: 6, count: ipv6PrefixCount });
  if (ipv6Prefixes !== undefined) return ok({ prefixes, ipv6Prefixes });
  givePrefixes(region, place, prefixes);
  return noFreeBlock(place.subnetId);
}

/** AssignPrivateIpAddresses or AssignIpv6Addresses with a count of prefixes: all of them or none. */
export function assignPrefixes(
  region: Region,
  { eniId, family, count }: AssignPrefixesRequest,
): Ec2Result<readonly Cidr[]> {
  const eni = region.enis.get(eniId);
  if (eni === undefined) return eniNotFound(eniId);
  if (!Number.isInteger(count) || count < 1) return badValue(`prefix count ${count} is out of range`);
  if (family === 6 && !region.ipv6Pools.has(eni.subnetId)) return noIpv6Block(eni.subnetId);
  const limits = limitsOf(region, eni);
  if (limits?.hypervisor === 'xen') return noPrefixesOnXen(limits.instanceType);
  const { held, max } = slotsOf(eni, family, limits);
  if (held + count > max) return eniFull(eniId, max);
  const assigned = takePrefixes(region, eni, { family, count });
  if (assigned === undefined) return noFreeBlock(eni.subnetId);
  const field = fieldOf(family);
  changePrefixes(region, { ...eni, [field]: [...eni[field], ...assigned] }, { assigned, unassigned: [] });
  return ok(assigned);
}

/** UnassignPrivateIpAddresses or UnassignIpv6Addresses with prefixes: all of them or none. */
export function unassignPrefixes(region: Region, request: UnassignPrefixesRequest): Ec2Result<void> {
  const eni = region.enis.get(request.eniId);
  if (eni === undefined) return eniNotFound(request.eniId);
  const unassigned = [...new Set(request.prefixes)];
  const [first] = unassigned;
  if (first === undefined) return badValue('The request must contain a prefix');
  const field = fieldOf(familyOf(first));
  const missing = unassigned.filter((prefix) => !eni[field].includes(prefix));
  if (missing.length > 0) return addressesNotAssigned(eni.eniId, missing);
  givePrefixes(region, eni, unassigned);
  const rest = eni[field].filter((prefix) => !unassigned.includes(prefix));
  changePrefixes(region, { ...eni, [field]: rest }, { assigned: [], unassigned });
  return ok(undefined);
}

const fieldOf = (family: IpFamily): 'prefixes' | 'ipv6Prefixes' =>
  family === 4 ? 'prefixes' : 'ipv6Prefixes';

/** A prefix takes the place of one address, and IPv4's and IPv6's places are counted each on its own. */
function slotsOf(
  eni: Ec2Eni,
  family: IpFamily,
  limits: InstanceLimits | undefined,
): { readonly held: number; readonly max: number } {
  return family === 4
    ? {
        held: 1 + eni.addresses.length + eni.prefixes.length,
        max: limits?.ipv4PerEniMax ?? UNATTACHED_ADDRESS_MAX,
      }
    : { held: eni.ipv6Prefixes.length, max: limits?.ipv6PerEniMax ?? UNATTACHED_ADDRESS_MAX };
}

function changePrefixes(
  region: Region,
  eni: Ec2Eni,
  change: { readonly assigned: readonly Cidr[]; readonly unassigned: readonly Cidr[] },
): void {
  const listed = (prefixes: readonly Cidr[]): ReturnType<typeof prefixAddresses> =>
    prefixes.filter((prefix) => familyOf(prefix) === 4).flatMap(prefixAddresses);
  const ofIpv6 = (prefixes: readonly Cidr[]): readonly Cidr[] =>
    prefixes.filter((prefix) => familyOf(prefix) === 6);
  region.enis.put(eni.eniId, eni);
  region.emit({
    kind: 'AddressesChanged',
    eni,
    assigned: listed(change.assigned),
    unassigned: listed(change.unassigned),
    ipv6Assigned: ofIpv6(change.assigned),
    ipv6Unassigned: ofIpv6(change.unassigned),
  });
}
