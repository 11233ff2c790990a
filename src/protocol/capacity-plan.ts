// The file of `eniwhere plan`: subnets and groups of nodes as people write them.

import { z } from 'zod';
import { cidrContainsCidr, cidrOverlaps, parseCidr } from '../domain/address/cidr.ts';
import type { Cidr } from '../domain/address/ip.ts';
import { freeBlocksFor, reservedBlocks, unreservedCount } from '../domain/address/subnet-reservations.ts';
import { GROUP_STRATEGIES } from '../domain/capacity/model.ts';
import { MODES } from '../domain/ipam/mode.ts';
import { err, ok, type Result } from '../domain/result.ts';

const name = z.string().regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/, {
  error: 'must be a name: lower-case letters, digits, "-" and "."',
});
const count = z.number().int().min(0);
const ipv4Cidr = z.string().transform((text, context): Cidr => {
  const parsed = parseCidr(text);
  if (parsed.ok && !parsed.value.includes(':')) return parsed.value;
  context.addIssue(parsed.ok ? 'must be a block of IPv4' : parsed.error);
  return z.NEVER;
});

/** One block, or several. */
const blocks = z.union([ipv4Cidr.transform((one) => [one]), z.array(ipv4Cidr)]).default([]);

const subnet = z.strictObject({
  name,
  zone: z.string().min(1),
  cidr: ipv4Cidr,
  for: z.enum(['pods', 'nodes']).default('pods'),
  /** Addresses in use by load balancers, other clusters and the like, outside of what is reserved. */
  used: count.default(0),
  /** Subnet CIDR reservations by their types: for prefixes, and for addresses that somebody names. */
  reservedForPrefixes: blocks,
  reserved: blocks,
  /** Blocks of 16 in what is reserved for prefixes that are in use by others. */
  usedBlocks: count.default(0),
});

/** Under the names that users of the AWS VPC CNI know. */
const targets = z.strictObject({
  WARM_IP_TARGET: count.optional(),
  MINIMUM_IP_TARGET: count.optional(),
  WARM_ENI_TARGET: count.default(1),
  WARM_PREFIX_TARGET: count.default(1),
  MAX_ENI: count.min(1).optional(),
});

const group = z.strictObject({
  name,
  instanceType: z.string().min(1),
  /** Every zone with a subnet for pods when absent. */
  zones: z.array(z.string().min(1)).min(1).optional(),
  eniConfigs: z.array(name).default([]),
  strategy: z.enum(GROUP_STRATEGIES).default('MostFree'),
  mode: z.enum(MODES).default('SecondaryIP'),
  nodes: count.max(5_000).default(0),
  podsPerNode: count,
  targets: targets.prefault({}),
});

const capacityPlan = z.strictObject({
  subnets: z.array(subnet).min(1),
  groups: z.array(group).min(1),
});

export type CapacityPlan = z.output<typeof capacityPlan>;

/** Answers every mistake at once, each beginning with its place in the file. */
export function parseCapacityPlan(value: unknown): Result<CapacityPlan, readonly string[]> {
  const parsed = capacityPlan.safeParse(value);
  if (!parsed.success)
    return err(
      parsed.error.issues.map(
        ({ path, message }) => `${placeOf(value, path)}: ${message}${given(value, path, message)}`,
      ),
    );
  const mistakes = [...doubled(parsed.data), ...overlapping(parsed.data), ...unserved(parsed.data)];
  return mistakes.length === 0 ? ok(parsed.data) : err(mistakes);
}

type Path = readonly PropertyKey[];

const at = (value: unknown, path: Path): unknown =>
  path.reduce<unknown>(
    (part, key) =>
      typeof part === 'object' && part !== null ? (part as Record<PropertyKey, unknown>)[key] : undefined,
    value,
  );

const KINDS: ReadonlyMap<PropertyKey, string> = new Map([
  ['groups', 'group'],
  ['subnets', 'subnet'],
]);

/** `group "workers", mode` for groups.0.mode, where the group has a name. */
function placeOf(value: unknown, path: Path): string {
  const kind = KINDS.get(path[0] ?? '');
  const name = at(value, [...path.slice(0, 2), 'name']);
  if (kind === undefined || typeof name !== 'string') return path.join('.') || 'the file';
  return [`${kind} "${name}"`, ...(path.length > 2 ? [path.slice(2).join('.')] : [])].join(', ');
}

/** What stands there, if it is a single value and not told already. */
function given(value: unknown, path: Path, message: string): string {
  const there = at(value, path);
  const isSingle = typeof there === 'string' || typeof there === 'number' || typeof there === 'boolean';
  return isSingle && !message.includes(String(there)) ? `, and not ${JSON.stringify(there)}` : '';
}

function doubled({ subnets, groups }: CapacityPlan): readonly string[] {
  const names = [...subnets, ...groups].map((one) => one.name);
  return [...new Set(names.filter((one, at) => names.indexOf(one) !== at))].map(
    (one) => `"${one}" is the name of two subnets or groups`,
  );
}

function overfull({ cidr, used, usedBlocks, ...subnet }: CapacityPlan['subnets'][number]): readonly string[] {
  const reservations = { prefix: subnet.reservedForPrefixes, explicit: subnet.reserved };
  const blocks = reservedBlocks(reservations);
  const outside = blocks.filter((block) => !cidrContainsCidr(cidr, block));
  if (outside.length > 0) return [`${outside.join(' and ')} is to be reserved and lies outside ${cidr}`];
  const usable = unreservedCount(cidr, reservations);
  const blockCount = reservations.prefix.length === 0 ? 0 : freeBlocksFor(cidr, reservations, []);
  return [
    ...(used > usable
      ? [
          `${cidr} has ${usable} usable addresses${blocks.length === 0 ? '' : ` outside what is reserved`}, and ${used} are said to be in use`,
        ]
      : []),
    ...(usedBlocks > blockCount
      ? [
          `${cidr} has ${blockCount} blocks of 16 reserved for prefixes, and ${usedBlocks} are said to be in use`,
        ]
      : []),
  ];
}

/** A subnet has one role (U101): nodes in pods' subnets take addresses that were meant for pods. */
function overlapping({ subnets }: CapacityPlan): readonly string[] {
  return subnets.flatMap((one, at) => [
    ...overfull(one).map((mistake) => `subnets.${at}: ${mistake}`),
    ...subnets
      .slice(at + 1)
      .filter((other) => cidrOverlaps(one.cidr, other.cidr))
      .map(
        (other) =>
          `subnets "${one.name}" (${one.cidr}, ${one.for}) and "${other.name}" (${other.cidr}, ${other.for}) overlap`,
      ),
  ]);
}

/** A node finds its pods' subnet in its own zone alone (U48). */
function unserved({ subnets, groups }: CapacityPlan): readonly string[] {
  const pods = subnets.filter((one) => one.for === 'pods');
  return groups.flatMap(({ name, eniConfigs, zones = [] }) => [
    ...eniConfigs
      .filter((wanted) => !pods.some((one) => one.name === wanted))
      .map((wanted) => `group "${name}": there is no subnet for pods named "${wanted}"`),
    ...zones
      .filter(
        (zone) =>
          !pods.some(
            (one) => one.zone === zone && (eniConfigs.length === 0 || eniConfigs.includes(one.name)),
          ),
      )
      .map((zone) => `group "${name}": NoPodSubnetInZone: no subnet for its pods is in zone ${zone}`),
  ]);
}
