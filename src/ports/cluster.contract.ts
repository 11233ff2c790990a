// What every ControllerCluster must do, simulated or real: run against each with the same words.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { NodeName, PodKey } from '../domain/ids.ts';
import type { Ip } from '../domain/address/ip.ts';
import { emptyStatus, type NodeNetworkStatus } from '../domain/ipam/node-network.ts';
import { classRules, nodeRules, ownEniConfigRules } from './cluster-objects.contract.ts';
import {
  agentReady,
  type ClusterContractWorld,
  createNodeNetwork,
  eventually,
  failsWith,
  NODE,
  type Rule,
  selected,
  spec,
  SUBNET,
  told,
  value,
  waitForNothing,
  watching,
} from './cluster-world.contract.ts';

/** Registers the suite. `createWorld` makes an empty cluster for each test. */
export function clusterContract(name: string, createWorld: () => Promise<ClusterContractWorld>): void {
  const rule: Rule = (title, body) => {
    test(title, async () => {
      const world = await createWorld();
      await world.run(() => body(world));
    });
  };
  describe(`${name}: reading and writing`, () => writingRules(rule));
  describe(`${name}: status subresource`, () => statusRules(rule));
  describe(`${name}: classes, namespaces, and what is written beside NodeNetworks`, () => {
    classRules(rule);
    ownEniConfigRules(rule);
    nodeRules(rule);
  });
  describe(`${name}: watching`, () => watchingRules(rule));
}

function writingRules(rule: Rule): void {
  rule('a new NodeNetwork has its spec, an empty status and generation 1', async (world) => {
    const record = await createNodeNetwork(world);
    assert.deepEqual(record.spec, spec(1));
    assert.deepEqual(record.status, emptyStatus);
    assert.equal(record.generation, 1);
    assert.deepEqual(value(await world.cluster.get('NodeNetwork', NODE)), record);
  });

  rule('a name serves once', async (world) => {
    await createNodeNetwork(world);
    const node = value(await world.cluster.get('Node', NODE));
    assert.ok(node);
    failsWith(await world.cluster.createNodeNetwork(NODE, node, spec(2)), 'already-exists');
  });

  rule('what is not there is read as undefined, with certainty', async (world) => {
    for (const kind of ['Node', 'NodeNetwork', 'EniConfig', 'NodeNetworkClass', 'Namespace'] as const) {
      assert.deepEqual(await world.cluster.get(kind, 'nothing'), { kind: 'ok', value: undefined });
    }
    assert.deepEqual(await world.cluster.get('Pod', 'default/nothing'), { kind: 'ok', value: undefined });
  });

  rule('pods are read by namespace/name', async (world) => {
    await world.applyPod({ namespace: 'default', name: 'web', nodeName: NODE });
    const pod = value(await world.cluster.get('Pod', 'default/web'));
    assert.equal(pod?.key, 'default/web');
    assert.equal(pod?.nodeName, NODE);
    assert.equal(pod?.finished, false);
  });

  rule('a changed spec makes a new version and a new generation', async (world) => {
    const record = await createNodeNetwork(world);
    const updated = value(await world.cluster.updateNodeNetworkSpec({ ...record, spec: spec(2) }));
    assert.equal(updated.generation, 2);
    assert.notEqual(updated.resourceVersion, record.resourceVersion);
    assert.deepEqual(updated.spec, spec(2));
    assert.equal(updated.uid, record.uid);
  });

  rule('an update that changes nothing, after one that did, makes no new version', async (world) => {
    const record = await createNodeNetwork(world);
    const updated = value(await world.cluster.updateNodeNetworkSpec({ ...record, spec: spec(2) }));
    const same = value(await world.cluster.updateNodeNetworkSpec({ ...updated, spec: spec(2) }));
    assert.equal(same.resourceVersion, updated.resourceVersion);
    assert.equal(same.generation, 2);
  });

  rule('a selection of another kind leaves nothing of the one before', async (world) => {
    const record = await createNodeNetwork(world);
    const selection = {
      kind: 'None',
      source: 'Nothing',
      problem: 'NoEniConfig',
      reason: 'nothing names one',
      message: 'no ENIConfig',
      fix: 'make one',
    } as const;
    const updated = value(
      await world.cluster.updateNodeNetworkSpec({ ...record, spec: { ...spec(1), selection } }),
    );
    assert.deepEqual(updated.spec.selection, selection);
    const back = value(await world.cluster.updateNodeNetworkSpec({ ...updated, spec: spec(1) }));
    assert.deepEqual(back.spec, spec(1));
  });

  rule('[K8S-4] an update of an old version conflicts and changes nothing', async (world) => {
    const record = await createNodeNetwork(world);
    const newest = value(await world.cluster.updateNodeNetworkSpec({ ...record, spec: spec(2) }));
    failsWith(await world.cluster.updateNodeNetworkSpec({ ...record, spec: spec(3) }), 'conflict');
    failsWith(await world.cluster.updateNodeNetworkStatus(record), 'conflict');
    failsWith(await world.cluster.deleteNodeNetwork(record), 'conflict');
    assert.deepEqual(value(await world.cluster.get('NodeNetwork', NODE)), newest);
  });

  rule('[K8S-4] what is deleted is gone, for every later write', async (world) => {
    const record = await createNodeNetwork(world);
    value(await world.cluster.deleteNodeNetwork(record));
    assert.equal(value(await world.cluster.get('NodeNetwork', NODE)), undefined);
    failsWith(await world.cluster.deleteNodeNetwork(record), 'not-found');
    failsWith(await world.cluster.updateNodeNetworkSpec({ ...record, spec: spec(2) }), 'not-found');
    failsWith(await world.cluster.updateNodeNetworkStatus(record), 'not-found');
    failsWith(await world.agent.updateNodeNetworkStatus(record), 'not-found');
    assert.equal(value(await world.cluster.get('NodeNetwork', NODE)), undefined);
  });

  rule('[K8S-4] what was decided on an object is not written to another of its name', async (world) => {
    const record = await createNodeNetwork(world);
    value(await world.cluster.deleteNodeNetwork(record));
    const again = await createNodeNetwork(world);
    assert.notEqual(again.uid, record.uid);
    failsWith(await world.cluster.updateNodeNetworkSpec({ ...record, spec: spec(2) }), 'conflict');
    failsWith(await world.agent.updateNodeNetworkStatus(record), 'conflict');
    assert.deepEqual(value(await world.cluster.get('NodeNetwork', NODE)), again);
  });

  rule('a NodeNetwork goes with its Node', async (world) => {
    await createNodeNetwork(world);
    await createNodeNetwork(world, 'node-2' as NodeName);
    await world.deleteNode(NODE);
    await eventually(
      world,
      'the NodeNetwork is collected',
      async () => value(await world.cluster.get('NodeNetwork', NODE)) === undefined,
    );
    assert.ok(value(await world.cluster.get('NodeNetwork', 'node-2')), "another node's stays");
  });

  rule('a Node made again under the same name is another object', async (world) => {
    const first = await world.applyNode(NODE);
    await world.deleteNode(NODE);
    const second = await world.applyNode(NODE);
    assert.notEqual(second.uid, first.uid);
  });

  rule('an Event never fails towards its writer', async (world) => {
    const about = { kind: 'Node', name: NODE } as const;
    world.cluster.emit({ about, type: 'Warning', reason: 'SubnetFull', message: 'the subnet is full' });
    await waitForNothing(world);
  });
}

function statusRules(rule: Rule): void {
  rule('a status write changes the status alone, and makes no new generation', async (world) => {
    const record = await createNodeNetwork(world);
    const status = { ...emptyStatus, observedGeneration: 1, withdrawn: ['10.0.0.9' as Ip] };
    const written = value(await world.agent.updateNodeNetworkStatus({ ...record, spec: spec(99), status }));
    assert.deepEqual(written.status, status);
    assert.deepEqual(written.spec, spec(1));
    assert.equal(written.generation, 1);
    assert.notEqual(written.resourceVersion, record.resourceVersion);
  });

  rule('a spec write leaves the status alone', async (world) => {
    const record = await createNodeNetwork(world);
    const status = { ...emptyStatus, observedGeneration: 1 };
    const answered = value(await world.agent.updateNodeNetworkStatus({ ...record, status }));
    const updated = value(
      await world.cluster.updateNodeNetworkSpec({ ...answered, spec: spec(2), status: emptyStatus }),
    );
    assert.deepEqual(updated.status, status);
    assert.equal(updated.generation, 2);
  });

  rule('[K8S-4] controller and agent write one status, each its own part, in either order', async (world) => {
    const record = await createNodeNetwork(world);
    const chosen = { ...emptyStatus, conditions: [selected('True')] };
    const first = value(await world.cluster.updateNodeNetworkStatus({ ...record, status: chosen }));
    assert.deepEqual(first.status, chosen);
    const used = [{ ip: '10.0.0.9' as Ip, pod: 'default/web' as PodKey }];
    const serving = { ...emptyStatus, used, conditions: [selected('True'), agentReady] };
    const second = value(await world.agent.updateNodeNetworkStatus({ ...first, status: serving }));
    assert.deepEqual(second.status, serving);
    const changed = { ...serving, conditions: [agentReady, selected('False')] };
    const third = value(await world.cluster.updateNodeNetworkStatus({ ...second, status: changed }));
    assert.deepEqual(byType(third.status), byType(changed));
    failsWith(await world.agent.updateNodeNetworkStatus({ ...second, status: serving }), 'conflict');
    const idle = { ...emptyStatus, conditions: changed.conditions };
    const last = value(await world.agent.updateNodeNetworkStatus({ ...third, status: idle }));
    assert.deepEqual(byType(last.status), byType(idle));
    assert.equal(last.generation, 1);
  });

  rule('a status says no more than its last write', async (world) => {
    const record = await world.applyEniConfig('zone-a', SUBNET);
    const status = { ready: true, message: 'ready', zone: 'a', cidr: '10.0.0.0/24', freeAddressCount: 7 };
    value(await world.cluster.updateEniConfigStatus(record, status));
    const read = value(await world.cluster.get('EniConfig', 'zone-a'));
    assert.ok(read);
    const gone = { ready: false, message: 'there is no such subnet' };
    value(await world.cluster.updateEniConfigStatus(read, gone));
    assert.deepEqual(value(await world.cluster.get('EniConfig', 'zone-a'))?.status, gone);
  });

  rule('an ENIConfig has a status of its own, under the same rules', async (world) => {
    const record = await world.applyEniConfig('zone-a', SUBNET);
    assert.equal(record.status, undefined);
    const status = { ready: true, message: 'ready', zone: 'a', cidr: '10.0.0.0/24', freeAddressCount: 7 };
    value(await world.cluster.updateEniConfigStatus(record, status));
    const read = value(await world.cluster.get('EniConfig', 'zone-a'));
    assert.deepEqual(read?.status, status);
    assert.deepEqual(read?.spec, record.spec);
    assert.equal(read?.generation, record.generation);
    failsWith(await world.cluster.updateEniConfigStatus(record, { ...status, ready: false }), 'conflict');
  });
}

/** Order says nothing among conditions. */
const byType = ({ conditions, ...rest }: NodeNetworkStatus): unknown => ({
  ...rest,
  conditions: new Map(conditions.map((one) => [one.type, one])),
});

function watchingRules(rule: Rule): void {
  rule('a watch begins with all there is, and goes on with what changes, in order', async (world) => {
    await world.applyNode(NODE);
    const { events, close } = await watching(world, 'Node');
    await world.applyNode('node-2' as NodeName);
    await world.applyNode(NODE, { key: 'role', value: 'web' });
    await world.deleteNode(NODE);
    await eventually(world, 'four events', () => events.length >= 4);
    assert.deepEqual(told(events.filter((event) => event.type !== 'Applied' || event.object.name === NODE)), [
      'Snapshot node-1',
      'Applied node-1',
      'Deleted node-1',
    ]);
    assert.ok(told(events).includes('Applied node-2'));
    close();
  });

  rule('a watch of one name tells of that name alone', async (world) => {
    await world.applyNode(NODE);
    await world.applyNode('node-2' as NodeName);
    const { events, close } = await watching(world, 'Node', { name: 'node-2' });
    await world.deleteNode(NODE);
    await world.deleteNode('node-2' as NodeName);
    await eventually(world, 'two events', () => events.length >= 2);
    await waitForNothing(world);
    assert.deepEqual(told(events), ['Snapshot node-2', 'Deleted node-2']);
    close();
  });

  rule("a watch of a node's pods tells of a pod from its binding on", async (world) => {
    await world.applyPod({ namespace: 'default', name: 'here', nodeName: NODE });
    await world.applyPod({ namespace: 'default', name: 'there', nodeName: 'node-2' as NodeName });
    const { events, close } = await watching(world, 'Pod', { nodeName: NODE });
    await world.applyPod({ namespace: 'default', name: 'later' });
    await waitForNothing(world);
    await world.applyPod({ namespace: 'default', name: 'later', nodeName: NODE });
    await eventually(world, 'the binding', () => events.length >= 2);
    await world.deletePod({ namespace: 'default', name: 'later' });
    await eventually(world, 'the deletion', () => events.at(-1)?.type === 'Deleted');
    // A deletion may show as a change first: the pod is on its way out.
    const texts = told(events).filter((text, position, all) => text !== all[position - 1]);
    assert.deepEqual(texts, ['Snapshot here', 'Applied later', 'Deleted later']);
    close();
  });

  rule('an event carries the object as it was read by anybody at that time', async (world) => {
    const { events, close } = await watching(world, 'NodeNetwork');
    const record = await createNodeNetwork(world);
    const updated = value(await world.cluster.updateNodeNetworkSpec({ ...record, spec: spec(2) }));
    await eventually(world, 'the newest version', () => {
      const last = events.at(-1);
      return last?.type === 'Applied' && last.object.resourceVersion === updated.resourceVersion;
    });
    assert.deepEqual(events.at(-1), { type: 'Applied', object: updated });
    close();
  });

  rule('a closed watch tells nothing more', async (world) => {
    const { events, close } = await watching(world, 'Node');
    close();
    await world.applyNode(NODE);
    await waitForNothing(world);
    assert.deepEqual(told(events), ['Snapshot']);
  });
}
