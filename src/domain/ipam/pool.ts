// The node's addresses as the planner counts them.

import type { Ip } from '../address/ip.ts';
import type { EniId, PodKey } from '../ids.ts';
import { type EniRole, eniRole } from './eni-role.ts';
import { emptyStatus } from './node-network.ts';
import type { EniView, NodeView } from './node-view.ts';
import type { PoolCounts } from './warm-targets.ts';

/** One owned ENI with its addresses sorted by what may be done with them. */
export interface PoolEni {
  readonly eni: EniView;
  readonly role: EniRole;
  /** EC2 has it on the ENI, and the agent may be (or has been) told of it. */
  readonly published: readonly Ip[];
  readonly used: readonly Ip[];
  readonly cooling: readonly Ip[];
  /** Neither used, cooling nor being withdrawn. */
  readonly free: readonly Ip[];
  /** The controller asked for it back and the agent has not answered. */
  readonly withdrawing: readonly Ip[];
  /** The agent has let go of it: this, and nothing else, may be unassigned (IP-6). */
  readonly withdrawn: readonly Ip[];
}

export interface Pool {
  /** Owned ENIs that are attached or attaching, by device index. */
  readonly enis: readonly PoolEni[];
  /** Owned ENIs that are not attached and not detaching, by id. */
  readonly unattached: readonly PoolEni[];
  /** Pods bound to the node without an address. */
  readonly waiting: readonly PodKey[];
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
  const owned = view.enis.filter((eni) => eni.owned && !eni.primary);
  const sorted = owned.map((eni) => sortAddresses(view, eni, marks));
  const enis = sorted
    .filter(({ eni }) => eni.attachment !== undefined && eni.attachment.state !== 'detaching')
    .sort(byDeviceIndex);
  const served = new Set<PodKey>(status.used.map((one) => one.pod));
  const waiting = view.pods.filter((pod) => !served.has(pod));
  const usable = enis.filter(({ role }) => role === 'current' || role === 'kept');
  const sum = (count: (one: PoolEni) => number): number =>
    usable.reduce((total, one) => total + count(one), 0);
  return {
    enis,
    unattached: sorted.filter(({ eni }) => eni.attachment === undefined).sort(byId),
    waiting,
    counts: {
      total: sum((one) => one.published.length - one.withdrawn.length),
      available: sum((one) => one.free.length),
      demand: waiting.length,
      slotsPerEni: view.limits.ipv4PerEniMax - 1,
      maxPods: view.maxPods,
    },
  };
}

interface AddressMarks {
  readonly used: ReadonlySet<Ip>;
  readonly cooling: ReadonlySet<Ip>;
  readonly withdrawn: ReadonlySet<Ip>;
  readonly withdrawing: ReadonlyMap<EniId, ReadonlySet<Ip>>;
}

function sortAddresses(view: NodeView, eni: EniView, marks: AddressMarks): PoolEni {
  const asked = marks.withdrawing.get(eni.eniId) ?? new Set<Ip>();
  // An address that EC2 gave us again while the agent still lists the old grant as withdrawn waits until the agent has
  // forgotten it: published earlier, the agent could not tell the new grant from the old (WD-3).
  const published = eni.addresses.filter(
    (ip) => eni.doubtful?.has(ip) !== true && (!marks.withdrawn.has(ip) || asked.has(ip)),
  );
  const withdrawn = published.filter((ip) => marks.withdrawn.has(ip));
  const withdrawing = published.filter((ip) => asked.has(ip) && !marks.withdrawn.has(ip));
  const used = published.filter((ip) => marks.used.has(ip));
  const cooling = published.filter((ip) => marks.cooling.has(ip) && !marks.used.has(ip));
  const taken = new Set<Ip>([...withdrawn, ...withdrawing, ...used, ...cooling]);
  return {
    eni,
    role: eniRole(view, eni),
    published,
    used,
    cooling,
    free: published.filter((ip) => !taken.has(ip)),
    withdrawing,
    withdrawn,
  };
}
