// Permissions by dry run, over the wire: what is denied is told as denied, and nothing is changed.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAwsPermissionChecker } from '../../src/adapters/aws/check-permissions.ts';
import { PERMISSIONS } from '../../src/cli/iam-policy.ts';
import { must } from '../../src/lab/ec2/testing.ts';
import type { PermissionFinding } from '../../src/domain/doctor/permission-finding.ts';
import type { PermissionTarget } from '../../src/ports/permissions.ts';
import { createWireWorld, REGION, type WireWorld } from './aws-support.ts';

const check = (
  world: WireWorld,
  target: Partial<PermissionTarget> = {},
): Promise<readonly PermissionFinding[]> =>
  createAwsPermissionChecker({ version: '0.0.0-test', region: REGION, endpoint: world.url }).checkPermissions(
    {
      clusterName: 'c',
      subnetId: world.subnetId,
      securityGroupIds: [world.securityGroupId],
      ...target,
    },
  );

const ofVerdict = (
  findings: readonly PermissionFinding[],
  verdict: PermissionFinding['verdict'],
): readonly string[] => findings.filter((one) => one.verdict === verdict).map((one) => one.action);

test('every action of the IAM policy is tried; those that are denied are told, and nothing happens', async () => {
  const world = await createWireWorld();
  await world.run(async () => {
    const { subnetId, instanceId, sim } = world;
    const ownEni = must(sim.admin.createForeignEni({ subnetId, instanceId, secondaryAddressCount: 1 }));
    const all = await check(world, { ownEni });
    const needed = PERMISSIONS.map((one) => one.action).filter((action) => action !== 'CreateTags');
    assert.deepEqual(new Set(all.map((one) => one.action)), new Set(needed));
    const untried = [
      'AssignPrivateIpAddresses',
      'UnassignPrivateIpAddresses',
      'AssignIpv6Addresses',
      'UnassignIpv6Addresses',
    ];
    assert.deepEqual(ofVerdict(all, 'Unknown'), untried, 'EC2 knows no dry run of these');
    assert.equal(ofVerdict(all, 'Allowed').length, needed.length - untried.length);
    for (const action of ['AttachNetworkInterface', 'DescribeSubnets'] as const) sim.admin.denyAction(action);
    const some = await check(world, { ownEni });
    assert.deepEqual(ofVerdict(some, 'Denied'), ['DescribeSubnets', 'AttachNetworkInterface']);
    assert.match(some.find((one) => one.verdict === 'Denied')?.message ?? '', /^UnauthorizedOperation: /);
    assert.equal(sim.calls.writeCount(), 0);
  });
});

test('without an ENI of the cluster, what needs one is unknown, and says why', async () => {
  const world = await createWireWorld();
  await world.run(async () => {
    const unknown = (await check(world)).filter((one) => one.verdict === 'Unknown');
    assert.equal(unknown.length, 8);
    for (const { message } of unknown) assert.match(message, /no ENI with this cluster's tag/);
  });
});

test('an EC2 that cannot be reached is neither a yes nor a no', async () => {
  const world = await createWireWorld();
  await world.run(() => Promise.resolve());
  assert.deepEqual(ofVerdict(await check(world), 'Allowed'), []);
  assert.deepEqual(ofVerdict(await check(world), 'Denied'), []);
});
