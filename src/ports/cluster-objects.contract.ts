// What every ControllerCluster must do with classes, namespaces, ENIConfigs of its own, taints and resources.

import assert from 'node:assert/strict';
import {
  failsWith,
  group,
  NODE,
  type Rule,
  SUBNET,
  told,
  value,
  watching,
} from './cluster-world.contract.ts';

/** NodeNetworkClasses and namespaces. */
export function classRules(rule: Rule): void {
  rule('a NodeNetworkClass is read with its spec, and has a status of its own', async (world) => {
    const record = await world.applyNodeNetworkClass('workers', ['zone-a', 'zone-b']);
    assert.ok(record.spec.kind === 'Parsed', JSON.stringify(record.spec));
    assert.deepEqual(record.spec.nodeNetworkClass.candidates, { kind: 'Names', names: ['zone-a', 'zone-b'] });
    assert.equal(record.status, undefined);
    const status = { ready: true, message: 'chooses by First', nodeCount: 2, eniConfigs: ['zone-a'] };
    value(await world.cluster.updateNodeNetworkClassStatus(record, status));
    const read = value(await world.cluster.get('NodeNetworkClass', 'workers'));
    assert.deepEqual(read?.status, status);
    assert.deepEqual(read?.spec, record.spec);
    assert.equal(read?.generation, record.generation);
    failsWith(
      await world.cluster.updateNodeNetworkClassStatus(record, { ...status, ready: false }),
      'conflict',
    );
  });

  rule('a namespace is read with its annotations', async (world) => {
    await world.applyNamespace('tenant', { key: 'eniwhere.io/eni-config', value: 'internal' });
    const read = value(await world.cluster.get('Namespace', 'tenant'));
    assert.equal(read?.annotations['eniwhere.io/eni-config'], 'internal');
    const { events, close } = await watching(world, 'Namespace');
    assert.ok(told(events).some((text) => text.includes('tenant')));
    close();
  });
}

/** ENIConfigs that the controller makes. */
export function ownEniConfigRules(rule: Rule): void {
  const made = {
    name: 'workers.0123456789abcdef0',
    labels: { 'eniwhere.io/node-network-class': 'workers' },
    subnetId: SUBNET,
    securityGroupIds: [group],
  };

  rule('an ENIConfig is made with its labels, changed, and deleted', async (world) => {
    const record = value(await world.cluster.createEniConfig(made));
    assert.deepEqual(record.labels, made.labels);
    assert.deepEqual(record.spec, { kind: 'Parsed', eniConfig: made });
    const changed = value(
      await world.cluster.updateEniConfigSpec(record, { subnetId: SUBNET, securityGroupIds: [] }),
    );
    assert.deepEqual(changed.spec, { kind: 'Parsed', eniConfig: { ...made, securityGroupIds: [] } });
    assert.equal(changed.uid, record.uid);
    assert.deepEqual(value(await world.cluster.get('EniConfig', made.name)), changed);
    value(await world.cluster.deleteEniConfig(changed));
    assert.equal(value(await world.cluster.get('EniConfig', made.name)), undefined);
  });

  rule('an ENIConfig of that name is never overwritten, nor a newer version deleted', async (world) => {
    const record = value(await world.cluster.createEniConfig(made));
    failsWith(await world.cluster.createEniConfig({ ...made, securityGroupIds: [] }), 'already-exists');
    const changed = { subnetId: SUBNET, securityGroupIds: [] };
    value(await world.cluster.updateEniConfigSpec(record, changed));
    failsWith(await world.cluster.updateEniConfigSpec(record, changed), 'conflict');
    failsWith(await world.cluster.deleteEniConfig(record), 'conflict');
  });
}

/** Taints and extended resources of nodes. */
export function nodeRules(rule: Rule): void {
  const own = { key: 'eniwhere.io/network-not-ready', effect: 'NoSchedule' } as const;
  const other = { key: 'dedicated', value: 'gpu', effect: 'NoExecute' } as const;

  rule('a taint is taken away by its key, and others stay', async (world) => {
    await world.applyNode(NODE);
    await world.taintNode(NODE, [own, other, { ...own, effect: 'NoExecute' }]);
    const record = value(await world.cluster.get('Node', NODE));
    assert.ok(record);
    const freed = value(await world.cluster.removeNodeTaint(record, own.key));
    assert.deepEqual(freed.taints, [other]);
    assert.deepEqual(value(await world.cluster.get('Node', NODE))?.taints, [other]);
  });

  rule('a taint is added beside others, and to a node without any', async (world) => {
    await world.applyNode(NODE);
    // A real API server gives a new node a taint of its own.
    await world.taintNode(NODE, []);
    const bare = value(await world.cluster.get('Node', NODE));
    assert.ok(bare);
    const first = value(await world.cluster.addNodeTaint(bare, own));
    assert.deepEqual(first.taints, [own]);
    failsWith(await world.cluster.addNodeTaint(bare, other), 'conflict');
    const second = value(await world.cluster.addNodeTaint(first, other));
    assert.deepEqual(second.taints, [own, other]);
    assert.deepEqual(value(await world.cluster.get('Node', NODE))?.taints, [own, other]);
  });

  rule('a taint that somebody has changed meanwhile is not taken away', async (world) => {
    const before = await world.applyNode(NODE);
    await world.taintNode(NODE, [own, other]);
    failsWith(await world.cluster.removeNodeTaint(before, own.key), 'conflict');
    assert.equal(value(await world.cluster.get('Node', NODE))?.taints.length, 2);
  });

  rule('extended resources are set to exactly what is given', async (world) => {
    const record = await world.applyNode(NODE);
    assert.deepEqual(record.extendedResources, {});
    const set = value(
      await world.cluster.setExtendedResources(record, { 'eniwhere.io/ip.a': 9, 'eniwhere.io/ip.b': 18 }),
    );
    assert.deepEqual(set.extendedResources, { 'eniwhere.io/ip.a': 9, 'eniwhere.io/ip.b': 18 });
    const less = value(await world.cluster.setExtendedResources(set, { 'eniwhere.io/ip.b': 9 }));
    assert.deepEqual(less.extendedResources, { 'eniwhere.io/ip.b': 9 });
    failsWith(await world.cluster.setExtendedResources(record, {}), 'conflict');
  });
}
