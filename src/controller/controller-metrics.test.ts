// What a scrape of the controller shows.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryMetrics } from '../lab/metrics/memory-metrics.ts';
import { observeController } from './controller-metrics.ts';
import { createControllerWorld } from './testing-controller.ts';

test('a scrape shows the budget, the nodes and the ENIs of a controller that works', async () => {
  const world = createControllerWorld();
  const node = world.joinNode('n1', 'z-a');
  const { instanceId } = world.cluster.admin.get('Node', node)!;
  const subnetId = world.ec2.truth.instance(instanceId!)!.primarySubnetId;
  assert.ok(world.ec2.admin.createForeignEni({ subnetId, instanceId: instanceId! }).ok);
  await world.run(40);
  const metrics = createMemoryMetrics();
  observeController(metrics, () => world.controller.facts());
  const seen = metrics.scrape();
  assert.equal(seen.get('eniwhere_leading'), 1);
  assert.equal(seen.get('eniwhere_nodes'), 1);
  assert.equal(seen.get('eniwhere_foreign_enis'), 1);
  assert.equal(seen.get('eniwhere_ec2_requests_total{action="CreateNetworkInterface"}'), 1);
  assert.equal(seen.get('eniwhere_ec2_rate_share{action="AttachNetworkInterface"}'), 1);
  assert.equal(seen.get('eniwhere_ec2_waiting{action="AttachNetworkInterface",priority="WarmPool"}'), 0);
});

test('a replica that waits says so, and nothing else', () => {
  const metrics = createMemoryMetrics();
  observeController(metrics, () => undefined);
  assert.deepEqual([...metrics.scrape()], [['eniwhere_leading', 0]]);
});
