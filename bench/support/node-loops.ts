// The other strategy: a loop per node that calls EC2 by itself, and waits longer after each refusal.

import { setImmediate as macrotask } from 'node:timers/promises';
import type { InstanceId } from '../../src/domain/ids.ts';
import { drawBetween } from '../../src/lab/kernel/draw.ts';
import type { Ec2Outcome } from '../../src/ports/ec2.ts';
import { type Fleet, POD_SUBNET, PODS_GROUP } from '../../src/lab/scenario/simulation/fleet.ts';

/** As AWS's SDKs do it: from a second, doubled each time, at most 20 s, the wait drawn between nothing and that. */
const BACK_OFF_MIN_MS = 1_000;
const BACK_OFF_MAX_MS = 20_000;
/** How often a node looks whether its ENI is attached. It asks its own metadata, which costs no EC2 call. */
const LOOK_MS = 500;
const HOUR_MS = 3_600_000;

/** All nodes begin at one moment; answers how many seconds later the last one has its ENI attached. */
export async function scaleOutByNodeLoops(
  fleet: Fleet,
  nodes: readonly { readonly name: string; readonly instanceId: InstanceId }[],
): Promise<number> {
  const { kernel, ec2 } = fleet;
  const clock = kernel.clock('nodes');
  const random = kernel.random.fork('back-off');
  const client = ec2.client({ name: 'nodes', clock });
  const insist = async <T>(call: () => Promise<Ec2Outcome<T>>): Promise<T> => {
    for (let waitMs = BACK_OFF_MIN_MS; ; waitMs = Math.min(BACK_OFF_MAX_MS, waitMs * 2)) {
      const outcome = await call();
      if (outcome.kind === 'ok') return outcome.value;
      await clock.sleep(drawBetween(random, { min: 0, max: waitMs }), 'back-off');
    }
  };
  const startMs = kernel.now();
  let lastMs = startMs;
  let servingCount = 0;
  const loop = async ({ name, instanceId }: (typeof nodes)[number]): Promise<void> => {
    const { eniId } = await insist(() =>
      client.createNetworkInterface({
        clientToken: name,
        subnetId: POD_SUBNET,
        securityGroupIds: [PODS_GROUP],
        secondaryAddressCount: 2,
        prefixCount: 0,
        ipv6PrefixCount: 0,
        description: name,
        tags: {},
      }),
    );
    const attachmentId = await insist(() =>
      client.attachNetworkInterface({ eniId, instanceId, deviceIndex: 1, networkCardIndex: 0 }),
    );
    while (ec2.truth.eni(eniId)?.status !== 'in-use') await clock.sleep(LOOK_MS, 'attached?');
    servingCount += 1;
    lastMs = kernel.now();
    await insist(() => client.setDeleteOnTermination({ eniId, attachmentId }));
  };
  const loops = Promise.all(nodes.map(loop));
  await macrotask();
  await fleet.run(2 * HOUR_MS, () => servingCount === nodes.length);
  if (servingCount < nodes.length) throw new Error(`${servingCount} of ${nodes.length} nodes serve`);
  await fleet.run(HOUR_MS);
  await loops;
  return (lastMs - startMs) / 1000;
}
