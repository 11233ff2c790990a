// The tools as a person runs them: the executable, a kubeconfig with a credential program, an API server over HTTP, and
// EC2 through the SDK.

import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  ENI_CONFIGS,
  NODES,
  NODE_NETWORKS,
  startTestApiServer,
} from '../../src/adapters/kubernetes/testing-api-server.ts';
import type { Cidr } from '../../src/domain/address/ip.ts';
import { OWNER_TAG } from '../../src/domain/ipam/tags.ts';
import { must } from '../../src/lab/ec2/testing.ts';
import { type Ended, runToEnd } from '../runtime/support/run-to-end.ts';
import { createWireWorld, REGION, type WireWorld } from './aws-support.ts';

const run = (args: readonly string[], env: NodeJS.ProcessEnv): Promise<Ended> =>
  runToEnd(process.execPath, ['src/bin/eniwhere.ts', ...args], {
    PATH: process.env['PATH'],
    HOME: '/nonexistent',
    ...env,
  });

/** What the SDK's default chain finds. */
const awsEnv = (url: string): NodeJS.ProcessEnv => ({
  AWS_ACCESS_KEY_ID: 'conformance',
  AWS_SECRET_ACCESS_KEY: 'conformance',
  AWS_EC2_METADATA_DISABLED: 'true',
  AWS_REGION: REGION,
  AWS_ENDPOINT_URL: url,
});

test('[TOOL-1] explain, doctor and status only read a cluster by its kubeconfig, and EC2 through the SDK', async () => {
  const world = await createWireWorld({});
  const api = await startTestApiServer();
  const folder = await mkdtemp(join(tmpdir(), 'eniwhere-cli-'));
  try {
    const [podSubnet] = world.sim.truth.subnets().filter((one) => one.subnetId === world.subnetId);
    assert.ok(podSubnet !== undefined);
    api.store.put(NODES, 'n1', {
      metadata: { name: 'n1' },
      spec: { providerID: `aws:///${podSubnet.zone}/${world.instanceId}` },
      status: { capacity: { pods: '29' } },
    });
    api.store.put(ENI_CONFIGS, podSubnet.zone, {
      metadata: { name: podSubnet.zone },
      spec: { subnet: world.subnetId, securityGroups: [world.securityGroupId] },
    });
    const kubeconfig = join(folder, 'config');
    await writeFile(join(folder, 'token'), TOKEN_PROGRAM, { mode: 0o755 });
    await writeFile(kubeconfig, kubeconfigFor(api.url, join(folder, 'token')));
    await world.run(async () => {
      const env = { ...awsEnv(world.url), KUBECONFIG: kubeconfig };
      const explained = await run(['explain', 'node', 'n1', '-o', 'json'], env);
      assert.equal(explained.exitCode, 1, explained.err);
      const found = JSON.parse(explained.out);
      assert.equal(found.selection.name, podSubnet.zone);
      assert.equal(found.selection.source, 'Zone');
      assert.match(found.missing.join(), /the controller has not published a NodeNetwork/);
      assert.ok(api.requests.every((request) => request.authorization === 'Bearer from-program'));
      assert.ok(api.requests.every((request) => request.method === 'GET'));

      const doctor = await run(['doctor', '-o', 'json'], env);
      assert.equal(doctor.exitCode, 2, doctor.err);
      const checks = JSON.parse(doctor.out).findings.map((one: { check: string }) => one.check);
      assert.ok(checks.includes('published'), checks.join());
      assert.ok(checks.includes('max-pods'), checks.join());
      await deniedActionsAreTold(world, env);

      must(world.sim.admin.reserveForPrefixes(world.subnetId, '10.0.1.128/25' as Cidr));
      const status = await run(['status'], env);
      assert.match(status.out, new RegExp(`^n1 +${podSubnet.zone} `, 'm'));
      const reserved =
        /^Reserved in subnet-\w+: 10\.0\.1\.128\/25 for prefixes \(7 whole blocks of 16 free\)$/m;
      assert.match(status.out, reserved);
      assert.equal(status.err, '');
    });
    const unknown = await run(['explain', 'node', 'n1'], {
      KUBECONFIG: kubeconfig,
      AWS_EC2_METADATA_DISABLED: 'true',
    });
    assert.equal(unknown.exitCode, 1, unknown.err);
    api.fault = ({ path }) =>
      path.startsWith(NODE_NETWORKS) ? { kind: 'Status', code: 403, reason: 'Forbidden' } : undefined;
    const forbidden = await run(['status', '--offline'], { KUBECONFIG: kubeconfig });
    assert.equal(forbidden.exitCode, 2);
    assert.match(forbidden.err, /^eniwhere: read NodeNetwork "eniwhere-probe": /);
  } finally {
    await api.close();
    await rm(folder, { recursive: true, force: true });
  }
});

/** Dry runs by the doctor: what the role lacks, told of a person's credentials and of the controller's. */
async function deniedActionsAreTold(world: WireWorld, env: NodeJS.ProcessEnv): Promise<void> {
  const { subnetId, instanceId, sim } = world;
  must(sim.admin.createForeignEni({ subnetId, instanceId, tags: { [OWNER_TAG]: 'prod' } }));
  sim.admin.denyAction('DeleteNetworkInterface');
  const writes = sim.calls.writeCount();
  for (const [args, severity] of [
    [[], 'info'],
    [['--as-controller'], 'error'],
  ] as const) {
    const { findings, passed, notes } = JSON.parse((await run(['doctor', '-o', 'json', ...args], env)).out);
    const found = findings.find((one: { check: string }) => one.check === 'change-permissions');
    assert.equal(found?.severity, severity);
    assert.match(found.what, /do not allow ec2:DeleteNetworkInterface; EC2 says: UnauthorizedOperation/);
    assert.match(found.fix, /eniwhere iam-policy --cluster/);
    const held = passed.map((one: { check: string }) => one.check);
    assert.ok(held.includes('read-permissions') && held.includes('create-permissions'), held.join());
    // The lab has rules of groups, and no endpoints: what was asked for was answered.
    assert.ok(held.includes('endpoint-groups'), held.join());
    assert.doesNotMatch(notes.join(), /rules of security groups|VPC endpoints|tags of subnets/);
    assert.match(notes.join(), /AssignPrivateIpAddresses.*EC2 has no dry run/);
  }
  assert.equal(sim.calls.writeCount(), writes, 'nothing is changed');
  sim.admin.allowAction('DeleteNetworkInterface');
}

test("max-pods takes EC2's limits through the SDK, and the table without a Region", async () => {
  const world = await createWireWorld({});
  await world.run(async () => {
    const asked = await run(
      ['max-pods', '--instance-type', 'm5.large', '--custom-networking'],
      awsEnv(world.url),
    );
    assert.equal(asked.exitCode, 0, asked.err);
    assert.match(asked.out, new RegExp(`^m5\\.large: 20 pods\n[^]*limits: by EC2 in ${REGION}\n$`));
  });
  const alone = await run(['max-pods', '--instance-type', 'm5.large', '--custom-networking'], {
    AWS_EC2_METADATA_DISABLED: 'true',
  });
  assert.match(alone.out, /no AWS Region is set: give --region, or set AWS_REGION\n$/);
});

/** As `aws eks get-token` answers. */
const TOKEN_PROGRAM = `#!/bin/sh
echo '{"apiVersion":"client.authentication.k8s.io/v1beta1","kind":"ExecCredential","status":{"token":"from-program"}}'
`;

const kubeconfigFor = (url: string, program: string): string => `
apiVersion: v1
kind: Config
current-context: test
contexts: [{ name: test, context: { cluster: test, user: me } }]
clusters: [{ name: test, cluster: { server: '${url}' } }]
users:
  - name: me
    user: { exec: { apiVersion: client.authentication.k8s.io/v1beta1, command: ${program} } }
`;
