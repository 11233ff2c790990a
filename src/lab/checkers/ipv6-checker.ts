// IP-8, IP-9: pods get the families that are set, both addresses of one ENI; every ENI for IPv6 has one /80 and keeps it.

import { cidrContains } from '../../domain/address/cidr.ts';
import { type AddressFamily, isDualStack } from '../../domain/address/families.ts';
import { familyOf, type Ip } from '../../domain/address/ip.ts';
import { ipToBigInt } from '../../domain/address/ip-number.ts';
import type { NodeName } from '../../domain/ids.ts';
import { OWNER_TAG } from '../../domain/ipam/tags.ts';
import type { Ec2Eni } from '../../ports/ec2.ts';
import { holdsForPods } from '../ec2/pod-addresses.ts';
import type { Ec2Change } from '../ec2/region.ts';
import { addressesOf, type Checker, type LiveSandbox, type WorldTruth } from './checker.ts';
import { LAG_MS, type Place, type SelectionModel } from './selection-checker.ts';

export interface Ipv6Sources {
  readonly model: SelectionModel;
  /** Where a node should get ENIs; undefined: nowhere. */
  readonly placeOf: (node: NodeName) => Place | undefined;
}

const IPV4_SPACE = 1n << 32n;
/** What gets to a node by way of a controller alone, which may be stopped again and again before it has decided anything. */
const CONTROLLER_AWAY_MS = 300_000;
const FAMILIES_LAG_MS = LAG_MS + CONTROLLER_AWAY_MS;

export function createIpv6Checker(world: WorldTruth, { model, placeOf }: Ipv6Sources): Checker {
  const lostAt = new Map<string, number>(); // `ENI address` that somebody else took off it -> when
  const isLost = (eniId: string, ip: Ip): boolean =>
    world.now() - (lostAt.get(`${eniId} ${ip}`) ?? Number.NEGATIVE_INFINITY) <= FAMILIES_LAG_MS;
  return {
    onAdded: (sandbox) => {
      checkFamilies(world, model, sandbox);
      checkAlone(world, sandbox);
      checkPair(world, sandbox, isLost);
    },
    onEc2Change: (change) => {
      if (world.isController(change.actor)) return checkChange(world, change);
      if (change.kind !== 'AddressesChanged') return;
      for (const ip of change.unassigned) lostAt.set(`${change.eni.eniId} ${ip}`, world.now());
    },
    atRest: () => {
      for (const { name } of world.cluster.list('Node'))
        if (placeOf(name) !== undefined && !world.isLeftAlone(name)) checkNode(world, name);
    },
  };
}

/** The families of a pod are ones that somebody could take for the node's. */
function checkFamilies(world: WorldTruth, model: SelectionModel, sandbox: LiveSandbox): void {
  const { node, pod } = sandbox;
  const has = addressesOf(sandbox).map((ip) => `IPv${familyOf(ip)}`);
  const possible = model.possibleFamilies(node, FAMILIES_LAG_MS);
  if (possible.some((families) => families.join() === has.join())) return;
  const named = possible.map((families) => families.join(' and ')).join(', or ');
  world.broken('IP-9', `${pod} on ${node} has ${has.join(' and ')}; its node's pods get ${named}`);
}

/** Nobody else lives with its IPv6 address. */
function checkAlone(world: WorldTruth, sandbox: LiveSandbox): void {
  const { ipv6, node, pod, containerId } = sandbox;
  if (ipv6 === undefined || world.isRobbed(sandbox)) return;
  for (const other of world.live.values())
    if (other.containerId !== containerId && addressesOf(other).includes(ipv6) && !world.isRobbed(other))
      world.broken('IP-8', `${ipv6} is live in ${other.pod} on ${other.node} and in ${pod} on ${node}`);
}

/** Both of its addresses are of one ENI, and the IPv6 one ends in the other. */
function checkPair(
  world: WorldTruth,
  sandbox: LiveSandbox,
  isLost: (eniId: string, ip: Ip) => boolean,
): void {
  const { address, ipv6, node, pod } = sandbox;
  if (ipv6 === undefined || world.isRobbed(sandbox)) return;
  const enis = enisOf(world, node);
  // Another ENI of the node may have got the IPv4 address, of which its agent knows nothing yet.
  const ofIpv6 = enis.find((one) => holdsForPods(one, ipv6));
  if (ofIpv6 !== undefined && isLost(ofIpv6.eniId, address)) return;
  const eni = enis.find((one) => holdsForPods(one, address));
  const isOfEni = eni?.ipv6Prefixes.some((prefix) => cidrContains(prefix, ipv6)) ?? true;
  const isDerived = familyOf(address) === 4 && ipToBigInt(ipv6) % IPV4_SPACE === ipToBigInt(address);
  if (!isOfEni || !isDerived)
    world.broken('IP-8', `${pod} has ${address} with ${ipv6}, which do not belong together`);
}

/** A controller gives an ENI one /80 and never takes it. */
function checkChange(world: WorldTruth, change: Ec2Change): void {
  if (change.kind !== 'AddressesChanged' && change.kind !== 'EniCreated') return;
  const { eniId, ipv6Prefixes } = change.eni;
  if (ipv6Prefixes.length > 1)
    world.broken('IP-9', `${eniId} has more than one /80: ${ipv6Prefixes.join(' ')}`);
  const taken = change.kind === 'AddressesChanged' ? (change.ipv6Unassigned ?? []) : [];
  if (taken.length > 0) world.broken('IP-9', `${eniId} was deprived of ${taken.join(' ')}`);
}

/** What the node was told is what holds, and its ENIs have what its pods need. */
function checkNode(world: WorldTruth, node: NodeName): void {
  const spec = world.cluster.nodeNetwork(node)?.spec;
  if (spec === undefined) return;
  const families = world.familiesOf(node);
  if (spec.addressFamilies.join() !== families.join())
    world.broken('IP-9', `${node} gives its pods ${textOf(spec.addressFamilies)}, not ${textOf(families)}`);
  if (!isDualStack(families)) return;
  const leaving = new Set(spec.enis.filter(({ cordoned }) => cordoned).map(({ eniId }) => eniId));
  for (const { eniId, subnetId, ipv6Prefixes } of enisOf(world, node)) {
    const hasBlock = world.ec2.subnet(subnetId)?.ipv6Cidr !== undefined;
    if (hasBlock && !leaving.has(eniId) && ipv6Prefixes.length !== 1)
      world.broken(
        'IP-9',
        `${eniId} of ${node} has ${ipv6Prefixes.length} /80s, and its pods get both families`,
      );
  }
}

const textOf = (families: readonly AddressFamily[]): string => families.join(' and ');

function enisOf(world: WorldTruth, node: NodeName): readonly Ec2Eni[] {
  const instanceId = world.instanceOf(node);
  const attached = instanceId === undefined ? [] : world.ec2.enisOf(instanceId);
  return attached.filter((eni) => eni.tags[OWNER_TAG] !== undefined);
}
