// One agent for all nodes of a large cluster, as far as the controller can tell.

import type { Ip } from '../../../domain/address/ip.ts';
import type { PodKey } from '../../../domain/ids.ts';
import type { NodeNetworkStatus, SpecEni } from '../../../domain/ipam/node-network.ts';
import { sameData } from '../../../domain/same-data.ts';
import type { AgentCluster, NodeNetworkRecord } from '../../../ports/cluster.ts';
import type { SimCluster } from '../../cluster/sim-cluster.ts';
import type { SimEc2 } from '../../ec2/sim-ec2.ts';
import type { Kernel } from '../../kernel/kernel.ts';

interface Parts {
  readonly kernel: Kernel;
  readonly ec2: SimEc2;
  readonly cluster: SimCluster;
  readonly servedAt: Map<PodKey, number>;
}

/** Looks at a node again after this time while its ENI or a cooldown is on its way, ms. */
const AGAIN_MS = 500;

/** What is remembered of one node. */
interface Seat {
  record: NodeNetworkRecord | undefined;
  readonly pods: Set<PodKey>;
  /** released address -> since when it rests */
  readonly resting: Map<Ip, number>;
  isBusy: boolean;
  isDirty: boolean;
}

/** Follows every NodeNetwork and pod. An address is handed out once EC2 says that its ENI is attached. */
export function answerAsAgent({ kernel, ec2, cluster, servedAt }: Parts): void {
  const clock = kernel.clock('agents');
  const client = cluster.client({ clock });
  const seats = new Map<string, Seat>(); // node -> what is remembered of it
  const seatOf = (node: string): Seat => {
    const seat: Seat = seats.get(node) ?? {
      record: undefined,
      pods: new Set(),
      resting: new Map(),
      isBusy: false,
      isDirty: false,
    };
    seats.set(node, seat);
    return seat;
  };
  const isReady = (eni: SpecEni): boolean => ec2.truth.eni(eni.eniId)?.attachment?.status === 'attached';
  const look = async (node: string): Promise<void> => {
    const seat = seatOf(node);
    seat.isDirty = true;
    if (seat.isBusy) return;
    seat.isBusy = true;
    while (seat.isDirty && seat.record !== undefined) {
      seat.isDirty = false;
      const { record } = seat;
      const { status, served, again } = statusFor(seat, record, { isReady, now: clock.now() });
      for (const pod of served) servedAt.set(pod, clock.now());
      if (again) clock.timer(AGAIN_MS, `agent of ${node}`, () => void look(node));
      if (!sameData(status, record.status)) await write(client, seat, { ...record, status });
    }
    seat.isBusy = false;
  };
  client.watch({
    kind: 'NodeNetwork',
    onEvent: (event) => {
      for (const record of event.type === 'Snapshot' ? event.objects : [event.object]) {
        seatOf(record.name).record = event.type === 'Deleted' ? undefined : record;
        void look(record.name);
      }
    },
  });
  client.watch({
    kind: 'Pod',
    onEvent: (event) => {
      for (const { nodeName, key } of event.type === 'Snapshot' ? event.objects : [event.object]) {
        if (nodeName === undefined) continue;
        if (event.type === 'Deleted') seatOf(nodeName).pods.delete(key);
        else seatOf(nodeName).pods.add(key);
        void look(nodeName);
      }
    },
  });
}

/** A conflict, or an outage: the newest object is read, and looked at again. */
async function write(client: AgentCluster, seat: Seat, record: NodeNetworkRecord): Promise<void> {
  const written = await client.updateNodeNetworkStatus(record);
  if (written.kind === 'ok') {
    seat.record = written.value;
    return;
  }
  const fresh = await client.get('NodeNetwork', record.name);
  if (fresh.kind === 'ok') seat.record = fresh.value;
  seat.isDirty = true;
}

interface Moment {
  readonly isReady: (eni: SpecEni) => boolean;
  readonly now: number;
}

interface Answer {
  readonly status: NodeNetworkStatus;
  /** Pods that get their address now. */
  readonly served: readonly PodKey[];
  /** Something is on its way. */
  readonly again: boolean;
}

function statusFor(seat: Seat, record: NodeNetworkRecord, { isReady, now }: Moment): Answer {
  const { pods, resting } = seat;
  const { spec, status: before } = record;
  for (const { ip, pod } of before.used) if (!pods.has(pod)) resting.set(ip, now);
  for (const [ip, since] of resting) if (now - since >= spec.cooldownMs) resting.delete(ip);
  const used = before.used.filter(({ pod }) => pods.has(pod));
  const granted = spec.enis.filter((eni) => !eni.primary);
  const withdrawing = new Set(granted.flatMap((eni) => eni.withdrawing));
  const taken = new Set<Ip>([...used.map(({ ip }) => ip), ...resting.keys()]);
  const free = granted
    .filter((eni) => !eni.cordoned && isReady(eni))
    .flatMap((eni) => eni.addresses)
    .filter((ip) => !taken.has(ip) && !withdrawing.has(ip));
  const holders = new Set(used.map(({ pod }) => pod));
  const served = [...pods].filter((pod) => !holders.has(pod)).slice(0, free.length);
  const status = {
    ...before,
    observedGeneration: record.generation,
    used: [...used, ...served.flatMap((pod, n) => (free[n] === undefined ? [] : [{ ip: free[n], pod }]))],
    cooling: [...resting.keys()],
    withdrawn: [...withdrawing].filter((ip) => !taken.has(ip)),
  };
  return { status, served, again: resting.size > 0 || granted.some((eni) => !isReady(eni)) };
}
