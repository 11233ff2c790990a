// An EC2 for one node that does at once what the planner asks for, or refuses it: single addresses from the bottom of the
// subnet, blocks from its top.

import assert from 'node:assert/strict';
import { blockOf, cidrPrefixLength, nthAddress } from '../address/cidr.ts';
import type { Cidr, Ip } from '../address/ip.ts';
import { prefixAddresses } from '../address/prefix.ts';
import type { EniId, IntentId } from '../ids.ts';
import type { Action } from './action.ts';
import type { Intent } from './node-network.ts';
import type { BlockRefusal, EniView } from './node-view.ts';
import { podEni, unattached } from './testing.ts';

const REFUSAL_MS = 120_000;
const BLOCK_LENGTH = 28;

export interface PrefixEc2 {
  readonly subnet: Cidr;
  readonly size: number;
  /** Addresses that others hold. */
  readonly foreign: Set<Ip>;
  enis: readonly EniView[];
  nextEni: number;
  refusal: BlockRefusal | undefined;
  refusedCount: number;
  readonly failedIntents: Set<IntentId>;
}

export const createPrefixEc2 = (subnet: Cidr, foreign: readonly Ip[]): PrefixEc2 => ({
  subnet,
  size: 2 ** (32 - cidrPrefixLength(subnet)),
  foreign: new Set(foreign),
  enis: [],
  nextEni: 1,
  refusal: undefined,
  refusedCount: 0,
  failedIntents: new Set(),
});

/** All that the ENI holds for pods, one by one. */
export const addressesOf = (eni: EniView): readonly Ip[] => [
  ...eni.addresses,
  ...eni.prefixes.flatMap(prefixAddresses),
];

/** What is in use, AWS's own five included. */
export const takenOf = ({ subnet, size, foreign, enis }: PrefixEc2): ReadonlySet<Ip> =>
  new Set([
    ...foreign,
    ...[0, 1, 2, 3, size - 1].map((n) => nthAddress(subnet, n)),
    ...enis.flatMap((eni) => [eni.primaryAddress, ...addressesOf(eni)]),
  ]);

function freeSingles(ec2: PrefixEc2, count: number): readonly Ip[] {
  const taken = takenOf(ec2);
  return Array.from({ length: ec2.size }, (_, n) => nthAddress(ec2.subnet, n))
    .filter((ip) => !taken.has(ip))
    .slice(0, count);
}

function freeBlocks(ec2: PrefixEc2, count: number): readonly Cidr[] | undefined {
  const taken = takenOf(ec2);
  const all = Array.from({ length: ec2.size / 16 }, (_, n) =>
    blockOf(nthAddress(ec2.subnet, ec2.size - 16 * (n + 1)), BLOCK_LENGTH),
  );
  const free = all.filter((block) => !prefixAddresses(block).some((ip) => taken.has(ip)));
  return free.length < count ? undefined : free.slice(0, count);
}

function refuse(ec2: PrefixEc2, count: number, now: number): void {
  ec2.refusedCount += 1;
  const freeAddressCount = ec2.size - takenOf(ec2).size;
  ec2.refusal = {
    message: 'InsufficientCidrBlocks',
    freeAddressCount,
    until: count > 1 ? now : now + REFUSAL_MS,
  };
}

function change(ec2: PrefixEc2, id: EniId, by: (eni: EniView) => EniView): void {
  ec2.enis = ec2.enis.map((eni) => (eni.eniId === id ? by(eni) : eni));
}

function create(ec2: PrefixEc2, { id, addressCount, prefixCount }: Intent, now: number): void {
  const [primaryAddress, ...singles] = freeSingles(ec2, 1 + addressCount);
  if (primaryAddress === undefined || singles.length < addressCount) {
    ec2.failedIntents.add(id);
    return;
  }
  const made = podEni(ec2.nextEni, { primaryAddress, addresses: singles, intentId: id });
  const before = ec2.enis;
  ec2.enis = [...before, unattached(made)];
  const blocks = freeBlocks(ec2, prefixCount);
  if (blocks === undefined) {
    ec2.enis = before;
    ec2.failedIntents.add(id);
    refuse(ec2, prefixCount, now);
    return;
  }
  ec2.nextEni += 1;
  if (prefixCount > 0) ec2.refusal = undefined;
  change(ec2, made.eniId, (eni) => ({ ...eni, prefixes: blocks }));
}

function attach(ec2: PrefixEc2, id: EniId, deviceIndex: number): void {
  const { attachment } = podEni(deviceIndex);
  assert.ok(attachment !== undefined);
  change(ec2, id, (eni) => ({ ...eni, attachment }));
}

function assignPrefixes(
  ec2: PrefixEc2,
  { eniId, count }: { eniId: EniId; count: number },
  now: number,
): void {
  const blocks = freeBlocks(ec2, count);
  if (blocks === undefined) return refuse(ec2, count, now);
  ec2.refusal = undefined;
  change(ec2, eniId, (eni) => ({ ...eni, prefixes: [...eni.prefixes, ...blocks] }));
}

/** Does what `action` says. Whether it may is not EC2's to ask. */
export function performOn(ec2: PrefixEc2, action: Action, now: number): void {
  switch (action.do) {
    case 'CreateEni':
      return create(ec2, action.intent, now);
    case 'AttachEni':
      return attach(ec2, action.eniId, action.deviceIndex);
    case 'AssignAddresses': {
      const added = freeSingles(ec2, action.count);
      return change(ec2, action.eniId, (eni) => ({ ...eni, addresses: [...eni.addresses, ...added] }));
    }
    case 'AssignPrefixes':
      return assignPrefixes(ec2, action, now);
    case 'UnassignAddresses':
      return change(ec2, action.eniId, (eni) => ({
        ...eni,
        addresses: eni.addresses.filter((ip) => !action.addresses.includes(ip)),
      }));
    case 'UnassignPrefixes':
      return change(ec2, action.eniId, (eni) => ({
        ...eni,
        prefixes: eni.prefixes.filter((prefix) => !action.prefixes.includes(prefix)),
      }));
    case 'DetachEni':
      return change(ec2, action.eniId, unattached);
    case 'DeleteEni':
      ec2.enis = ec2.enis.filter((eni) => eni.eniId !== action.eniId);
      return;
    // Pods have IPv4 only here.
    case 'AssignIpv6Prefix':
    case 'SetDeleteOnTermination':
    case 'SetSecurityGroups':
      return;
  }
}
