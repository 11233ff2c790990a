// The controller against the simulated EC2 and cluster on a virtual clock, without faults: what operators see.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type NodeName, podKey } from '../domain/ids.ts';
import type { NodeNetworkStatus } from '../domain/ipam/node-network.ts';
import { createSimCluster } from '../lab/cluster/sim-cluster.ts';
import type { Ec2Profile } from '../lab/ec2/ec2-profile.ts';
import { createSimEc2 } from '../lab/ec2/sim-ec2.ts';
import { calm } from '../lab/faults/fault-profile.ts';
import { createKernel } from '../lab/kernel/kernel.ts';
import { applyEniConfig, makeSimVpc } from '../lab/scenario/simulation/sim-vpc.ts';
import type { Log } from '../ports/log.ts';
import { parseControllerSettings } from './controller-settings.ts';
import { startController } from './start-controller.ts';

const NODE = 'n1' as NodeName;
const SECOND_MS = 1000;
const drain = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function createWorld(env: Record<string, string> = {}, profile: Partial<Ec2Profile> = {}) {
  const kernel = createKernel({ seed: 7 });
  const clock = kernel.clock('world');
  const ec2 = createSimEc2({
    clock,
    random: kernel.random.fork('ec2'),
    profile: () => ({ ...calm.ec2, ...profile }),
  });
  const cluster = createSimCluster({
    clock,
    random: kernel.random.fork('cluster'),
    profile: () => calm.cluster,
  });
  const vpc = makeSimVpc(ec2, cluster);
  const marks: string[] = [];
  const quiet = (): void => undefined;
  const log: Log = { debug: quiet, info: quiet, warn: quiet, error: quiet, mark: (name) => marks.push(name) };
  const settings = parseControllerSettings({
    AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG: 'true',
    WARM_IP_TARGET: '1',
    ...env,
  });
  assert.ok(settings.ok);
  const own = kernel.clock('controller');
  const controller = startController({
    cluster: cluster.client({ clock: own }),
    ec2: ec2.client({ name: 'controller', clock: own }),
    clock: own,
    random: kernel.random.fork('controller'),
    log,
    settings: settings.value,
  });
  const world = {
    ec2,
    cluster,
    vpc,
    marks,
    controller,
    joinNode: () => {
      const subnetId = vpc.nodeSubnets.get('z-a')!;
      const launched = ec2.admin.launchInstance({
        instanceType: 'm5.large',
        subnetId,
        securityGroupIds: [vpc.nodesGroup],
      });
      assert.ok(launched.ok);
      cluster.admin.applyNode({ name: NODE, instanceId: launched.value.instanceId, zone: 'z-a' });
    },
    startPods: (count: number) => {
      for (let n = 1; n <= count; n += 1) {
        cluster.admin.applyPod({ namespace: 'default', name: `p${n}` });
        cluster.admin.bindPod(podKey('default', `p${n}`), NODE);
      }
    },
    run: async (seconds: number) => {
      const end = await kernel.run({ untilMs: kernel.now() + seconds * SECOND_MS, drain });
      assert.equal(end.kind, 'TimeUp');
    },
    podEnis: () => (cluster.admin.nodeNetwork(NODE)?.spec.enis ?? []).filter((eni) => !eni.primary),
    condition: (type: string) =>
      cluster.admin.nodeNetwork(NODE)?.status.conditions.find((condition) => condition.type === type),
    eventTexts: () =>
      cluster.admin
        .events()
        .map(({ about, reason, message }) => `${about.kind}/${about.name} ${reason}: ${message}`),
    /** What an agent would answer. */
    answer: async (change: Partial<NodeNetworkStatus>) => {
      const record = cluster.admin.nodeNetwork(NODE)!;
      const outcome = cluster
        .client()
        .updateNodeNetworkStatus({ ...record, status: { ...record.status, ...change } });
      await world.run(1);
      assert.equal((await outcome).kind, 'ok');
    },
  };
  return world;
}

test('a node that joins gets an ENI of its zone with its warm pool, in three EC2 writes', async () => {
  const world = createWorld();
  world.joinNode();
  await world.run(30);
  const [eni] = world.podEnis();
  assert.equal(eni?.eniConfig, 'z-a');
  assert.deepEqual(eni?.securityGroupIds, [world.vpc.podsGroup]);
  assert.equal(eni?.addresses.length, 1);
  assert.equal(world.ec2.calls.writeCount(), 3, 'create, attach, delete-on-termination');
  assert.equal(world.condition('EniConfigSelected')?.status, 'True');
});

test('pods bound to the node draw addresses at once, all in one call', async () => {
  const world = createWorld();
  world.joinNode();
  await world.run(30);
  const before = world.ec2.calls.writeCount();
  world.startPods(6);
  await world.run(3);
  assert.equal(world.podEnis()[0]?.addresses.length, 7, 'six pods and one warm');
  assert.ok(world.ec2.calls.writeCount() - before <= 2);
});

test('[SEL-1] a name that does not exist: no ENI, a condition and Events that say what to do; healed without any further action', async () => {
  const world = createWorld();
  world.joinNode();
  world.cluster.admin.setAnnotation({ kind: 'Node', name: NODE }, 'k8s.amazonaws.com/eniConfig', 'later');
  world.startPods(1);
  await world.run(60);
  assert.deepEqual(world.podEnis(), []);
  const condition = world.condition('EniConfigSelected');
  assert.deepEqual([condition?.status, condition?.reason], ['False', 'EniConfigNotFound']);
  assert.match(condition?.message ?? '', /"later"/);
  assert.ok(
    world
      .eventTexts()
      .some((text) => text.startsWith('Node/n1 EniConfigNotFound') && text.includes('"later"')),
  );
  assert.ok(world.eventTexts().some((text) => text.startsWith('Pod/p1 EniConfigNotFound')));
  applyEniConfig(world.cluster, world.vpc, { ...world.vpc.podSubnets[0]!, eniConfig: 'later' });
  await world.run(10);
  assert.equal(world.podEnis()[0]?.eniConfig, 'later');
  assert.equal(world.condition('EniConfigSelected')?.status, 'True');
});

test("[SEL-6] with the knob off, the ENI is in the node's own subnet with its groups", async () => {
  const world = createWorld({ AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG: 'false' });
  world.joinNode();
  await world.run(30);
  const [eni] = world.podEnis();
  assert.equal(eni?.subnetId, world.vpc.nodeSubnets.get('z-a'));
  assert.deepEqual(eni?.securityGroupIds, [world.vpc.nodesGroup]);
});

test('[LV-4] [API-3] a full subnet: the Event names it, EC2 is not pestered, and room is used within seconds', async () => {
  const world = createWorld();
  world.joinNode();
  await world.run(30);
  const { subnetId } = world.vpc.podSubnets[0]!;
  world.ec2.admin.occupyAddresses(subnetId, 1000);
  world.startPods(3);
  await world.run(60);
  const calls = world.ec2.calls.writeCount();
  assert.equal(world.condition('AddressesAvailable')?.reason, 'SubnetFull');
  assert.ok(
    world.eventTexts().some((text) => text.startsWith('Pod/p2 SubnetFull') && text.includes(subnetId)),
  );
  await world.run(300);
  assert.ok(world.ec2.calls.writeCount() - calls <= 5, 'at most one try a minute');
  world.ec2.admin.vacateAddresses(subnetId, 10);
  await world.run(15);
  assert.ok((world.podEnis()[0]?.addresses.length ?? 0) >= 3);
});

test('[SEL-15] a node that is left alone by its label gets nothing, keeps what it has, and goes on without the label', async () => {
  const world = createWorld();
  const label = (value: string | undefined): void =>
    world.cluster.admin.setLabel({ kind: 'Node', name: NODE }, 'eniwhere.io/managed', value);
  world.joinNode();
  label('false');
  world.startPods(3);
  await world.run(30);
  assert.equal(world.ec2.calls.writeCount(), 0);
  assert.equal(world.cluster.admin.nodeNetwork(NODE), undefined);
  label(undefined);
  await world.run(30);
  const addressCount = world.podEnis()[0]?.addresses.length;
  assert.equal(addressCount, 4, 'three pods and one warm');
  label('false');
  await world.run(1);
  const before = world.ec2.calls.writeCount();
  world.startPods(9);
  await world.run(60);
  assert.equal(world.ec2.calls.writeCount(), before);
  assert.equal(world.podEnis()[0]?.addresses.length, addressCount);
});

test('a missing permission is told with the action to allow', async () => {
  const world = createWorld();
  world.ec2.admin.denyAction('CreateNetworkInterface');
  world.joinNode();
  world.startPods(1);
  await world.run(60);
  const condition = world.condition('AddressesAvailable');
  assert.equal(condition?.reason, 'Unauthorized');
  assert.match(condition?.message ?? '', /ec2:CreateNetworkInterface/);
  world.ec2.admin.allowAction('CreateNetworkInterface');
  await world.run(90);
  assert.equal(world.podEnis().length, 1);
});

test('[WD-4] addresses are unassigned only once the agent has let go of them', async () => {
  const world = createWorld({ ENIWHERE_EXCESS_HOLD_SECONDS: '5' });
  world.joinNode();
  world.startPods(6);
  await world.run(30);
  for (let n = 1; n <= 6; n += 1) world.cluster.admin.deletePod(podKey('default', `p${n}`));
  await world.run(60);
  const [eni] = world.podEnis();
  assert.equal(eni?.addresses.length, 7);
  assert.equal(eni?.withdrawing.length, 6, 'asked for, not answered');
  const [first, second] = eni?.withdrawing ?? [];
  await world.answer({ withdrawn: [first!, second!] });
  await world.run(10);
  assert.deepEqual(world.podEnis()[0]?.addresses.length, 5);
  assert.ok(![first, second].some((ip) => world.podEnis()[0]?.addresses.includes(ip!)));
});

test('[ENI-2] foreign ENIs on the instance are left alone and counted', async () => {
  const world = createWorld();
  world.joinNode();
  const { instanceId } = world.cluster.admin.list('Node')[0]!;
  const subnetId = world.vpc.nodeSubnets.get('z-a')!;
  for (const _ of [1, 2])
    assert.ok(world.ec2.admin.createForeignEni({ subnetId, instanceId: instanceId! }).ok);
  world.startPods(1);
  await world.run(60);
  assert.deepEqual(world.podEnis(), [], "they are nobody's business but their owner's");
  assert.equal(world.ec2.calls.writeCount(), 0);
  assert.equal(world.condition('AddressesAvailable')?.reason, 'InstanceFull');
});

test("an ENIConfig's status says what is wrong with it before any node meets it", async () => {
  const world = createWorld();
  const name = 'broken';
  const subnetId = 'subnet-ffffffff' as (typeof world.vpc.podSubnets)[0]['subnetId'];
  applyEniConfig(world.cluster, world.vpc, { zone: 'z-a', subnetId, eniConfig: name });
  await world.run(10);
  const status = world.cluster.admin.get('EniConfig', name)?.status;
  assert.equal(status?.ready, false);
  assert.match(status?.message ?? '', /"broken".*subnet-ffffffff does not exist.*set spec\.subnet/);
});
