// The controller with the AWS adapter: what it does in the simulation it also does through SDK and HTTP, in real time.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../src/adapters/system/clock.ts';
import { systemRandom } from '../../src/adapters/system/random.ts';
import { parseControllerSettings } from '../../src/controller/controller-settings.ts';
import { startController } from '../../src/controller/start-controller.ts';
import { type NodeName, podKey } from '../../src/domain/ids.ts';
import type { SpecEni } from '../../src/domain/ipam/node-network.ts';
import { createSimCluster, type SimCluster } from '../../src/lab/cluster/sim-cluster.ts';
import { must } from '../../src/lab/ec2/testing.ts';
import { calm } from '../../src/lab/faults/fault-profile.ts';
import { makeSimVpc } from '../../src/lab/scenario/simulation/sim-vpc.ts';
import type { Ec2 } from '../../src/ports/ec2.ts';
import type { Log } from '../../src/ports/log.ts';
import { unknown } from '../../src/ports/outcome.ts';
import { createWireWorld, type WireOptions, type WireWorld } from './aws-support.ts';

const NODE = 'n1' as NodeName;
const POLL_MS = 50;
const POLL_MAX = 1200;

const quiet = (): void => undefined;
const log: Log = { debug: quiet, info: quiet, warn: quiet, error: quiet, mark: quiet };

async function eventually(what: string, holds: () => boolean): Promise<void> {
  for (let poll = 0; poll < POLL_MAX; poll++) {
    if (holds()) return;
    await systemClock.sleep(POLL_MS, 'poll');
  }
  assert.fail(`never: ${what}`);
}

interface Running extends WireWorld {
  readonly cluster: SimCluster;
  readonly podEnis: () => readonly SpecEni[];
}

/** A controller, and a node that has joined. */
async function withController(
  options: WireOptions,
  work: (running: Running) => Promise<void>,
): Promise<void> {
  const world = await createWireWorld(options);
  const cluster = createSimCluster({ clock: systemClock, random: systemRandom, profile: () => calm.cluster });
  const vpc = makeSimVpc(world.sim, cluster);
  const settings = parseControllerSettings({
    AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG: 'true',
    WARM_IP_TARGET: '1',
  });
  assert.ok(settings.ok);
  const { instanceId } = must(
    world.sim.admin.launchInstance({
      instanceType: 'm5.large',
      subnetId: vpc.nodeSubnets.get('z-a')!,
      securityGroupIds: [vpc.nodesGroup],
    }),
  );
  await world.run(async () => {
    const controller = startController({
      cluster: cluster.client(),
      ec2: world.ec2,
      clock: systemClock,
      random: systemRandom,
      log,
      settings: settings.value,
    });
    try {
      cluster.admin.applyNode({ name: NODE, instanceId, zone: 'z-a' });
      const podEnis = (): readonly SpecEni[] =>
        (cluster.admin.nodeNetwork(NODE)?.spec.enis ?? []).filter((eni) => !eni.primary);
      await work({ ...world, instanceId, cluster, podEnis });
    } finally {
      await controller.stop();
    }
    assert.deepEqual(world.sim.truth.brokenRules(), []);
  });
}

test('a node gets its ENI and its pods their addresses, in as few calls as in the simulation', () =>
  withController({}, async ({ sim, instanceId, cluster, podEnis }) => {
    await eventually('the node has an address', () => podEnis()[0]?.addresses.length === 1);
    await eventually('the ENI goes with its node', () =>
      sim.truth.enisOf(instanceId).every((eni) => eni.attachment?.deleteOnTermination === true),
    );
    assert.equal(sim.calls.writeCount(), 3, 'create, attach, delete-on-termination');
    for (const name of ['p1', 'p2', 'p3', 'p4', 'p5', 'p6']) {
      cluster.admin.applyPod({ namespace: 'default', name });
      cluster.admin.bindPod(podKey('default', name), NODE);
    }
    await eventually('six pods and one warm', () => podEnis()[0]?.addresses.length === 7);
    const [secondary] = sim.truth.enisOf(instanceId).filter((eni) => eni.attachment?.deviceIndex !== 0);
    assert.deepEqual([...(secondary?.addresses ?? [])].sort(), podEnis()[0]?.addresses.toSorted());
  }));

test('[ENI-6] a create whose answer is lost on the wire makes one ENI', async () => {
  let lostCount = 0;
  const losingTheFirst = (ec2: Ec2): Ec2 => ({
    ...ec2,
    createNetworkInterface: async (request) => {
      const outcome = await ec2.createNetworkInterface(request);
      if (lostCount > 0) return outcome;
      lostCount += 1;
      return unknown('lost');
    },
  });
  await withController({ through: losingTheFirst }, async ({ sim, podEnis }) => {
    await eventually('the node has an address', () => podEnis()[0]?.addresses.length === 1);
    assert.equal(lostCount, 1);
    assert.equal(sim.truth.enis().filter((eni) => 'eniwhere.io/cluster' in eni.tags).length, 1);
  });
});
