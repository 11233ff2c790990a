// One agent for all nodes of a large cluster, as far as the controller can tell.

import type { Ip } from '../../../src/domain/address/ip.ts';
import type { PodKey } from '../../../src/domain/ids.ts';
import type { NodeNetworkStatus } from '../../../src/domain/ipam/node-network.ts';
import { sameData } from '../../../src/domain/same-data.ts';
import type { SimCluster } from '../../../src/lab/cluster/sim-cluster.ts';
import type { SimEc2 } from '../../../src/lab/ec2/sim-ec2.ts';
import type { Kernel } from '../../../src/lab/kernel/kernel.ts';
import type { NodeNetworkRecord } from '../../../src/ports/cluster.ts';

interface Parts {
  readonly kernel: Kernel;
  readonly ec2: SimEc2;
  readonly cluster: SimCluster;
  readonly servedAt: Map<PodKey, number>;
}

/** Looks at a node again after this time while its ENI or a cooldown is on its way, ms. */
const AGAIN_MS = 500;

/** Follows every NodeNetwork and pod. An address is handed out once EC2 says that its ENI is attached. */
export function answerAsAgent({ kernel, ec2, cluster, servedAt }: Parts): void {
  const clock = kernel.clock('agents');
  const client = cluster.client({ clock });
  const records = new Map<string, NodeNetworkRecord>();
  const podsOf = new Map<string, Set<PodKey>>(); // node -> pods bound to it
  const restingSince = new Map<string, Map<Ip, number>>(); // node -> released address -> since when
  const busy = new Set<string>();
  const dirty = new Set<string>();

  const statusOf = (
    node: string,
    record: NodeNetworkRecord,
  ): { status: NodeNetworkStatus; again: boolean } => {
    const { spec, status: before } = record;
    const now = clock.now();
    const pods = podsOf.get(node) ?? new Set<PodKey>();
    const resting = restingSince.get(node) ?? new Map<Ip, number>();
    restingSince.set(node, resting);
    const used = before.used.filter(({ pod }) => pods.has(pod));
    for (const { ip, pod } of before.used) if (!pods.has(pod)) resting.set(ip, now);
    for (const [ip, since] of resting) if (now - since >= spec.cooldownMs) resting.delete(ip);
    const granted = spec.enis.filter((eni) => !eni.primary);
    const withdrawing = new Set(granted.flatMap((eni) => eni.withdrawing));
    const taken = new Set<Ip>([...used.map(({ ip }) => ip), ...resting.keys()]);
    const withdrawn = granted
      .flatMap((eni) => eni.addresses)
      .filter((ip) => withdrawing.has(ip) && !taken.has(ip));
    const isReady = (eni: (typeof granted)[number]): boolean =>
      ec2.truth.eni(eni.eniId)?.attachment?.status === 'attached';
    const free = granted
      .filter((eni) => !eni.cordoned && isReady(eni))
      .flatMap((eni) => eni.addresses)
      .filter((ip) => !taken.has(ip) && !withdrawing.has(ip));
    const served = new Set(used.map(({ pod }) => pod));
    for (const pod of pods) {
      const ip = served.has(pod) ? undefined : free.shift();
      if (ip === undefined) continue;
      used.push({ ip, pod });
      servedAt.set(pod, now);
    }
    const again = resting.size > 0 || granted.some((eni) => !isReady(eni));
    const status = {
      ...before,
      observedGeneration: record.generation,
      used,
      cooling: [...resting.keys()],
      withdrawn,
    };
    return { status, again };
  };
  const look = async (node: string): Promise<void> => {
    dirty.add(node);
    if (busy.has(node)) return;
    busy.add(node);
    while (dirty.delete(node)) {
      const record = records.get(node);
      if (record === undefined) break;
      const { status, again } = statusOf(node, record);
      if (again) clock.timer(AGAIN_MS, `agent of ${node}`, () => void look(node));
      if (sameData(status, record.status)) continue;
      const written = await client.updateNodeNetworkStatus({ ...record, status });
      if (written.kind === 'ok') records.set(node, written.value);
      else {
        const fresh = await client.get('NodeNetwork', node);
        if (fresh.kind === 'ok' && fresh.value !== undefined) records.set(node, fresh.value);
        dirty.add(node);
      }
    }
    busy.delete(node);
  };
  client.watch({
    kind: 'NodeNetwork',
    onEvent: (event) => {
      for (const record of event.type === 'Snapshot' ? event.objects : [event.object]) {
        if (event.type === 'Deleted') records.delete(record.name);
        else records.set(record.name, record);
        void look(record.name);
      }
    },
  });
  client.watch({
    kind: 'Pod',
    onEvent: (event) => {
      for (const pod of event.type === 'Snapshot' ? event.objects : [event.object]) {
        if (pod.nodeName === undefined) continue;
        const pods = podsOf.get(pod.nodeName) ?? new Set();
        podsOf.set(pod.nodeName, pods);
        if (event.type === 'Deleted') pods.delete(pod.key);
        else pods.add(pod.key);
        void look(pod.nodeName);
      }
    },
  });
}
