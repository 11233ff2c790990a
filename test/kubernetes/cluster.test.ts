// The end-to-end proof: the chart on a real control plane with real kubelets, in a simulated VPC, by kubectl alone.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { cidrContains, parseCidr } from '../../src/domain/address/cidr.ts';
import { parseIp } from '../../src/domain/address/parse-ip.ts';
import { eventually } from '../runtime/support/eventually.ts';
import { buildTool } from '../runtime/support/runtime-programs.ts';
import { runCommandsOf } from './cluster/document-commands.ts';
import { subnetOf, type ZoneLetter, ZONES } from './cluster/cloud.ts';
import { type Cluster, makeCluster } from './cluster/cluster.ts';
import { chartValues, eniConfig } from './cluster/installation.ts';
import {
  answerOf,
  fetchCommand,
  fetchFrom,
  podsOf,
  type PodSeen,
  readyPods,
  webDeployment,
} from './cluster/workload.ts';

const NODES: Readonly<Record<string, ZoneLetter>> = { na: 'a', nb: 'b', nc: 'c' };
const SYSTEM = ['-n', 'kube-system'];
const LONG_MS = 180_000;
const OUTAGE_MS = 60_000;

let cluster: Cluster;
/** This machine's image, and the simulated EC2 in the place of AWS's. */
let values: object;
const kubectl = (...values: readonly string[]): Promise<string> => cluster.plane.kubectl(...values);

let hasFailed = false;
/** Each step stands on the ones before it. */
function step(title: string, body: () => Promise<void>): void {
  void test(title, async () => {
    assert.ok(!hasFailed, 'an earlier step has failed');
    hasFailed = true;
    await body();
    hasFailed = false;
  });
}

before(async () => {
  cluster = await makeCluster('e2e', Object.keys(NODES));
  values = chartValues(cluster);
});
after(() => cluster?.close());

step('a new cluster without nodes takes the whole installation, and pods wait', async () => {
  await runCommandsOf(cluster, { page: 'install.md', heading: '3. ', values });
  await cluster.plane.apply(
    Object.values(NODES).flatMap((letter) => [
      eniConfig(ZONES[letter].zone, subnetOf(letter, 'pods')),
      eniConfig(`${ZONES[letter].zone}-more`, subnetOf(letter, 'morePods')),
    ]),
  );
  await cluster.plane.apply(webDeployment('web', 6));
  await eventually('six pods wait', LONG_MS, async () => {
    const pods = await podsOf(cluster.plane, 'app=web');
    return pods.length === 6 && pods.every(({ phase, node }) => phase === 'Pending' && node === '')
      ? true
      : undefined;
  });
});

step('nodes in three zones join, and every pod becomes ready without a hand on anything', async () => {
  await Promise.all(Object.entries(NODES).map(([name, letter]) => cluster.join(name, letter)));
  const pods = await readyPods(cluster.plane, { app: 'web', count: 6, withinMs: LONG_MS });
  assert.deepEqual([...new Set(pods.map(({ node }) => node))].sort(), Object.keys(NODES));
  await runCommandsOf(cluster, { page: 'install.md', heading: '5. ', values });
});

step('no pod failed on the way', async () => {
  const pods = await podsOf(cluster.plane, 'app=web');
  assert.deepEqual(
    pods.filter(({ restarts }) => restarts > 0),
    [],
  );
  const reasons = await kubectl(
    'get',
    'events',
    '-A',
    '-o',
    'jsonpath={range .items[*]}{.reason}{"\\n"}{end}',
  );
  assert.deepEqual(
    reasons.split('\n').filter((reason) => ['FailedCreatePodSandBox', 'BackOff', 'Failed'].includes(reason)),
    [],
  );
});

step("every pod has an address of its zone's pod subnet", async () => {
  for (const pod of await podsOf(cluster.plane, 'app=web')) assertInSubnet(pod, 'pods');
});

step('pods reach each other on one node and across zones', async () => {
  const pods = await podsOf(cluster.plane, 'app=web');
  const [from] = pods;
  assert.ok(from !== undefined);
  for (const to of pods)
    assert.equal(await fetchFrom(cluster.plane, from.name, { address: to.address, port: 8080 }), to.name);
});

step('pods reach each other by the address of a Service', async () => {
  const service = await kubectl('get', 'service', 'web', '-o', 'jsonpath={.spec.clusterIP}');
  const pods = await podsOf(cluster.plane, 'app=web');
  const answers = new Set<string>();
  for (const { name } of pods)
    for (let attempt = 0; attempt < 4; attempt += 1)
      answers.add(await fetchFrom(cluster.plane, name, { address: service, port: 80 }));
  assert.ok(answers.size > 1, 'the Service leads to more than one pod');
  assert.deepEqual(
    [...answers].filter((answer) => !pods.some(({ name }) => name === answer)),
    [],
  );
});

step('kubectl get nodenetworks tells the ENIConfig of every node, and why', async () => {
  const lines = await kubectl('get', 'nodenetworks', '--no-headers');
  assert.deepEqual(
    lines.split('\n').map((line) => line.split(/\s+/).slice(0, 3)),
    Object.entries(NODES).map(([name, letter]) => [name, ZONES[letter].zone, 'Zone']),
  );
});

step('a node is annotated over to another ENIConfig: new pods follow, running ones stay', async () => {
  const before = (await podsOf(cluster.plane, 'app=web')).filter(({ node }) => node === 'na');
  await kubectl('annotate', 'node', 'na', `k8s.amazonaws.com/eniConfig=${ZONES.a.zone}-more`);
  await eventually('an ENI is attached in the other subnet', LONG_MS, () =>
    cluster.cloud
      .podEnis(cluster.machine('na').instance)
      .some(
        ({ subnetId, attachment }) =>
          subnetId === subnetOf('a', 'morePods') && attachment?.status === 'attached',
      )
      ? true
      : undefined,
  );
  await kubectl('scale', 'deployment/web', '--replicas=12');
  const pods = await readyPods(cluster.plane, { app: 'web', count: 12, withinMs: LONG_MS });
  const onNode = pods.filter(({ node }) => node === 'na');
  const isOld = (pod: PodSeen): boolean => before.some(({ name }) => name === pod.name);
  for (const old of onNode.filter(isOld)) assertInSubnet(old, 'pods');
  const added = onNode.filter((pod) => !isOld(pod));
  assert.ok(added.length > 0, 'a pod was added on the node');
  for (const pod of added) assertInSubnet(pod, 'morePods');
});

step("the controller's leader is killed while pods are added: they become ready all the same", async () => {
  const leader = await leaderPod();
  await kubectl('scale', 'deployment/web', '--replicas=24');
  const machine = cluster.machine(leader.node);
  await machine.run('pkill', '-KILL', '-f', 'eniwhere-controller');
  await readyPods(cluster.plane, { app: 'web', count: 24, withinMs: LONG_MS });
  assert.notEqual((await leaderPod()).name, leader.name);
});

step('the API server is down for a minute: pods keep their network, and then new ones start', async () => {
  const [from, to] = await podsOf(cluster.plane, 'app=web');
  assert.ok(from !== undefined && to !== undefined);
  await cluster.plane.stopApiServer('SIGKILL');
  const end = performance.now() + OUTAGE_MS;
  let count = 0;
  while (performance.now() < end) {
    assert.equal(await fetchOnNode(from, to.address), to.name);
    count += 1;
    await sleep(2000);
  }
  assert.ok(count > 5);
  await cluster.plane.startApiServer();
  await kubectl('scale', 'deployment/web', '--replicas=27');
  await readyPods(cluster.plane, { app: 'web', count: 27, withinMs: LONG_MS });
});

step('an upgrade replaces controllers and agents, and no running pod notices', async () => {
  const pods = await podsOf(cluster.plane, 'app=web');
  const upgraded = chartValues(cluster, '2');
  await runCommandsOf(cluster, { page: 'upgrade.md', heading: 'Forward', values: upgraded });
  const later = await podsOf(cluster.plane, 'app=web');
  assert.deepEqual(later, pods);
  await runCommandsOf(cluster, { page: 'upgrade.md', heading: 'Back', values });
});

step(
  'a node is deleted with its instance: its ENIs and its NodeNetwork disappear, its pods start elsewhere',
  async () => {
    const { instance } = cluster.machine('nc');
    await cluster.terminate('nc');
    await kubectl('delete', 'node', 'nc');
    // Kubernetes takes a lost node's pods away after 40 seconds.
    await eventually('27 pods are ready on the other nodes', LONG_MS, async () => {
      const pods = await podsOf(cluster.plane, 'app=web');
      return pods.length === 27 && pods.every(({ ready, node }) => ready && node !== 'nc') ? true : undefined;
    });
    await eventually('nothing of the node is left', LONG_MS, async () => {
      const names = await kubectl('get', 'nodenetworks', '-o', 'name');
      return cluster.cloud.podEnis(instance).length === 0 && !names.includes('/nc') ? true : undefined;
    });
    assert.deepEqual(
      cluster.cloud.allPodEnis().filter(({ attachment }) => attachment === undefined),
      [],
    );
  },
);

step('everything is uninstalled', async () => {
  await kubectl('delete', 'deployment,service', 'web');
  for (const name of ['na', 'nb']) {
    await cluster.terminate(name);
    await kubectl('delete', 'node', name);
  }
  await runCommandsOf(cluster, { page: 'uninstall.md', values });
  await eventually('every ENI for pods is gone', LONG_MS, () =>
    cluster.cloud.allPodEnis().length === 0 ? true : undefined,
  );
  const left = await kubectl('get', 'all,clusterroles,validatingadmissionpolicies,crds', '-A', '-o', 'name');
  assert.deepEqual(
    left.split('\n').filter((name) => /eniwhere|eniconfig/.test(name) && !name.startsWith('pod/')),
    [],
  );
});

function assertInSubnet(pod: PodSeen, use: 'pods' | 'morePods'): void {
  const letter = NODES[pod.node];
  assert.ok(letter !== undefined, `${pod.name} runs on ${pod.node}`);
  const cidr = parseCidr(ZONES[letter][use]);
  const address = parseIp(pod.address);
  assert.ok(cidr.ok && address.ok);
  assert.ok(
    cidrContains(cidr.value, address.value),
    `${pod.name} on ${pod.node} has ${pod.address}, not of ${cidr.value}`,
  );
}

async function leaderPod(): Promise<PodSeen> {
  const holder = await kubectl(
    ...SYSTEM,
    'get',
    'lease',
    'eniwhere-controller',
    '-o',
    'jsonpath={.spec.holderIdentity}',
  );
  const pods = await podsOf(cluster.plane, 'app.kubernetes.io/component=controller', 'kube-system');
  const found = pods.find(({ name }) => holder.includes(name));
  assert.ok(found !== undefined, `the lease is held by ${holder}`);
  return found;
}

/** `fetchFrom` past the API server, as a program of the pod would do it. */
async function fetchOnNode(pod: PodSeen, address: string): Promise<string> {
  const machine = cluster.machine(pod.node);
  const crictl = [buildTool('crictl'), '--runtime-endpoint', 'unix:///run/containerd/containerd.sock'];
  const container = await machine.run(...crictl, 'ps', '-q', '--label', `io.kubernetes.pod.name=${pod.name}`);
  return answerOf(await machine.run(...crictl, 'exec', container, ...fetchCommand(address, 8080)));
}
