// What people and other tools do to the account while a run lasts: the `person` rows of the fault table.

import { OWNER_TAG } from '../../domain/ipam/tags.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Subscription } from '../../ports/cluster.ts';
import type { Ec2Eni } from '../../ports/ec2.ts';
import type { Random } from '../../ports/random.ts';
import type { SimEc2 } from '../ec2/sim-ec2.ts';
import type { Ec2Action } from '../ec2/token-bucket.ts';
import { chance, drawBetween, pick } from '../kernel/draw.ts';
import { seededRandom } from '../kernel/seeded-random.ts';
import type { PersonProfile } from './fault-profile.ts';

export interface MischiefOptions {
  /** The world's clock. */
  readonly clock: Clock;
  readonly random: Random;
  readonly ec2: SimEc2;
  /** The profile in force now: with a calm one nothing new happens, and what was done ends in its time. */
  readonly profile: () => PersonProfile;
  readonly onFault?: (fault: keyof PersonProfile) => void;
  /** Pods have IPv6 addresses, so that calls for them are made which may be denied. */
  readonly ipv6?: boolean;
}

const TICK_MS = 1000;
const TICKS_PER_HOUR = 3600;
/** How long a mischief lasts. */
const LIFE_MS = { min: 5000, max: 120_000 };

const DENIABLE_ACTIONS: readonly Ec2Action[] = [
  'CreateNetworkInterface',
  'AttachNetworkInterface',
  'DeleteNetworkInterface',
  'DetachNetworkInterface',
  'AssignPrivateIpAddresses',
  'UnassignPrivateIpAddresses',
  'DescribeNetworkInterfaces',
  'DescribeSubnets',
];

const IPV6_ACTIONS: readonly Ec2Action[] = ['AssignIpv6Addresses'];

/** Goes on until closed. Closing undoes nothing that is still on. */
export function startMischief(options: MischiefOptions): Subscription {
  const { clock, random, ec2, profile, onFault, ipv6 = false } = options;
  const actions = ipv6 ? [...DENIABLE_ACTIONS, ...IPV6_ACTIONS] : DENIABLE_ACTIONS;
  const draws = seededRandom(random.uint32());
  let isClosed = false;
  const afterLife = (label: string, end: () => void): void => {
    clock.timer(drawBetween(draws, LIFE_MS), label, end);
  };
  const deeds: readonly { readonly rate: keyof PersonProfile; readonly run: () => void }[] = [
    { rate: 'subnetFillingsPerHour', run: () => fillSubnet(ec2, draws, afterLife) },
    { rate: 'permissionLossesPerHour', run: () => denyAction(ec2, pick(draws, actions), afterLife) },
    { rate: 'tokenSpreesPerHour', run: () => ec2.admin.spendTokens(pick(draws, actions), 100) },
    { rate: 'foreignEnisPerHour', run: () => plugForeignEni(ec2, draws, afterLife) },
    { rate: 'unassignmentsPerHour', run: () => unassignOne(ec2, draws) },
    { rate: 'ipv6UnassignmentsPerHour', run: () => unassignIpv6(ec2, draws) },
    { rate: 'eniRemovalsPerHour', run: () => removeEni(ec2, draws) },
  ];
  const tick = (): void => {
    if (isClosed) return;
    for (const { rate, run } of deeds) {
      if (!chance(draws, profile()[rate] / TICKS_PER_HOUR)) continue;
      onFault?.(rate);
      run();
    }
    clock.timer(TICK_MS, 'tick', tick);
  };
  clock.timer(TICK_MS, 'tick', tick);
  return {
    close: () => {
      isClosed = true;
    },
  };
}

type AfterLife = (label: string, end: () => void) => void;

function fillSubnet(ec2: SimEc2, draws: Random, afterLife: AfterLife): void {
  const subnets = ec2.truth.subnets();
  if (subnets.length === 0) return;
  const { subnetId, freeAddressCount } = pick(draws, subnets);
  const leftCount = pick(draws, [0, 1, 5]);
  const occupied = ec2.admin.occupyAddresses(subnetId, Math.max(0, freeAddressCount - leftCount));
  if (!occupied.ok) return;
  afterLife('subnet-vacated', () => {
    ec2.admin.vacateAddresses(subnetId, occupied.value);
  });
}

function denyAction(ec2: SimEc2, action: Ec2Action, afterLife: AfterLife): void {
  ec2.admin.denyAction(action);
  afterLife('permission-given-back', () => ec2.admin.allowAction(action));
}

function plugForeignEni(ec2: SimEc2, draws: Random, afterLife: AfterLife): void {
  const instances = ec2.truth.instances().filter(({ state }) => state === 'running');
  if (instances.length === 0) return;
  const { instanceId, primarySubnetId } = pick(draws, instances);
  // Refused when the instance or the subnet is full: then there is simply no foreign ENI this time.
  const made = ec2.admin.createForeignEni({ subnetId: primarySubnetId, instanceId });
  if (!made.ok) return;
  afterLife('foreign-eni-deleted', () => {
    ec2.admin.deleteEni(made.value.eniId);
  });
}

/** ENIs that the product has made, and that hold something of these kinds for pods. */
const podEnis = (ec2: SimEc2, kinds: readonly ('addresses' | 'ipv6Prefixes')[]): readonly Ec2Eni[] =>
  ec2.truth
    .enis()
    .filter((eni) => eni.tags[OWNER_TAG] !== undefined && kinds.some((kind) => eni[kind].length > 0));

function unassignOne(ec2: SimEc2, draws: Random): void {
  const enis = podEnis(ec2, ['addresses']);
  if (enis.length === 0) return;
  const { eniId, addresses } = pick(draws, enis);
  ec2.admin.unassignAddresses(eniId, [pick(draws, addresses)]);
}

function unassignIpv6(ec2: SimEc2, draws: Random): void {
  const enis = podEnis(ec2, ['ipv6Prefixes']);
  if (enis.length === 0) return;
  const { eniId, ipv6Prefixes } = pick(draws, enis);
  ec2.admin.unassignPrefixes(eniId, ipv6Prefixes);
}

function removeEni(ec2: SimEc2, draws: Random): void {
  const enis = podEnis(ec2, ['addresses', 'ipv6Prefixes']).filter(
    ({ attachment }) => attachment?.status === 'attached',
  );
  if (enis.length === 0) return;
  const { eniId } = pick(draws, enis);
  if (chance(draws, 0.5)) ec2.admin.detachEni(eniId);
  else ec2.admin.deleteEni(eniId);
}
