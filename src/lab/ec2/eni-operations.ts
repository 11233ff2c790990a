// What EC2 does to network interfaces: create, delete, modify, and their addresses.

import type { Ip } from '../../domain/address/ip.ts';
import type { AttachmentId, EniId, SecurityGroupId, SubnetId, VpcId } from '../../domain/ids.ts';
import { assert, ok, type Result } from '../../domain/result.ts';
import type { CreateEniRequest, Ec2Eni, Ec2Failure } from '../../ports/ec2.ts';
import { randomHex } from '../../ports/random.ts';
import {
  addressesNotAssigned,
  attachmentNotFound,
  badValue,
  eniFull,
  eniInUse,
  eniNotFound,
  groupNotFound,
  otherVpc,
  primaryAddressFixed,
  subnetFull,
  subnetNotFound,
  tokenReused,
  tooManyGroups,
} from './ec2-errors.ts';
import { limitsOf, takeForCreate, UNATTACHED_ADDRESS_MAX } from './prefix-operations.ts';
import { giveAddresses, givePrefixes, newId, type Region, tagText, takeAddresses } from './region.ts';
import { GROUPS_PER_ENI_MAX } from './security-group.ts';

type Ec2Result<T> = Result<T, Ec2Failure>;

/** AWS remembers a client token for at least a day. */
const TOKEN_LIFE_MS = 24 * 3_600_000;

export type EniMaking = Omit<CreateEniRequest, 'clientToken'>;

/** CreateNetworkInterface with a client token: the same request again gives the same answer and makes nothing. */
export function createEniOnce(region: Region, request: CreateEniRequest): Ec2Result<Ec2Eni> {
  const { clientToken, ...making } = request;
  if (clientToken === '') return createEni(region, making);
  forgetOldTokens(region);
  const parameters = fingerprint(making);
  const before = region.tokens.get(clientToken);
  if (before !== undefined) {
    return before.parameters === parameters ? ok(before.eni) : tokenReused(clientToken);
  }
  const made = createEni(region, making);
  // A refused create leaves the token free: only what took effect is remembered.
  if (made.ok) region.tokens.set(clientToken, { at: region.clock.now(), parameters, eni: made.value });
  return made;
}

export function createEni(region: Region, request: EniMaking): Ec2Result<Ec2Eni> {
  const subnet = region.subnets.get(request.subnetId);
  if (subnet === undefined) return subnetNotFound(request.subnetId);
  const groups = groupsOf(region, { ...request, vpcId: subnet.vpcId });
  if (!groups.ok) return groups;
  if (request.secondaryAddressCount < 0 || request.secondaryAddressCount >= UNATTACHED_ADDRESS_MAX) {
    return badValue(`secondaryPrivateIpAddressCount ${request.secondaryAddressCount} is out of range`);
  }
  const eniId = newId(region, 'eni');
  const place = { eniId, subnetId: request.subnetId, vpcId: subnet.vpcId };
  // Prefixes first: the primary address could otherwise break the last whole block.
  const delegated = takeForCreate(region, place, request);
  if (!delegated.ok) return delegated;
  const taken = takeAddresses(region, place, 1 + request.secondaryAddressCount);
  const [primaryAddress, ...addresses] = taken ?? [];
  if (primaryAddress === undefined) {
    givePrefixes(region, place, [...delegated.value.prefixes, ...delegated.value.ipv6Prefixes]);
    return subnetFull(request.subnetId);
  }
  const { description, tags } = request;
  const held = { primaryAddress, addresses, ...delegated.value };
  return ok(
    putNewEni(region, { ...place, ...held, securityGroupIds: groups.value, description, tags: { ...tags } }),
  );
}

/** Writes down an ENI that holds its addresses already. */
export function putNewEni(
  region: Region,
  making: Omit<Ec2Eni, 'mac' | 'zone' | 'status' | 'attachment'>,
): Ec2Eni {
  const subnet = region.subnets.get(making.subnetId);
  assert(subnet !== undefined, `subnet ${making.subnetId} of a new ENI exists`);
  const eni: Ec2Eni = { ...making, mac: newMac(region), zone: subnet.zone, status: 'available' };
  region.enis.put(eni.eniId, eni);
  region.createdAt.set(eni.eniId, region.clock.now());
  for (const [key, value] of Object.entries(eni.tags)) {
    const tagged = region.enisTagged.get(tagText(key, value)) ?? new Set();
    region.enisTagged.set(tagText(key, value), tagged.add(eni.eniId));
  }
  region.emit({ kind: 'EniCreated', eni });
  return eni;
}

export function deleteEni(region: Region, eniId: EniId): Ec2Result<void> {
  const eni = region.enis.get(eniId);
  if (eni === undefined) return eniNotFound(eniId);
  if (eni.status !== 'available') return eniInUse(eniId);
  removeEni(region, eni);
  return ok(undefined);
}

/** Deletes an ENI that no instance holds any more. */
export function removeEni(region: Region, eni: Ec2Eni): void {
  assert(eni.attachment === undefined, `${eni.eniId} is detached before it is deleted`);
  giveAddresses(region, eni, [eni.primaryAddress, ...eni.addresses]);
  givePrefixes(region, eni, [...eni.prefixes, ...eni.ipv6Prefixes]);
  region.enis.delete(eni.eniId);
  region.createdAt.delete(eni.eniId);
  region.emit({ kind: 'EniDeleted', eni });
}

/** AssignPrivateIpAddresses: all `count` or none. */
export function assignAddresses(
  region: Region,
  request: { readonly eniId: EniId; readonly count: number },
): Ec2Result<readonly Ip[]> {
  const eni = region.enis.get(request.eniId);
  if (eni === undefined) return eniNotFound(request.eniId);
  if (!Number.isInteger(request.count) || request.count < 1) {
    return badValue(`secondaryPrivateIpAddressCount ${request.count} is out of range`);
  }
  const addressMax = limitsOf(region, eni)?.ipv4PerEniMax ?? UNATTACHED_ADDRESS_MAX;
  if (1 + eni.addresses.length + eni.prefixes.length + request.count > addressMax) {
    return eniFull(eni.eniId, addressMax);
  }
  const assigned = takeAddresses(region, eni, request.count);
  if (assigned === undefined) return subnetFull(eni.subnetId);
  const changed = { ...eni, addresses: [...eni.addresses, ...assigned] };
  region.enis.put(eni.eniId, changed);
  region.emit({ kind: 'AddressesChanged', eni: changed, assigned, unassigned: [] });
  return ok(assigned);
}

/** UnassignPrivateIpAddresses: all of them or none. */
export function unassignAddresses(
  region: Region,
  request: { readonly eniId: EniId; readonly addresses: readonly Ip[] },
): Ec2Result<void> {
  const eni = region.enis.get(request.eniId);
  if (eni === undefined) return eniNotFound(request.eniId);
  const unassigned = [...new Set(request.addresses)];
  if (unassigned.length === 0) return badValue('The request must contain the parameter privateIpAddress');
  if (unassigned.includes(eni.primaryAddress)) return primaryAddressFixed(eni.eniId, eni.primaryAddress);
  const missing = unassigned.filter((address) => !eni.addresses.includes(address));
  if (missing.length > 0) return addressesNotAssigned(eni.eniId, missing);
  giveAddresses(region, eni, unassigned);
  const changed = { ...eni, addresses: eni.addresses.filter((address) => !unassigned.includes(address)) };
  region.enis.put(eni.eniId, changed);
  region.emit({ kind: 'AddressesChanged', eni: changed, assigned: [], unassigned });
  return ok(undefined);
}

/** ModifyNetworkInterfaceAttribute, attachment: delete the ENI together with its instance. */
export function setDeleteOnTermination(
  region: Region,
  request: { readonly eniId: EniId; readonly attachmentId: AttachmentId },
): Ec2Result<void> {
  const eni = region.enis.get(request.eniId);
  if (eni === undefined) return eniNotFound(request.eniId);
  if (eni.attachment?.attachmentId !== request.attachmentId) return attachmentNotFound(request.attachmentId);
  const changed = { ...eni, attachment: { ...eni.attachment, deleteOnTermination: true } };
  region.enis.put(eni.eniId, changed);
  region.emit({ kind: 'EniModified', eni: changed });
  return ok(undefined);
}

/** ModifyNetworkInterfaceAttribute, groups: applies to the ENI in place. */
export function setEniGroups(
  region: Region,
  request: { readonly eniId: EniId; readonly securityGroupIds: readonly SecurityGroupId[] },
): Ec2Result<void> {
  const eni = region.enis.get(request.eniId);
  if (eni === undefined) return eniNotFound(request.eniId);
  const groups = groupsOf(region, { ...eni, securityGroupIds: request.securityGroupIds });
  if (!groups.ok) return groups;
  const changed = { ...eni, securityGroupIds: groups.value };
  region.enis.put(eni.eniId, changed);
  region.emit({ kind: 'EniModified', eni: changed });
  return ok(undefined);
}

/** The groups asked for, or the VPC's default group when none is. */
function groupsOf(
  region: Region,
  request: {
    readonly vpcId: VpcId;
    readonly subnetId: SubnetId;
    readonly securityGroupIds: readonly SecurityGroupId[];
  },
): Ec2Result<readonly SecurityGroupId[]> {
  const groupIds = [...new Set(request.securityGroupIds)];
  if (groupIds.length > GROUPS_PER_ENI_MAX) return tooManyGroups(GROUPS_PER_ENI_MAX);
  for (const groupId of groupIds) {
    const group = region.securityGroups.get(groupId);
    if (group === undefined) return groupNotFound(groupId);
    if (group.vpcId !== request.vpcId) return otherVpc(groupId, request.subnetId);
  }
  if (groupIds.length > 0) return ok(groupIds);
  const vpc = region.vpcs.get(request.vpcId);
  assert(vpc !== undefined, `VPC ${request.vpcId} of subnet ${request.subnetId} exists`);
  return ok([vpc.defaultSecurityGroupId]);
}

const newMac = (region: Region): string =>
  `02:${(randomHex(region.draws.ids, 10).match(/../g) ?? []).join(':')}`;

const fingerprint = (making: EniMaking): string =>
  JSON.stringify([
    making.subnetId,
    [...making.securityGroupIds],
    making.secondaryAddressCount,
    making.prefixCount,
    making.ipv6PrefixCount,
    making.description,
    Object.entries(making.tags).sort(([a], [b]) => (a < b ? -1 : 1)),
  ]);

/** Tokens are remembered in the order of their age, so the old ones are the first. */
function forgetOldTokens(region: Region): void {
  const cut = region.clock.now() - TOKEN_LIFE_MS;
  for (const [token, create] of region.tokens) {
    if (create.at >= cut) break;
    region.tokens.delete(token);
  }
}
