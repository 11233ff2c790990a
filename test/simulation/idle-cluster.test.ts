// What a cluster in which nothing happens costs: EC2 reads, whatever the number of its nodes.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as macrotask } from 'node:timers/promises';
import { intentId } from '../../src/domain/ids.ts';
import { eniTags } from '../../src/domain/ipam/tags.ts';
import { must } from '../../src/lab/ec2/testing.ts';
import {
  CLUSTER,
  createFleet,
  type Fleet,
  POD_SUBNET,
  PODS_GROUP,
} from '../../src/lab/scenario/simulation/fleet.ts';

const NODE_COUNT = 5_000;
const MINUTE_MS = 60_000;
const MEASURED_MINUTES = 10;
const READ_CALLS_PER_MINUTE_MAX = 12;

/** As an earlier life of the controller left it: an ENI with one warm address, deleted with its instance. */
async function giveEni(fleet: Fleet, n: number): Promise<void> {
  const node = fleet.launch(`n${n}`);
  const intent = {
    id: intentId(`eniwhere-${n}`),
    kind: 'CreateEni' as const,
    subnetId: POD_SUBNET,
    securityGroupIds: [PODS_GROUP],
    addressCount: 1,
    prefixCount: 0,
    ipv6PrefixCount: 0,
    eniConfig: 'z-a',
    notedAt: 0,
  };
  const { eniId } = must(
    fleet.ec2.admin.createForeignEni({
      subnetId: POD_SUBNET,
      securityGroupIds: [PODS_GROUP],
      secondaryAddressCount: 1,
      tags: eniTags({ clusterName: CLUSTER, nodeName: node.name, instanceId: node.instanceId }, intent),
      instanceId: node.instanceId,
    }),
  );
  const attachmentId = fleet.ec2.truth.eni(eniId)?.attachment?.attachmentId;
  assert.ok(attachmentId !== undefined);
  await fleet.ec2.client().setDeleteOnTermination({ eniId, attachmentId });
  fleet.join(node);
}

const readCount = ({ ec2 }: Fleet): number =>
  ec2.calls
    .counts()
    .filter(({ action }) => action.startsWith('Describe'))
    .reduce((sum, { count }) => sum + count, 0);

test(`[API-4] ${NODE_COUNT} idle nodes cost at most ${READ_CALLS_PER_MINUTE_MAX} read calls a minute apart from pages, and no write`, async (context) => {
  const fleet = createFleet(() => macrotask());
  fleet.setProfile({ tokenBuckets: false });
  const given = Promise.all(Array.from({ length: NODE_COUNT }, (_, n) => giveEni(fleet, n)));
  await fleet.run(MINUTE_MS);
  await given;
  fleet.setProfile({ tokenBuckets: true });
  fleet.startController();
  await fleet.run(3 * MINUTE_MS);
  assert.equal(fleet.cluster.admin.list('NodeNetwork').length, NODE_COUNT);
  const before = { reads: readCount(fleet), writes: fleet.ec2.calls.writeCount() };
  await fleet.run(MEASURED_MINUTES * MINUTE_MS);
  const perMinute = (readCount(fleet) - before.reads) / MEASURED_MINUTES;
  context.diagnostic(`${perMinute} read calls a minute`);
  assert.ok(perMinute <= READ_CALLS_PER_MINUTE_MAX, `${perMinute} read calls a minute`);
  assert.ok(perMinute >= 2, 'and the controller has not stopped reading');
  assert.equal(fleet.ec2.calls.writeCount(), before.writes);
});
