// Others' ENIs that break up a subnet: many addresses stay free, and no block of 16 does.

import type { SubnetId } from '../../domain/ids.ts';
import { assert, ok, type Result } from '../../domain/result.ts';
import type { Ec2Eni, Ec2Failure } from '../../ports/ec2.ts';
import { subnetNotFound } from './ec2-errors.ts';
import { putNewEni, removeEni } from './eni-operations.ts';
import { UNATTACHED_ADDRESS_MAX } from './prefix-operations.ts';
import { newId, poolOf, type Region, takeScattered } from './region.ts';

const DESCRIPTION = 'ELB net/scattered';

/** Makes ENIs that hold one address of each whole free /28 block outside reservations; answers how many addresses that is. */
export function fragmentSubnet(region: Region, subnetId: SubnetId): Result<number, Ec2Failure> {
  const subnet = region.subnets.get(subnetId);
  if (subnet === undefined) return subnetNotFound(subnetId);
  const { vpcId } = subnet;
  const vpc = region.vpcs.get(vpcId);
  assert(vpc !== undefined, `VPC ${vpcId} of subnet ${subnetId} exists`);
  let takenCount = 0;
  // One more turn than there can be blocks: the last one finds none.
  for (let turn = 0; turn <= poolOf(region, subnetId).size; turn++) {
    const place = { eniId: newId(region, 'eni'), subnetId, vpcId };
    const [primaryAddress, ...addresses] = takeScattered(region, place, UNATTACHED_ADDRESS_MAX);
    if (primaryAddress === undefined) break;
    takenCount += 1 + addresses.length;
    const held = { primaryAddress, addresses, prefixes: [], ipv6Prefixes: [] };
    const securityGroupIds = [vpc.defaultSecurityGroupId];
    putNewEni(region, { ...place, ...held, securityGroupIds, description: DESCRIPTION, tags: {} });
  }
  return ok(takenCount);
}

/** Deletes the ENIs that `fragmentSubnet` made; answers how many addresses they held. */
export function defragmentSubnet(region: Region, subnetId: SubnetId): Result<number, Ec2Failure> {
  if (region.subnets.get(subnetId) === undefined) return subnetNotFound(subnetId);
  const isOurs = (eni: Ec2Eni): boolean =>
    eni.subnetId === subnetId && eni.description === DESCRIPTION && eni.status === 'available';
  const enis = region.enis.values().filter(isOurs);
  for (const eni of enis) removeEni(region, eni);
  return ok(enis.reduce((sum, eni) => sum + 1 + eni.addresses.length, 0));
}
