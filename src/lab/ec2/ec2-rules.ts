// The simulated EC2's own rules, recounted from scratch: what it must never break, whatever is asked of it.

import { blockOf, cidrContains, cidrContainsCidr, cidrPrefixLength } from '../../domain/address/cidr.ts';
import type { Cidr, Ip } from '../../domain/address/ip.ts';
import type { SubnetId } from '../../domain/ids.ts';
import type { Ec2Eni } from '../../ports/ec2.ts';
import { attachedEnis, holderKey, poolOf, type Region } from './region.ts';

/** A /28. */
const PREFIX_ADDRESS_COUNT = 16;

/** One sentence per broken rule, each with the rule's id (SPEC.md). */
export function brokenEc2Rules(region: Region): readonly string[] {
  const enis = region.enis.values();
  return [...conservation(region, enis), ...addresses(region, enis), ...attachments(region)];
}

/** IP-3: free + kept for prefixes + reserved + primaries + secondaries + 16 per prefix + occupied = size, in every subnet. */
function conservation(region: Region, enis: readonly Ec2Eni[]): readonly string[] {
  const held = new Map<SubnetId, number>();
  for (const eni of enis) {
    const ofPrefixes = eni.prefixes.length * PREFIX_ADDRESS_COUNT;
    held.set(eni.subnetId, (held.get(eni.subnetId) ?? 0) + 1 + eni.addresses.length + ofPrefixes);
  }
  return region.subnets.values().flatMap((facts) => {
    const pool = poolOf(region, facts.subnetId);
    const heldCount = held.get(facts.subnetId) ?? 0;
    const freeCount = pool.freeCount() + pool.keptCount();
    const sum = freeCount + pool.reservedCount + pool.occupiedCount() + heldCount;
    const broken: string[] = [];
    if (sum !== pool.size) {
      broken.push(
        `IP-3: ${facts.subnetId} accounts for ${sum} of ${pool.size} addresses (${heldCount} on ENIs, ${pool.freeCount()} free)`,
      );
    }
    if (facts.freeAddressCount !== pool.freeCount()) {
      broken.push(
        `IP-3: ${facts.subnetId} tells ${facts.freeAddressCount} free addresses and has ${pool.freeCount()}`,
      );
    }
    return broken;
  });
}

/** IP-3 and IP-4: every address and prefix is held by one ENI, of the subnet it lies in, and known as its. */
function addresses(region: Region, enis: readonly Ec2Eni[]): readonly string[] {
  const broken: string[] = [];
  const seen = new Set<string>();
  for (const eni of enis) {
    const { cidr, ipv6Cidr } = region.subnets.get(eni.subnetId) ?? {};
    const singles = [eni.primaryAddress, ...eni.addresses];
    const check = (held: Ip | Cidr, isInside: boolean): void => {
      const rule = held.includes('/') ? 'IP-4' : 'IP-3';
      const key = holderKey(eni.vpcId, held);
      if (seen.has(key)) broken.push(`${rule}: ${held} is on two ENIs, one of them ${eni.eniId}`);
      seen.add(key);
      if (region.holders.get(key) !== eni.eniId) {
        broken.push(`${rule}: ${held} of ${eni.eniId} is known as ${region.holders.get(key) ?? 'nobody'}'s`);
      }
      if (!isInside) broken.push(`${rule}: ${held} of ${eni.eniId} lies outside its subnet ${eni.subnetId}`);
    };
    for (const address of singles) {
      check(address, cidr !== undefined && cidrContains(cidr, address));
      if (region.holders.has(holderKey(eni.vpcId, blockOf(address, 28)))) {
        broken.push(`IP-4: ${address} of ${eni.eniId} lies within a prefix`);
      }
    }
    // A block is text whose host bits are zero, so one of the right length is aligned.
    for (const prefix of eni.prefixes) {
      const isBlock = cidrPrefixLength(prefix) === 28;
      check(prefix, isBlock && cidr !== undefined && cidrContainsCidr(cidr, prefix));
    }
    for (const prefix of eni.ipv6Prefixes) {
      const isBlock = cidrPrefixLength(prefix) === 80;
      check(prefix, isBlock && ipv6Cidr !== undefined && cidrContainsCidr(ipv6Cidr, prefix));
    }
  }
  if (seen.size !== region.holders.size) {
    broken.push(`IP-3: ${region.holders.size} addresses have a holder and ENIs hold ${seen.size}`);
  }
  return broken;
}

/** ENI-1 and ENI-4: limits, device indexes, zones. */
function attachments(region: Region): readonly string[] {
  return region.instances.values().flatMap((instance) => {
    const limits = region.instanceLimits.get(instance.instanceType);
    const enis = attachedEnis(region, instance.instanceId);
    const broken: string[] = [];
    const indexes = new Set(
      enis.map(({ attachment }) => `${attachment?.networkCardIndex}/${attachment?.deviceIndex}`),
    );
    if (indexes.size !== enis.length) {
      broken.push(`ENI-1: two ENIs share a device index of ${instance.instanceId}`);
    }
    if (limits !== undefined && enis.length > limits.eniMax * limits.networkCardCount) {
      broken.push(`ENI-1: ${instance.instanceId} has ${enis.length} ENIs, the limit is ${limits.eniMax}`);
    }
    for (const eni of enis) {
      if (eni.zone !== instance.zone) {
        broken.push(`ENI-4: ${eni.eniId} of ${eni.zone} is attached in ${instance.zone}`);
      }
      if (limits !== undefined && 1 + eni.addresses.length + eni.prefixes.length > limits.ipv4PerEniMax) {
        broken.push(
          `ENI-1: ${eni.eniId} holds ${1 + eni.addresses.length} addresses and ${eni.prefixes.length} prefixes`,
        );
      }
      if (limits !== undefined && eni.ipv6Prefixes.length > limits.ipv6PerEniMax) {
        broken.push(`ENI-1: ${eni.eniId} holds ${eni.ipv6Prefixes.length} IPv6 prefixes`);
      }
    }
    return broken;
  });
}
