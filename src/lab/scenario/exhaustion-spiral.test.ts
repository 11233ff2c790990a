// A published outage, replayed: subnets run full while pods only come, settings are tuned to free addresses, and the
// tuning must not be what keeps the cluster from coming back. Three zones, of which two have too few addresses.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as macrotask } from 'node:timers/promises';
import type { PodKey, SubnetId } from '../../domain/ids.ts';
import { podKey } from '../../domain/ids.ts';
import type { Log } from '../../ports/log.ts';
import { calmEc2 } from '../ec2/ec2-profile.ts';
import { labEc2Of } from '../ec2/lab-ec2.ts';
import { createSimEc2 } from '../ec2/sim-ec2.ts';
import { createMemoryJournal, type MemoryJournal } from '../journal/memory-journal.ts';
import { createKernel } from '../kernel/kernel.ts';
import { podStateOf } from './lab.ts';
import { createMemoryNetwork } from './memory-network.ts';
import { parseScenario, showMistakes } from './parse-scenario.ts';
import { startLab } from './start-lab.ts';

const quiet: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {}, mark: () => {} };

/** 27 addresses for pods and their ENIs in zones a and b, 59 in zone c. */
const ZONES = [
  { zone: 'eu-west-1a', block: '10.0.16.0/27' },
  { zone: 'eu-west-1b', block: '10.0.16.32/27' },
  { zone: 'eu-west-1c', block: '10.0.16.64/26' },
] as const;
const NODES_PER_ZONE = 3;
/** Pods per zone when all is well: with warm addresses and those that rest after a pod, some 24 of 27. */
const STEADY_PODS = 12;
const WARM = '3';

const podSubnetId = (n: number): SubnetId => `subnet-0000000000000010${n}` as SubnetId;
const nodeName = (zone: number, n: number): string => `node-${zone}-${n}`;

const SCENARIO = `name: spiral
vpc:
  id: vpc-0123456789abcdef0
  cidr: 10.0.0.0/16
  subnets:
${ZONES.map(
  (
    { zone, block },
    n,
  ) => `    - { id: subnet-0000000000000000${n}, name: nodes-${n}, zone: ${zone}, cidr: 10.0.${n}.0/24 }
    - { id: ${podSubnetId(n)}, name: pods-${n}, zone: ${zone}, cidr: ${block} }`,
).join('\n')}
  securityGroups:
    - { id: sg-00000000000000001, name: all, ingress: [] }
settings: { AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG: true, WARM_IP_TARGET: ${WARM} }
nodes:
${ZONES.flatMap((_, zone) =>
  Array.from(
    { length: NODES_PER_ZONE },
    (__, n) =>
      `  - { name: ${nodeName(zone, n)}, type: m5.large, subnet: nodes-${zone}, securityGroups: [all] }`,
  ),
).join('\n')}
eniConfigs:
${ZONES.map(
  ({ zone }, n) =>
    `  - { apiVersion: crd.k8s.amazonaws.com/v1alpha1, kind: ENIConfig, metadata: { name: ${zone} }, spec: { subnet: ${podSubnetId(n)}, securityGroups: [sg-00000000000000001] } }`,
).join('\n')}
steps:
  - wait: 1s
`;

/** Between two pods of one zone. */
const BEAT_SECONDS = 5;

interface BornPod {
  readonly key: PodKey;
  readonly bornAt: number;
}

/** A cluster in which pods come and, unless that is broken, go at the same pace. */
async function openSpiral() {
  const scenario = parseScenario(SCENARIO);
  assert.ok(scenario.ok, scenario.ok ? '' : showMistakes('spiral.yaml', scenario.error));
  const kernel = createKernel({ seed: 13 });
  const clock = kernel.clock('lab');
  const sim = createSimEc2({ clock, random: kernel.random.fork('ec2'), profile: () => calmEc2 });
  const journals = new Map<string, MemoryJournal>();
  const drive = async <T>(work: Promise<T>): Promise<T> => {
    let settled = false;
    const done = work.finally(() => {
      settled = true;
    });
    await macrotask();
    await kernel.run({
      untilMs: kernel.now() + 3_600_000,
      drain: () => macrotask(),
      stopWhen: () => settled,
    });
    return done;
  };
  const lab = await drive(
    startLab(scenario.value, {
      clock,
      random: kernel.random,
      log: quiet,
      labLog: quiet,
      journalOf: (node) => {
        const journal = journals.get(node) ?? createMemoryJournal();
        journals.set(node, journal);
        return journal.open(clock);
      },
      networkOn: ({ ec2 }) => Promise.resolve(createMemoryNetwork({ ec2, clock })),
      ec2: labEc2Of(sim),
    }),
  );
  const living = ZONES.map((): BornPod[] => []);
  let count = 0;
  const beat = (zone: number, deletes: number, nodes: number): void => {
    const pods = living[zone] ?? [];
    for (const gone of pods.splice(0, deletes)) lab.cluster.admin.startPodDeletion(gone.key);
    count += 1;
    const name = `p${count}`;
    const home = lab.nodes.get(nodeName(zone, Math.floor(count / ZONES.length) % nodes));
    assert.ok(home !== undefined);
    lab.cluster.admin.applyPod({ namespace: 'default', name, nodeName: home.name });
    pods.push({ key: podKey('default', name), bornAt: kernel.now() });
  };
  return { kernel, sim, lab, drive, living, beat };
}

/** A pod that is this old runs, when all is well. */
const GRACE_MS = 15_000;

const keepSteady = (pods: number): number => Math.max(0, pods + 1 - STEADY_PODS);
/** As the repaired control plane clears what has piled up. */
const catchUp = (pods: number): number => Math.min(3, keepSteady(pods));

function observe({ kernel, lab, living, beat, drive }: Awaited<ReturnType<typeof openSpiral>>) {
  const late = (): readonly PodKey[] =>
    living
      .flat()
      .filter(
        ({ key, bornAt }) => kernel.now() - bornAt > GRACE_MS && podStateOf(lab, key)?.phase !== 'Running',
      )
      .map(({ key }) => key);
  const rest = (seconds: number): Promise<void> => drive(lab.clock.sleep(seconds * 1000, 'rest'));
  return {
    late,
    rest,
    /** Every beat each zone gets a pod, on the first `nodes` of its nodes in turn; answers which pods were ever late. */
    churn: async (seconds: number, deletes: (zonePods: number) => number, nodes = NODES_PER_ZONE) => {
      const everLate = new Set<PodKey>();
      for (let at = 0; at < seconds; at += BEAT_SECONDS) {
        for (const zone of ZONES.keys()) beat(zone, deletes(living[zone]?.length ?? 0), nodes);
        await rest(BEAT_SECONDS);
        for (const key of late()) everLate.add(key);
      }
      return [...everLate];
    },
    /** Of each zone: addresses that its nodes hold for pods and no pod has. */
    idle: (): readonly number[] =>
      ZONES.map((_, zone) => {
        const nodes = [...lab.nodes.values()].filter((node) => node.name.startsWith(`node-${zone}-`));
        const enis = nodes.flatMap(({ instanceId }) => lab.ec2.truth.enisOf(instanceId));
        const held = enis.filter((eni) => eni.attachment?.deviceIndex !== 0).flatMap((eni) => eni.addresses);
        const used = nodes.flatMap(({ name }) => lab.cluster.admin.nodeNetwork(name)?.status.used ?? []);
        return held.length - used.length;
      }),
  };
}

test('S11 U13 warm targets lowered while subnets are full free addresses for pods that wait, keep nothing from coming back, and can be taken back', async () => {
  const spiral = await openSpiral();
  const { sim, lab, drive } = spiral;
  const { late, rest, churn, idle } = observe(spiral);
  await churn(60, keepSteady);
  assert.deepEqual(await churn(180, keepSteady), [], 'all is well at first');

  // Nothing is deleted any more, and what comes lands on two of three nodes.
  await churn(90, () => 0, 2);
  await rest(900);
  const waiting = late().length;
  assert.ok(waiting >= 10, `two zones are full: ${waiting} wait`);
  assert.deepEqual(idle().slice(0, 2), [3, 3], 'while the third node keeps its warm addresses');

  await drive(lab.restartController({ WARM_IP_TARGET: '1' }));
  await rest(180);
  assert.deepEqual(idle().slice(0, 2), [1, 1]);
  assert.ok(late().length <= waiting - 2, 'what was freed has gone to pods that wait, or to an ENI for them');
  const tunedWrites = sim.calls.writeCount();
  await rest(600);
  assert.equal(sim.calls.writeCount(), tunedWrites, 'nothing swings while all stands still');

  await churn(300, catchUp);
  assert.deepEqual(late(), [], 'five minutes after deletes go on');
  assert.deepEqual(await churn(180, keepSteady), []);

  await drive(lab.restartController({}));
  assert.deepEqual(await churn(300, keepSteady), [], 'the targets of before');
  await rest(180);
  const restedWrites = sim.calls.writeCount();
  await rest(600);
  assert.equal(sim.calls.writeCount(), restedWrites);
  const refusals = sim.calls.counts().filter(({ result }) => result !== 'ok');
  assert.deepEqual(
    refusals.filter(({ result }) => result !== 'InsufficientFreeAddressesInSubnet'),
    [],
    'no call is throttled',
  );
  const fullCount = refusals.reduce((sum, { count }) => sum + count, 0);
  assert.ok(fullCount < 20, `full subnets are asked ${fullCount} times in three quarters of an hour`);
  await drive(lab.close());
});
