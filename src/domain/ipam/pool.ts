// The node's addresses as the planner counts them.

import { grantedFamily } from '../address/families.ts';
import { type Cidr, familyOf, type Ip } from '../address/ip.ts';
import { isListedIpv6Address, listedIpv6Addresses } from '../address/ipv6-prefix.ts';
import { prefixAddresses } from '../address/prefix.ts';
import type { EniId, PodKey } from '../ids.ts';
import { ADDRESSES_PER_PREFIX } from '../instance/slots.ts';
import { slotCount } from './eni-room.ts';
import { type EniRole, eniRole } from './eni-role.ts';
import { type Filling, fillingOf } from './filling.ts';
import { modeInForce } from './mode.ts';
import { emptyStatus } from './node-network.ts';
import type { EniView, NodeView } from './node-view.ts';
import type { PoolCounts } from './warm-targets.ts';

/** A prefix of an ENI. What is asked back, is asked back whole. */
export interface PoolPrefix {
  readonly prefix: Cidr;
  readonly addresses: readonly Ip[];
  /** Every address could be given to a pod now. */
  readonly isIdle: boolean;
  /** A pod has an address of it. */
  readonly isUsed: boolean;
  /** The controller asked for addresses of it back. */
  readonly isAsked: boolean;
  /** ... for every one of them. */
  readonly isWhollyAsked: boolean;
  /** The agent has let go of every address: this, and nothing else, may be unassigned (IP-6). */
  readonly isWithdrawn: boolean;
}

/** One owned ENI with its addresses, those of its prefixes among them, sorted by what may be done with them. */
export interface PoolEni {
  readonly eni: EniView;
  readonly role: EniRole;
  /** EC2 has it on the ENI, and the agent may be (or has been) told of it. */
  readonly published: readonly Ip[];
  readonly used: readonly Ip[];
  readonly cooling: readonly Ip[];
  /** Neither used, cooling nor being withdrawn, and of the family that is handed out. */
  readonly free: readonly Ip[];
  /** The controller asked for it back and the agent has not answered. */
  readonly withdrawing: readonly Ip[];
  /** The agent has let go of it: this, and nothing else, may be unassigned (IP-6). */
  readonly withdrawn: readonly Ip[];
  /** EC2 has it on the ENI, and the agent has not forgotten yet that it let go of it. */
  readonly returning: readonly Ip[];
  /** Of the family that is handed out no more: nobody uses them, and they are to go. */
  readonly obsolete: readonly Ip[];
  readonly prefixes: readonly PoolPrefix[];
  /** Of the ENI's /80, granted one by one. */
  readonly ipv6: readonly Ip[];
  /** Of all of these, those that drain: single addresses where prefixes are held, or the reverse; another family. */
  readonly draining: ReadonlySet<Ip>;
}

export interface Pool {
  /** Owned ENIs that are attached or attaching, by device index. */
  readonly enis: readonly PoolEni[];
  /** Owned ENIs that are not attached and not detaching, by id. */
  readonly unattached: readonly PoolEni[];
  /** Pods bound to the node without an address. */
  readonly waiting: readonly PodKey[];
  readonly filling: Filling;
  readonly counts: PoolCounts;
}

const byDeviceIndex = (a: PoolEni, b: PoolEni): number =>
  (a.eni.attachment?.deviceIndex ?? 0) - (b.eni.attachment?.deviceIndex ?? 0);

const byId = (a: PoolEni, b: PoolEni): number => (a.eni.eniId < b.eni.eniId ? -1 : 1);

/** Sorts the addresses of every owned ENI and counts what new pods may use. */
export function poolOf(view: NodeView): Pool {
  const status = view.published?.status ?? emptyStatus;
  const marks = {
    used: new Set<Ip>(status.used.map((one) => one.ip)),
    cooling: new Set<Ip>(status.cooling),
    withdrawn: new Set<Ip>(status.withdrawn),
    withdrawing: new Map<EniId, ReadonlySet<Ip>>(
      (view.published?.spec.enis ?? []).map((one) => [one.eniId, new Set(one.withdrawing)]),
    ),
  };
  const filling = fillingOf(view);
  const owned = view.enis.filter((eni) => eni.owned && !eni.primary);
  const sorted = owned.map((eni) => sortAddresses(view, eni, { marks, filling }));
  const enis = sorted
    .filter(({ eni }) => eni.attachment !== undefined && eni.attachment.state !== 'detaching')
    .sort(byDeviceIndex);
  const served = new Set<PodKey>(status.used.map((one) => one.pod));
  const waiting = view.pods.filter((pod) => !served.has(pod));
  return {
    enis,
    unattached: sorted.filter(({ eni }) => eni.attachment === undefined).sort(byId),
    waiting,
    filling,
    counts: countsOf(view, { enis, filling, waiting }),
  };
}

function countsOf(view: NodeView, of: Pick<Pool, 'enis' | 'filling' | 'waiting'>): PoolCounts {
  const usable = of.enis.filter(({ role }) => role === 'current' || role === 'kept');
  const sum = (count: (one: PoolEni) => number): number =>
    usable.reduce((total, one) => total + count(one), 0);
  const staying = (one: PoolEni, ips: readonly Ip[]): number =>
    one.draining.size === 0 ? ips.length : ips.filter((ip) => !one.draining.has(ip)).length;
  const usedOfDraining = (one: PoolEni): number => one.used.length - staying(one, one.used);
  return {
    total: sum((one) => staying(one, one.published) - staying(one, one.withdrawn) + usedOfDraining(one)),
    available: sum((one) => staying(one, one.free)),
    draining: sum((one) => one.free.length - staying(one, one.free)),
    returning: sum((one) => staying(one, one.returning)),
    freeSingleCount: sum(freeSinglesOf),
    idlePrefixCount: of.filling.isIpv6
      ? sum(({ free }) => (free.length === of.filling.unit ? 1 : 0))
      : sum(({ prefixes }) => prefixes.filter(({ isIdle }) => isIdle).length),
    demand: of.waiting.length,
    choosersShort: choosersShort(view, of),
    slotsPerEni: slotCount(view),
    blockSize: blockSizeOf(view, of.filling),
    unit: of.filling.unit,
    maxPods: view.maxPods,
  };
}

/** Pods that chose the ENIConfig of the pool, beyond the addresses that the ENIs made for it have for them. */
function choosersShort(view: NodeView, { enis, waiting }: Pick<Pool, 'enis' | 'waiting'>): number {
  const { selection, choosing } = view;
  if (choosing === undefined || selection.kind !== 'EniConfig') return 0;
  const choosers = new Set<PodKey>(
    choosing.pods.flatMap((one) =>
      one.kind === 'EniConfig' && one.eniConfig === selection.name ? [one.pod] : [],
    ),
  );
  const forThem = enis
    .filter(({ role }) => role === 'current')
    .reduce((sum, { free, returning }) => sum + free.length + returning.length, 0);
  return Math.max(0, waiting.filter((pod) => choosers.has(pod)).length - forThem);
}

function freeSinglesOf({ eni, free, draining }: PoolEni): number {
  if (eni.addresses.length === 0) return 0;
  const isFree = new Set<Ip>(free);
  return eni.addresses.filter((ip) => isFree.has(ip) && !draining.has(ip)).length;
}

interface AddressMarks {
  readonly used: ReadonlySet<Ip>;
  readonly cooling: ReadonlySet<Ip>;
  readonly withdrawn: ReadonlySet<Ip>;
  readonly withdrawing: ReadonlyMap<EniId, ReadonlySet<Ip>>;
}

function sortAddresses(
  view: NodeView,
  eni: EniView,
  { marks, filling }: { readonly marks: AddressMarks; readonly filling: Filling },
): PoolEni {
  const asked = marks.withdrawing.get(eni.eniId) ?? new Set<Ip>();
  const blocks = eni.prefixes
    .filter((prefix) => eni.doubtful?.has(prefix) !== true)
    .map((prefix) => ({ prefix, addresses: prefixAddresses(prefix) }));
  const singles = eni.addresses.filter((ip) => eni.doubtful?.has(ip) !== true);
  const ipv4 = [...singles, ...blocks.flatMap(({ addresses }) => addresses)];
  const ipv6 = ipv6Of(view, eni, marks);
  const all = [...ipv4, ...ipv6];
  // An address that EC2 gave us again while the agent still lists the old grant as withdrawn waits until the agent has
  // forgotten it: published earlier, the agent could not tell the new grant from the old (WD-3).
  const isReturning = (ip: Ip): boolean => marks.withdrawn.has(ip) && !asked.has(ip);
  const published = all.filter((ip) => !isReturning(ip));
  const withdrawn = published.filter((ip) => marks.withdrawn.has(ip));
  const withdrawing = published.filter((ip) => asked.has(ip) && !marks.withdrawn.has(ip));
  const used = published.filter((ip) => marks.used.has(ip));
  const cooling = published.filter((ip) => marks.cooling.has(ip) && !marks.used.has(ip));
  const taken = new Set<Ip>([...withdrawn, ...withdrawing, ...used, ...cooling]);
  const family = grantedFamily(view.settings.addressFamilies);
  const free = published.filter((ip) => !taken.has(ip) && familyOf(ip) === family);
  const role = eniRole(view, eni);
  const isFree = blocks.length === 0 ? undefined : new Set<Ip>(free);
  return {
    eni,
    role,
    published,
    used,
    cooling,
    free,
    withdrawing,
    withdrawn,
    ipv6,
    returning: all.filter((ip) => isReturning(ip) && familyOf(ip) === family),
    obsolete: published.filter(
      (ip) => familyOf(ip) !== family && (!taken.has(ip) || (marks.cooling.has(ip) && !marks.used.has(ip))),
    ),
    prefixes: blocks.map(({ prefix, addresses }) => ({
      prefix,
      addresses,
      isIdle: addresses.every((ip) => isFree?.has(ip)),
      isUsed: addresses.some((ip) => marks.used.has(ip)),
      isAsked: addresses.some((ip) => asked.has(ip)),
      isWhollyAsked: addresses.every((ip) => asked.has(ip)),
      isWithdrawn: addresses.every((ip) => asked.has(ip) && marks.withdrawn.has(ip)),
    })),
    // What an ENI of an earlier choice holds stays as it is: its slots are filled no more.
    draining: new Set([
      ...(role === 'current' && !filling.isIpv6 ? drainingOf(filling, singles, blocks) : []),
      ...all.filter((ip) => familyOf(ip) !== family),
    ]),
  };
}

const drainingOf = (
  filling: Filling,
  singles: readonly Ip[],
  blocks: readonly { readonly addresses: readonly Ip[] }[],
): readonly Ip[] => [
  ...(filling.singlesStay ? [] : singles),
  ...(filling.prefixesStay ? [] : blocks.flatMap(({ addresses }) => addresses)),
];

/**
 * The addresses of an ENI's /80 that are granted one by one: to pods without IPv4; and, from an earlier time of such pods,
 * what the agent has been granted and has not let go of, or says that pods have or had a moment ago: a spec may have lost
 * that with an ENI that was off the instance for a while, or with its object. Nothing of EC2's is given back with them, so
 * that ends it.
 */
function ipv6Of(view: NodeView, eni: EniView, marks: AddressMarks): readonly Ip[] {
  const { withdrawn, withdrawing, used, cooling } = marks;
  if (grantedFamily(view.settings.addressFamilies) === 6)
    return eni.ipv6Prefixes.flatMap(listedIpv6Addresses);
  const published = view.published?.spec.enis.find((one) => one.eniId === eni.eniId)?.addresses ?? [];
  const asked = withdrawing.get(eni.eniId);
  const left = published.filter(
    (ip) => familyOf(ip) === 6 && !(withdrawn.has(ip) && asked?.has(ip) === true),
  );
  const isLost = (ip: Ip): boolean =>
    familyOf(ip) === 6 &&
    !published.includes(ip) &&
    eni.ipv6Prefixes.some((prefix) => isListedIpv6Address(prefix, ip));
  return [...left, ...[...used, ...cooling].filter(isLost)];
}

function blockSizeOf(view: NodeView, { isIpv6 }: Filling): number {
  if (isIpv6) return 1;
  return modeInForce(view.settings.mode, view.limits) === 'Prefix' ? ADDRESSES_PER_PREFIX : 1;
}
