// LV-2 at rest: warm pools are at their target, journal, spec and EC2 agree, and nobody works in a circle.

import { cidrContains } from '../../domain/address/cidr.ts';
import { type Cidr, familyOf, type Ip, type IpFamily } from '../../domain/address/ip.ts';
import type { NodeName } from '../../domain/ids.ts';
import { ledgerFrom } from '../../domain/ipam/apply-record.ts';
import type { JournalRecord } from '../../domain/ipam/ledger.ts';
import type { NodeNetworkSpec, SpecEni } from '../../domain/ipam/node-network.ts';
import { LEASE_TIMES } from '../../domain/leadership/lease.ts';
import { OWNER_TAG } from '../../domain/ipam/tags.ts';
import { GROUPS_PER_ENI_MAX } from '../ec2/security-group.ts';
import { grantableAddresses, podAddresses } from '../ec2/pod-addresses.ts';
import { addressesOf, type Checker, type WorldTruth } from './checker.ts';
import { addressesHeldOn } from './obstacle.ts';
import type { Place } from './selection-checker.ts';
import { checkWarmPool, type PoolWish } from './warm-pool.ts';

/** Calls since the start of the run. */
export interface CallCounts {
  readonly ec2: number;
  readonly api: number;
}

export interface RestSources {
  readonly world: WorldTruth;
  readonly placeOf: (node: NodeName) => Place | undefined;
  /** What is durable of the agent's journal; undefined for a node that is gone. */
  readonly journalOf: (node: NodeName) => readonly JournalRecord[] | undefined;
  readonly counts: () => CallCounts;
  readonly poolWishOf: (node: NodeName) => PoolWish;
  /** Controllers that contend for a lease. */
  readonly electorCount: number;
}

export interface RestChecker extends Checker {
  startQuiet(): void;
}

/** A resync every 30 s describes six kinds of things, one page each. */
const RESYNC_CALLS_PER_HOUR = 120 * 6;
/** A subnet that somebody waits for is read every 5 s. */
const POLL_CALLS_PER_HOUR = 720;
/** Nothing is to be asked of the API server at rest; room for a watch that lists anew. */
const API_CALLS_PER_HOUR = 120;
/**
 * What only EC2 can tell of an ENIConfig, such as more groups than an ENI may have, is tried again each minute: the intent is
 * noted and taken back, and the agent says that it has seen both.
 */
const REFUSED_CALLS_PER_HOUR = 5 * 60;
const HOUR_MS = 3_600_000;
/** Each elector reads or writes the lease at every try, and reads it again after a conflict. */
const LEASE_CALLS_PER_HOUR = (1.1 * HOUR_MS) / LEASE_TIMES.retryMs;

export function createRestChecker(sources: RestSources): RestChecker {
  const { world, counts, placeOf, electorCount } = sources;
  let quiet: (CallCounts & { readonly at: number }) | undefined;
  return {
    startQuiet: () => {
      quiet = { ...counts(), at: world.now() };
    },
    atRest: () => {
      for (const { name } of world.cluster.list('Node')) {
        if (world.isLeftAlone(name)) continue;
        checkWarmPool(world, name, { place: placeOf(name), wish: sources.poolWishOf(name) });
        checkAgreement(sources, name);
        if (placeOf(name) !== undefined) checkNothingPending(world, name);
      }
      if (quiet === undefined) return;
      const hours = (world.now() - quiet.at) / HOUR_MS;
      const subnetCount = world.ec2.subnets().length;
      const now = counts();
      const ec2PerHour = (now.ec2 - quiet.ec2) / hours;
      const apiPerHour = (now.api - quiet.api) / hours;
      if (ec2PerHour > 1.2 * RESYNC_CALLS_PER_HOUR + subnetCount * POLL_CALLS_PER_HOUR)
        world.broken('LV-2', `at rest EC2 is called ${Math.round(ec2PerHour)} times per hour`);
      const apiMax =
        API_CALLS_PER_HOUR +
        electorCount * LEASE_CALLS_PER_HOUR +
        mayBeRefusedCount(world) * REFUSED_CALLS_PER_HOUR;
      if (apiPerHour > apiMax)
        world.broken('LV-2', `at rest the API server is called ${Math.round(apiPerHour)} times per hour`);
    },
  };
}

/** Nodes of which some, or whose pods, may have chosen an ENIConfig with too many groups. */
function mayBeRefusedCount({ cluster }: WorldTruth): number {
  const isRefused = cluster
    .list('EniConfig')
    .some(
      ({ spec }) => spec.kind === 'Parsed' && spec.eniConfig.securityGroupIds.length > GROUPS_PER_ENI_MAX,
    );
  return isRefused ? cluster.list('Node').length : 0;
}

const textOf = (items: readonly string[]): string => [...items].sort().join(' ');

/** What the one has and the other has not, and the reverse; of many the first ones. */
const beyond = (left: readonly string[], right: readonly string[]): string => {
  const isThere = new Set(right);
  const more = left.filter((one) => !isThere.has(one)).sort();
  return more.length === 0 ? 'nothing more' : listed(more);
};

const LISTED_COUNT = 8;
const listed = (items: readonly string[]): string =>
  items.length <= LISTED_COUNT
    ? items.join(' ')
    : `${items.slice(0, LISTED_COUNT).join(' ')} and ${items.length - LISTED_COUNT} more`;

/** What EC2 has, what the spec grants, what the status says and what the journal holds are one and the same. */
function checkAgreement({ world, placeOf, journalOf }: RestSources, node: NodeName): void {
  const record = world.cluster.nodeNetwork(node);
  const instanceId = world.instanceOf(node);
  const journal = journalOf(node);
  if (record === undefined || instanceId === undefined || journal === undefined) return;
  const compare = (what: string, left: readonly string[], right: readonly string[]): void => {
    if (textOf(left) !== textOf(right))
      world.broken('LV-2', `${node}: ${what} differ: ${beyond(left, right)} and ${beyond(right, left)}`);
  };
  const own = world.ec2.enisOf(instanceId).filter((eni) => eni.tags[OWNER_TAG] !== undefined);
  const granted = record.spec.enis.flatMap((eni) => eni.addresses);
  const live = [...world.live.values()].filter((sandbox) => sandbox.node === node);
  const isOf = (family: IpFamily) => (ip: Ip) => familyOf(ip) === family;
  // What was let go under a NodeNetwork that is gone is granted anew by a later spec of the next: a wrong choice has none.
  const isWithheld = (ip: Ip): boolean =>
    placeOf(node) === undefined && !granted.includes(ip) && record.status.withdrawn.includes(ip);
  const inEc2 = own.flatMap(podAddresses).filter((ip) => !isWithheld(ip));
  compare('the addresses in EC2 and in the spec', inEc2, granted.filter(isOf(4)));
  const ofPrefixes = own
    .flatMap((eni) => grantableAddresses(eni, record.spec.addressFamilies))
    .filter(isOf(6));
  // From an earlier time without IPv4, until the last of the pods has gone.
  const left = live
    .filter((sandbox) => granted.includes(sandbox.address) || !world.isRobbed(sandbox))
    .map(({ address }) => address)
    .filter(isOf(6));
  // While the node's choice is wrong everything stays as it was, of whatever family.
  if (placeOf(node) !== undefined)
    compare(
      'the addresses of /80s and in the spec',
      record.spec.addressFamilies.includes('IPv4') ? left : ofPrefixes,
      granted.filter(isOf(6)),
    );
  compare(
    'live pods and status.used',
    live.flatMap((sandbox) => addressesOf(sandbox).map((ip) => `${sandbox.pod}=${ip}`)),
    record.status.used.map(({ pod, ip }) => `${pod}=${ip}`),
  );
  const ledger = ledgerFrom(journal);
  compare(
    'live sandboxes and the journal',
    live.map(({ containerId }) => `${containerId}/eth0`),
    [...ledger.allocations.keys()],
  );
  compare('withdrawn addresses in status and journal', record.status.withdrawn, [...ledger.withdrawn.keys()]);
}

/** A choice that is wrong freezes the node's ENIs as they are; a right one leaves nothing half given back. */
function checkNothingPending(world: WorldTruth, node: NodeName): void {
  const record = world.cluster.nodeNetwork(node);
  const held = addressesHeldOn(world, node);
  const pending = record?.spec.enis.flatMap((eni) => {
    // A prefix that drains, or on an ENI that does, goes once the last of its pods has gone.
    const waits = eni.cordoned || !holdsPrefixes(record.spec) ? usedPrefixes(eni, held) : [];
    // What is granted of a /80 goes with its ENI, after the last pod of either family.
    const isInUse = eni.cordoned && eni.addresses.some((ip) => held.has(ip));
    return eni.withdrawing.filter(
      (ip) =>
        !held.has(ip) &&
        !(isInUse && familyOf(ip) === 6) &&
        !waits.some((prefix) => cidrContains(prefix, ip)),
    );
  });
  if (pending !== undefined && pending.length > 0)
    world.broken('LV-2', `${node}: withdrawals do not end: ${listed(pending)}`);
}

/** Of IPv4. */
const holdsPrefixes = ({ mode, addressFamilies }: NodeNetworkSpec): boolean =>
  mode === 'Prefix' && addressFamilies.includes('IPv4');

const usedPrefixes = ({ prefixes }: SpecEni, held: ReadonlySet<Ip>): readonly Cidr[] =>
  prefixes.filter((prefix) => [...held].some((ip) => cidrContains(prefix, ip)));
