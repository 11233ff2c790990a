// Two controllers as they are deployed, with the rights that the chart gives them: real API server, EC2 over HTTP, no nodes behind the Nodes.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../../src/adapters/system/clock.ts';
import { systemRandom } from '../../src/adapters/system/random.ts';
import { cidr } from '../../src/domain/address/testing.ts';
import type { SecurityGroupId, SubnetId, VpcId } from '../../src/domain/ids.ts';
import { INSTANCE_TYPES } from '../../src/domain/instance/instance-types.ts';
import { demoEc2 } from '../../src/lab/ec2/ec2-profile.ts';
import { createSimEc2, type SimEc2 } from '../../src/lab/ec2/sim-ec2.ts';
import { must } from '../../src/lab/ec2/testing.ts';
import { type Ec2HttpServer, serveEc2Http } from '../../src/lab/ec2-http/serve-ec2-http.ts';
import { eventually } from '../runtime/support/eventually.ts';
import { type ControlPlane, startControlPlane } from './control-plane.ts';
import { type Daemon, startDaemon } from './daemon.ts';

const PROGRAM = fileURLToPath(new URL('../../src/bin/eniwhere-controller.ts', import.meta.url));
const NODE = 'node-1';
const ZONE = 'eu-test-1a';
const VPC = 'vpc-0c0000000000000a1' as VpcId;
const GROUP = 'sg-0c0000000000000a1' as SecurityGroupId;
const POD_SUBNET = 'subnet-0c0000000000000a2' as SubnetId;
const DONE_MS = 120_000;

let plane: ControlPlane;
let ec2: SimEc2;
let http: Ec2HttpServer;
const controllers = new Map<string, Daemon>();

before(async () => {
  plane = await startControlPlane({ controllers: ['serviceaccount'] });
  await plane.kubectl('apply', '--server-side', '-f', 'deploy/crds', '-f', 'deploy/manifests');
  await plane.kubectl('wait', '--for=condition=Established', '-f', 'deploy/crds');
  const token = await plane.kubectl('-n', 'kube-system', 'create', 'token', 'eniwhere-controller');
  const folder = accountFolder();
  mkdirSync(folder);
  writeFileSync(join(folder, 'token'), token);
  writeFileSync(join(folder, 'ca.crt'), readFileSync(plane.authorityPath));
  ec2 = createSimEc2({ clock: systemClock, random: systemRandom, profile: () => demoEc2 });
  http = await serveEc2Http({ ec2: ec2.client({ name: 'controller' }), truth: ec2.truth });
  const { admin } = ec2;
  admin.setInstanceLimits(INSTANCE_TYPES);
  must(admin.createVpc({ vpcId: VPC, cidrs: [cidr('10.0.0.0/16')] }));
  must(admin.createSecurityGroup({ vpcId: VPC, name: 'all', securityGroupId: GROUP }));
  const nodeSubnet = 'subnet-0c0000000000000a1' as SubnetId;
  must(admin.createSubnet({ vpcId: VPC, zone: ZONE, cidr: cidr('10.0.0.0/24'), subnetId: nodeSubnet }));
  must(admin.createSubnet({ vpcId: VPC, zone: ZONE, cidr: cidr('10.0.1.0/24'), subnetId: POD_SUBNET }));
  const { instanceId } = must(
    admin.launchInstance({ instanceType: 'm5.large', subnetId: nodeSubnet, securityGroupIds: [GROUP] }),
  );
  await plane.apply([
    {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: NODE },
      spec: { providerID: `aws:///${ZONE}/${instanceId}` },
    },
    {
      apiVersion: 'crd.k8s.amazonaws.com/v1alpha1',
      kind: 'ENIConfig',
      metadata: { name: ZONE },
      spec: { subnet: POD_SUBNET, securityGroups: [GROUP] },
    },
  ]);
});
after(async () => {
  for (const controller of controllers.values()) await controller.stop('SIGKILL');
  await http?.close();
  await plane?.close();
});

const accountFolder = (): string => join(plane.directory, 'service-account');

function startController(name: string): void {
  const url = new URL(plane.url);
  const controller = startDaemon({
    argv: [process.execPath, PROGRAM],
    logPath: join(plane.directory, `${name}.log`),
    environment: {
      CLUSTER_NAME: 'test',
      MY_POD_NAME: name,
      MY_POD_NAMESPACE: 'kube-system',
      KUBERNETES_SERVICE_HOST: url.hostname,
      KUBERNETES_SERVICE_PORT: url.port,
      ENIWHERE_SERVICE_ACCOUNT_DIRECTORY: accountFolder(),
      AWS_REGION: 'eu-test-1',
      AWS_ACCESS_KEY_ID: 'test',
      AWS_SECRET_ACCESS_KEY: 'test',
      AWS_ENDPOINT_URL_EC2: http.url,
      AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG: 'true',
      WARM_IP_TARGET: '1',
    },
  });
  controllers.set(name, controller);
}

const holder = async (): Promise<string> =>
  plane.kubectl(
    '-n',
    'kube-system',
    'get',
    'lease',
    'eniwhere-controller',
    '-o',
    'jsonpath={.spec.holderIdentity}',
  );

/** The pod of the controller that holds the lease, when one does that runs. */
async function leader(): Promise<string | undefined> {
  const name = (await holder().catch(() => '')).replace(/_[0-9a-f]+$/, '');
  const controller = controllers.get(name);
  const why = controller?.whyEnded();
  return controller !== undefined && why === undefined ? name : undefined;
}

async function grantedCount(): Promise<number> {
  const query = 'jsonpath={.spec.enis[*].addresses}';
  const text = await plane.kubectl('get', 'nodenetwork', NODE, '-o', query).catch(() => '');
  return text.match(/"\d+\.\d+\.\d+\.\d+"/g)?.length ?? 0;
}

const whyAnyEnded = (): string | undefined =>
  [...controllers.values()].map((controller) => controller.whyEnded()).find((why) => why !== undefined);

test('one of two leads, and gives the node an ENI of the ENIConfig of its zone', async () => {
  startController('one');
  startController('two');
  await eventually('an address is granted', DONE_MS, async () => {
    const why = whyAnyEnded();
    if (why !== undefined) throw new Error(why);
    return (await grantedCount()) >= 1 ? true : undefined;
  });
  const shown = await plane.kubectl('get', 'nodenetworks');
  assert.match(shown, /node-1 +eu-test-1a +Zone/);
  // `kubectl wait` would also ask that an agent has seen the newest spec, and there is none here.
  const query = '{.status.conditions[?(@.type=="EniConfigSelected")].status}';
  await eventually('the choice is reported', DONE_MS, async () => {
    const status = await plane.kubectl('get', 'nodenetwork', NODE, '-o', `jsonpath=${query}`);
    return status === 'True' ? true : undefined;
  });
  assert.match(await plane.kubectl('get', 'eniconfig', ZONE), /eu-test-1a +10\.0\.1\.0\/24 +\d+ +true/);
});

test('[LEAD-1] the leader is killed while pods wait for addresses: the other leads, and grants what they need, from one ENI', async () => {
  const killed = await eventually('one leads', DONE_MS, leader);
  await controllers.get(killed)?.stop('SIGKILL');
  const pods = Array.from({ length: 5 }, (_, n) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `web-${n}`, namespace: 'default' },
    spec: { nodeName: NODE, containers: [{ name: 'main', image: 'none' }] },
  }));
  await plane.apply(pods);
  const next = await eventually('the other leads', DONE_MS, leader);
  assert.notEqual(next, killed);
  await eventually('every pod has an address granted', DONE_MS, async () =>
    (await grantedCount()) >= pods.length ? true : undefined,
  );
  const podEnis = ec2.truth.enis().filter(({ subnetId }) => subnetId === POD_SUBNET);
  assert.equal(podEnis.length, 1);
});

test('[LEAD-1] a controller that is asked to stop gives the lease up, and another leads at once', async () => {
  const stopped = await eventually('one leads', DONE_MS, leader);
  await controllers.get(stopped)?.stop('SIGTERM');
  assert.match(controllers.get(stopped)?.whyEnded() ?? '', /ended \(0\)/);
  assert.equal(await holder(), '');
  startController('three');
  assert.equal(await eventually('the third leads', DONE_MS, leader), 'three');
});
