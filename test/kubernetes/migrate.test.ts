// The page docs/migrate-from-aws-cni.md, command by command, on a cluster with another CNI plugin.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { cidrContains, parseCidr } from '../../src/domain/address/cidr.ts';
import { parseIp } from '../../src/domain/address/parse-ip.ts';
import { IMAGE } from '../runtime/support/busybox-image.ts';
import { subnetOf, ZONES } from './cluster/cloud.ts';
import { type Cluster, makeCluster } from './cluster/cluster.ts';
import { chartValues, eniConfig } from './cluster/installation.ts';
import { runCommandsOf } from './cluster/document-commands.ts';
import { fetchFrom, podsOf, type PodSeen, readyPods, webDeployment } from './cluster/workload.ts';

const page = 'migrate-from-aws-cni.md';
const LONG_MS = 180_000;

/** Stands in for the AWS VPC CNI: a network of its own, which no other node can reach. */
const OLD_NETWORK = JSON.stringify({
  cniVersion: '1.0.0',
  name: 'old',
  plugins: [
    {
      type: 'ptp',
      ipMasq: true,
      ipam: { type: 'host-local', subnet: '10.99.0.0/24', routes: [{ dst: '0.0.0.0/0' }] },
    },
  ],
});

let cluster: Cluster;
let values: object;

before(async () => {
  cluster = await makeCluster('migrate', ['old', 'new']);
  values = chartValues(cluster);
});
after(() => cluster?.close());

const kubectl = (...argv: readonly string[]): Promise<string> => cluster.plane.kubectl(...argv);
const networks = (): Promise<string> => kubectl('get', 'nodenetworks', '-o', 'name');
const agents = async (): Promise<readonly string[]> =>
  (await podsOf(cluster.plane, 'app.kubernetes.io/component=agent', 'kube-system')).map(({ node }) => node);

test('a cluster with another CNI plugin moves over node by node, by the commands of the page', async (t) => {
  await cluster.join('old', 'a');
  await cluster.plane.apply([oldPlugin, ...webDeployment('web', 2, 'ScheduleAnyway')]);
  const onOld = await readyPods(cluster.plane, { app: 'web', count: 2, withinMs: LONG_MS });
  assert.deepEqual(new Set(onOld.map(({ node }) => node)), new Set(['old']));

  await t.test('1. the old plugin is kept to the nodes that are there', async () => {
    await runCommandsOf(cluster, { page, heading: '1. ', values });
    assert.deepEqual(await podsOf(cluster.plane, 'app=web'), onOld);
  });

  await t.test('2. Eniwhere is installed, and touches nothing', async () => {
    await runCommandsOf(cluster, { page, heading: '2. ', values });
    await cluster.plane.apply([
      eniConfig(ZONES.a.zone, subnetOf('a', 'pods')),
      eniConfig(ZONES.b.zone, subnetOf('b', 'pods')),
    ]);
    await kubectl(
      '-n',
      'kube-system',
      'wait',
      'pod',
      '-l',
      'app.kubernetes.io/component=controller',
      '--for=condition=Ready',
      '--timeout=60s',
      '--field-selector=spec.nodeName=old',
    );
    assert.equal(await networks(), '');
    assert.deepEqual(await agents(), []);
    assert.deepEqual(cluster.cloud.allPodEnis(), []);
  });

  await t.test('3. a node that joins has Eniwhere, and the drained pods go there', async () => {
    await cluster.join('new', 'b');
    await kubectl('wait', 'node/new', '--for=condition=Ready', '--timeout=120s');
    await runCommandsOf(cluster, { page, heading: '3. ', values });
    const pods = await readyPods(cluster.plane, { app: 'web', count: 2, withinMs: LONG_MS });
    for (const pod of pods) assertInPodSubnet(pod);
    const [from, to] = pods;
    assert.ok(from !== undefined && to !== undefined);
    assert.equal(await fetchFrom(cluster.plane, from.name, { address: to.address, port: 8080 }), to.name);
    assert.equal(await networks(), 'nodenetwork.eniwhere.io/new');
    assert.deepEqual(await agents(), ['new']);
    assert.deepEqual(cluster.cloud.podEnis(cluster.machine('old').instance), []);
  });

  await t.test('4. the old plugin is removed, and nothing notices', async () => {
    const pods = await podsOf(cluster.plane, 'app=web');
    await cluster.terminate('old');
    await kubectl('delete', 'node', 'old');
    await runCommandsOf(cluster, { page, heading: '4. ', values });
    assert.deepEqual(await podsOf(cluster.plane, 'app=web'), pods);
  });
});

function assertInPodSubnet(pod: PodSeen): void {
  const [cidr, address] = [parseCidr(ZONES.b.pods), parseIp(pod.address)];
  assert.ok(cidr.ok && address.ok);
  assert.ok(cidrContains(cidr.value, address.value), `${pod.name} has ${pod.address}`);
}

const oldPlugin = {
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: { name: 'aws-node', namespace: 'kube-system' },
  spec: {
    selector: { matchLabels: { app: 'aws-node' } },
    template: {
      metadata: { labels: { app: 'aws-node' } },
      spec: {
        hostNetwork: true,
        tolerations: [{ operator: 'Exists' }],
        terminationGracePeriodSeconds: 0,
        containers: [
          {
            name: 'aws-node',
            image: IMAGE,
            imagePullPolicy: 'Never',
            command: ['sh', '-c', `printf '%s' '${OLD_NETWORK}' > /conf/10-aws.conflist; sleep 100000`],
            volumeMounts: [{ name: 'conf', mountPath: '/conf' }],
          },
        ],
        volumes: [{ name: 'conf', hostPath: { path: '/etc/cni/net.d' } }],
      },
    },
  },
};
