// The simulated cluster, held to the contract of its port, and its own troubles.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as macrotask } from 'node:timers/promises';
import * as fc from 'fast-check';
import { type NodeName, podKey, type SubnetId } from '../../domain/ids.ts';
import type { ClusterEvent, ControllerCluster, KindMap, WatchEvent } from '../../ports/cluster.ts';
import { clusterContract } from '../../ports/cluster.contract.ts';
import { parseNodeNetworkClassSpec } from '../../protocol/crd/node-network-class.ts';
import { randomInt } from '../../ports/random.ts';
import { createKernel, type Kernel } from '../kernel/kernel.ts';
import { settle } from '../kernel/settle.ts';
import { type ClusterProfile, calmCluster } from './cluster-profile.ts';
import { createSimCluster, type SimCluster } from './sim-cluster.ts';

const drain = (): Promise<void> => macrotask();
const NODE = 'node-1' as NodeName;

interface World {
  readonly kernel: Kernel;
  readonly sim: SimCluster;
  readonly cluster: ControllerCluster;
  readonly run: <T>(work: () => Promise<T>) => Promise<T>;
  readonly sleep: (ms: number) => Promise<void>;
}

/** `profile` is read at every call, so a test may change it. */
function createWorld(profile: Partial<ClusterProfile> = {}, seed = 1): World {
  const kernel = createKernel({ seed, randomTies: true });
  const sim = createSimCluster({
    clock: kernel.clock('cluster'),
    random: kernel.random.fork('cluster'),
    profile: () => ({ ...calmCluster, ...profile }),
  });
  return {
    kernel,
    sim,
    cluster: sim.client({ clock: kernel.clock('controller') }),
    run: (work) => settle(kernel, work(), { drain }),
    sleep: (ms) => settle(kernel, kernel.clock('test').sleep(ms, 'wait'), { drain, withinMs: ms }),
  };
}

const label = { kind: 'Node', name: NODE } as const;

clusterContract('simulated cluster', async () => {
  const { kernel, sim, cluster, run } = createWorld();
  const { admin } = sim;
  return {
    cluster,
    agent: sim.client({ clock: kernel.clock('agent') }),
    clock: kernel.clock('test'),
    run,
    applyNode: async (name, given) =>
      admin.applyNode({ name, ...(given === undefined ? {} : { labels: { [given.key]: given.value } }) }),
    deleteNode: async (name) => {
      admin.deleteNode(name);
    },
    applyPod: async (pod) => {
      admin.applyPod(pod);
    },
    deletePod: async ({ namespace, name }) => {
      admin.deletePod(podKey(namespace, name));
    },
    applyEniConfig: async (name, subnetId) =>
      admin.applyEniConfig({
        name,
        spec: { kind: 'Parsed', eniConfig: { name, labels: {}, subnetId, securityGroupIds: [] } },
      }),
    taintNode: async (name, taints) => {
      admin.applyNode({ name, taints });
    },
    applyNodeNetworkClass: async (name, names) =>
      admin.applyNodeNetworkClass({
        name,
        spec: parseNodeNetworkClassSpec(name, { eniConfigs: { names } }),
      }),
    applyNamespace: async (name, { key, value }) => {
      admin.applyNamespace({ name, annotations: { [key]: value } });
    },
  };
});

describe('the hand in the cluster', () => {
  test('a node’s zone is its label, or what its provider id says', () => {
    const { admin } = createWorld().sim;
    assert.equal(admin.applyNode({ name: NODE, zone: 'a' }).zone, 'a');
    admin.setLabel(label, 'topology.kubernetes.io/zone', 'b');
    assert.equal(admin.get('Node', NODE)?.zone, 'b');
  });

  test('labels and annotations are set and removed, and make no new generation', () => {
    const { admin } = createWorld().sim;
    admin.applyNode({ name: NODE, labels: { keep: 'this' } });
    admin.setLabel(label, 'k8s.amazonaws.com/eniConfig', 'a');
    admin.setAnnotation(label, 'note', 'x');
    assert.deepEqual(admin.get('Node', NODE)?.labels, { keep: 'this', 'k8s.amazonaws.com/eniConfig': 'a' });
    admin.setLabel(label, 'k8s.amazonaws.com/eniConfig', undefined);
    admin.setAnnotation(label, 'note', undefined);
    const node = admin.get('Node', NODE);
    assert.deepEqual([node?.labels, node?.annotations, node?.generation], [{ keep: 'this' }, {}, 1]);
  });

  test('labels of an ENIConfig are part of what is read as its spec', () => {
    const { admin } = createWorld().sim;
    const eniConfig = {
      name: 'a',
      labels: {},
      subnetId: 'subnet-01234567' as SubnetId,
      securityGroupIds: [],
    };
    admin.applyEniConfig({ name: 'a', spec: { kind: 'Parsed', eniConfig } });
    admin.setLabel({ kind: 'EniConfig', name: 'a' }, 'zone', 'internal');
    const spec = admin.get('EniConfig', 'a')?.spec;
    assert.ok(spec?.kind === 'Parsed');
    assert.deepEqual(spec.eniConfig.labels, { zone: 'internal' });
    assert.equal(admin.get('EniConfig', 'a')?.generation, 1);
  });

  test('a pod is bound, finished, asked to go, and gone', () => {
    const { admin } = createWorld().sim;
    const { key } = admin.applyPod({ namespace: 'default', name: 'web' });
    admin.bindPod(key, NODE);
    admin.finishPod(key);
    admin.startPodDeletion(key);
    const pod = admin.get('Pod', key);
    assert.deepEqual([pod?.nodeName, pod?.finished, pod?.deleting], [NODE, true, true]);
    assert.equal(admin.deletePod(key), true);
    assert.equal(admin.deletePod(key), false);
  });

  test('the pods of a deleted node go soon after', async () => {
    const world = createWorld();
    world.sim.admin.applyNode({ name: NODE });
    world.sim.admin.applyPod({ namespace: 'default', name: 'web', nodeName: NODE });
    world.sim.admin.applyPod({ namespace: 'default', name: 'pending' });
    world.sim.admin.deleteNode(NODE);
    await world.sleep(calmCluster.garbageCollectionMs);
    assert.deepEqual(
      world.sim.admin.list('Pod').map(({ name }) => name),
      ['pending'],
    );
  });

  test('the same Event again counts up', () => {
    const { sim, cluster } = createWorld();
    const heard: number[] = [];
    sim.admin.onEvent(({ count }) => heard.push(count));
    const full: ClusterEvent = {
      about: label,
      type: 'Warning',
      reason: 'SubnetFull',
      message: 'subnet-1 is full',
    };
    cluster.emit(full);
    cluster.emit(full);
    cluster.emit({ ...full, message: 'subnet-2 is full' });
    assert.deepEqual(
      sim.admin.events().map(({ message, count }) => [message, count]),
      [
        ['subnet-1 is full', 2],
        ['subnet-2 is full', 1],
      ],
    );
    assert.deepEqual(heard, [1, 2, 1]);
  });
});

describe('troubles of the simulated cluster', () => {
  test('while the API server is down everything is refused; watches list anew once it is up', async () => {
    const world = createWorld();
    const events: WatchEvent<KindMap['Node']>[] = [];
    world.cluster.watch({ kind: 'Node', onEvent: (event) => events.push(event) });
    await world.sleep(1000);
    world.sim.admin.takeDown(20_000);
    world.sim.admin.applyNode({ name: NODE });
    const refused = await world.run(() => world.cluster.get('Node', NODE));
    assert.ok(refused.kind === 'failed' && refused.failure.kind === 'unavailable');
    await world.sleep(18_000);
    assert.equal(events.length, 1);
    await world.sleep(5000);
    assert.deepEqual(
      events.map((event) => (event.type === 'Snapshot' ? event.objects.length : event.type)),
      [0, 1],
    );
    assert.equal((await world.run(() => world.cluster.get('Node', NODE))).kind, 'ok');
  });

  test('a watch that begins while the API server is down waits for it', async () => {
    const world = createWorld();
    world.sim.admin.takeDown(5000);
    let isListed = false;
    world.cluster.watch({
      kind: 'Node',
      onEvent: () => {
        isListed = true;
      },
    });
    await world.sleep(4000);
    assert.equal(isListed, false);
    await world.sleep(4000);
    assert.equal(isListed, true);
  });

  test('a conflict fault is a real one: somebody has written a newer version', async () => {
    const profile = { conflictOdds: 1 };
    const world = createWorld(profile);
    const { admin } = world.sim;
    const record = admin.applyEniConfig({ name: 'a', spec: { kind: 'Malformed', message: 'm', fix: 'f' } });
    const status = { ready: false, message: 'malformed' };
    const outcome = await world.run(() => world.cluster.updateEniConfigStatus(record, status));
    assert.ok(outcome.kind === 'failed' && outcome.failure.kind === 'conflict');
    const newest = admin.get('EniConfig', 'a');
    assert.ok(newest && newest.resourceVersion !== record.resourceVersion);
    profile.conflictOdds = 0;
    assert.equal((await world.run(() => world.cluster.updateEniConfigStatus(newest, status))).kind, 'ok');
  });

  test('a lost answer is unknown with the effect done, a lost request without', async () => {
    for (const [profile, isDone] of [
      [{ lostAnswerOdds: 1 }, true],
      [{ lostRequestOdds: 1 }, false],
    ] as const) {
      const world = createWorld(profile);
      const record = world.sim.admin.applyEniConfig({
        name: 'a',
        spec: { kind: 'Malformed', message: 'm', fix: 'f' },
      });
      const outcome = await world.run(() =>
        world.cluster.updateEniConfigStatus(record, { ready: false, message: 'malformed' }),
      );
      assert.equal(outcome.kind, 'unknown');
      assert.equal(world.sim.admin.get('EniConfig', 'a')?.status !== undefined, isDone);
    }
  });

  test('a watcher that has died hears no events', async () => {
    const world = createWorld();
    let count = 0;
    world.cluster.watch({
      kind: 'Node',
      onEvent: () => {
        count += 1;
      },
    });
    await world.sleep(1000);
    world.kernel.kill('controller');
    world.sim.admin.applyNode({ name: NODE });
    await world.sleep(10_000);
    assert.equal(count, 1);
  });

  test('undelivered events of one object become one where the profile says so', async () => {
    const world = createWorld({ coalesceOdds: 1, watchDelayMinMs: 1000, watchDelayMaxMs: 1000 });
    const labels: (string | undefined)[] = [];
    world.cluster.watch({
      kind: 'Node',
      onEvent: (event) => {
        if (event.type === 'Applied') labels.push(event.object.labels['n']);
      },
    });
    await world.sleep(1000);
    world.sim.admin.applyNode({ name: NODE });
    for (let n = 0; n < 5; n++) world.sim.admin.setLabel(label, 'n', String(n));
    await world.sleep(5000);
    assert.deepEqual(labels, ['4']);
  });
});

/** What a client that keeps what it is told believes to be there: name -> resource version. */
function believe(view: Map<string, string>, event: WatchEvent<KindMap['Node']>): void {
  if (event.type === 'Snapshot') {
    view.clear();
    for (const { name, resourceVersion } of event.objects) view.set(name, resourceVersion);
  } else if (event.type === 'Applied') view.set(event.object.name, event.object.resourceVersion);
  else view.delete(event.object.name);
}

/** Changes nodes at random for two minutes and then waits; answers the trace hash, having checked what is believed. */
async function live(seed: number, profile: Partial<ClusterProfile>): Promise<string> {
  const { kernel, sim, cluster } = createWorld({ ...profile }, seed);
  const { admin } = sim;
  const random = kernel.random.fork('changes');
  const view = new Map<string, string>();
  let newest = 0;
  cluster.watch({
    kind: 'Node',
    onEvent: (event) => {
      believe(view, event);
      if (event.type === 'Snapshot') return;
      const version = Number(event.object.resourceVersion);
      assert.ok(version >= newest, `version ${version} comes after ${newest}`);
      newest = version;
    },
  });
  const person = kernel.clock('person');
  for (let at = 0; at < 120_000; at += 1 + randomInt(random, 2000)) {
    const name = `node-${randomInt(random, 4)}` as NodeName;
    person.timer(at, 'change', () => {
      if (chanceOfOne(random, 4)) admin.deleteNode(name);
      else admin.applyNode({ name, labels: { at: String(at) } });
    });
  }
  await kernel.run({ untilMs: kernel.now() + 300_000, drain });
  const truth = admin
    .list('Node')
    .map(({ name, resourceVersion }): [string, string] => [name, resourceVersion]);
  assert.deepEqual([...view].sort(byName), truth.sort(byName));
  return kernel.traceHash();
}

const chanceOfOne = (random: Parameters<typeof randomInt>[0], n: number): boolean =>
  randomInt(random, n) === 0;
const byName = ([a]: [string, string], [b]: [string, string]): number => (a < b ? -1 : 1);

describe('a watch, however late, doubled, coalesced or cut off', () => {
  const odds = fc.constantFrom(0, 0.05, 0.3);
  const profiles = fc.record({
    gapOdds: odds,
    duplicateOdds: odds,
    coalesceOdds: fc.constantFrom(0, 0.5, 1),
    watchSlowOdds: odds,
    watchDelayMaxMs: fc.constantFrom(50, 5000),
  });

  test('never goes back within an object, and ends in the truth', async () => {
    await fc.assert(
      fc.asyncProperty(profiles, fc.nat(), async (profile, seed) => {
        await live(seed, profile);
      }),
      { seed: 4711, numRuns: 60 },
    );
  });

  test('does the same twice from the same seed', async () => {
    const profile = { gapOdds: 0.05, duplicateOdds: 0.3, watchDelayMaxMs: 5000 };
    assert.equal(await live(3, profile), await live(3, profile));
    assert.notEqual(await live(3, profile), await live(4, profile));
  });
});
