// The kubelet model: when it asks the CNI, how it tries again, and what it undoes.

import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { suite, test } from 'node:test';
import type { Ip } from '../../domain/address/ip.ts';
import { type NodeName, podKey } from '../../domain/ids.ts';
import type { PodRecord, WatchEvent } from '../../ports/cluster.ts';
import type { Log } from '../../ports/log.ts';
import { createKernel } from '../kernel/kernel.ts';
import { type AddAnswer, type DelAnswer, type Kubelet, startKubelet } from './kubelet.ts';

const quiet: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {}, mark: () => {} };
const NODE = 'n1' as NodeName;
const WEB = podKey('default', 'web');
const added: AddAnswer = { kind: 'Added', addresses: ['10.0.0.5' as Ip] };
const tryAgain: AddAnswer = { kind: 'Refused', code: 11, message: 'no address is free' };

const podRecord = (fields: Partial<PodRecord> = {}): PodRecord => ({
  name: 'web',
  namespace: 'default',
  key: WEB,
  uid: 'uid-1',
  resourceVersion: '1',
  generation: 1,
  labels: {},
  annotations: {},
  deleting: false,
  nodeName: NODE,
  hostNetwork: false,
  finished: false,
  ...fields,
});

interface World {
  readonly kubelet: Kubelet;
  /** What the runtime was asked, in order. */
  readonly calls: string[];
  ready: boolean;
  adds: AddAnswer[];
  dels: DelAnswer[];
  tell(event: WatchEvent<PodRecord>): void;
  pass(ms: number): Promise<void>;
}

function createWorld(): World {
  const kernel = createKernel({ seed: 1 });
  let namespaceCount = 0;
  let notify: (event: WatchEvent<PodRecord>) => void = () => {};
  const calls: string[] = [];
  const world: Omit<World, 'kubelet'> = {
    calls,
    ready: true,
    adds: [],
    dels: [],
    tell: (event) => notify(event),
    pass: async (ms) => {
      await kernel.run({ untilMs: kernel.now() + ms, drain: () => setImmediate() });
    },
  };
  const kubelet = startKubelet({
    node: NODE,
    cluster: {
      watch: ({ onEvent }) => {
        notify = onEvent as (event: WatchEvent<PodRecord>) => void;
        return { close: () => {} };
      },
    },
    isReady: () => world.ready,
    runtime: {
      makeNamespace: () => {
        namespaceCount += 1;
        calls.push(`make ${namespaceCount}`);
        return Promise.resolve(`/netns/${namespaceCount}`);
      },
      removeNamespace: (_, path) => {
        calls.push(`remove ${path.slice('/netns/'.length)}`);
        return Promise.resolve();
      },
      add: ({ netnsPath }) => {
        calls.push(`ADD ${netnsPath.slice('/netns/'.length)}`);
        return Promise.resolve(world.adds.shift() ?? added);
      },
      del: ({ netnsPath }) => {
        calls.push(`DEL ${netnsPath.slice('/netns/'.length)}`);
        return Promise.resolve(world.dels.shift() ?? { kind: 'Deleted' });
      },
    },
    onGone: (pod) => calls.push(`gone ${pod}`),
    clock: kernel.clock('kubelet'),
    random: kernel.random,
    log: quiet,
  });
  return Object.assign(world, { kubelet });
}

suite('the kubelet model', () => {
  test('makes a sandbox, calls ADD and keeps the address', async () => {
    const world = createWorld();
    world.tell({ type: 'Snapshot', objects: [podRecord()] });
    await world.pass(10);
    assert.deepEqual(world.calls, ['make 1', 'ADD 1']);
    const state = world.kubelet.pods.get(WEB);
    assert.equal(state?.phase, 'Running');
    assert.equal(state?.address, '10.0.0.5');
    assert.match(state?.sandbox?.containerId ?? '', /^[0-9a-f]{64}$/);
  });

  test('starts nothing before the CNI can serve', async () => {
    const world = createWorld();
    world.ready = false;
    world.tell({ type: 'Applied', object: podRecord() });
    await world.pass(5_000);
    assert.deepEqual(world.calls, []);
    world.ready = true;
    await world.pass(500);
    assert.equal(world.kubelet.pods.get(WEB)?.phase, 'Running');
  });

  test('undoes a refused ADD and tries again in a new sandbox, later each time', async () => {
    const world = createWorld();
    world.adds = [tryAgain, tryAgain];
    world.tell({ type: 'Applied', object: podRecord() });
    await world.pass(200);
    assert.deepEqual(world.calls, ['make 1', 'ADD 1', 'DEL 1', 'remove 1']);
    assert.equal(world.kubelet.pods.get(WEB)?.refusal, 'no address is free');
    await world.pass(100);
    assert.deepEqual(world.calls.slice(4), ['make 2', 'ADD 2', 'DEL 2', 'remove 2']);
    await world.pass(600);
    assert.deepEqual(world.calls.slice(8), ['make 3', 'ADD 3']);
    assert.equal(world.kubelet.pods.get(WEB)?.addCount, 3);
  });

  test('calls DEL and removes the sandbox of a deleted pod, and remembers its address', async () => {
    const world = createWorld();
    world.tell({ type: 'Applied', object: podRecord() });
    await world.pass(10);
    world.tell({ type: 'Deleted', object: podRecord() });
    await world.pass(10);
    assert.deepEqual(world.calls.slice(2), ['DEL 1', 'remove 1', 'gone default/web']);
    assert.equal(world.kubelet.pods.get(WEB)?.phase, 'Gone');
    assert.equal(world.kubelet.pods.get(WEB)?.address, '10.0.0.5');
  });

  test('repeats a refused DEL before it removes the sandbox', async () => {
    const world = createWorld();
    world.dels = [{ kind: 'Refused', code: 11, message: 'busy' }];
    world.tell({ type: 'Applied', object: podRecord() });
    await world.pass(10);
    world.tell({ type: 'Applied', object: podRecord({ deleting: true }) });
    await world.pass(1_000);
    assert.deepEqual(world.calls.slice(2), ['DEL 1', 'DEL 1', 'remove 1', 'gone default/web']);
  });

  test('stops trying for a pod that is deleted while it waits', async () => {
    const world = createWorld();
    world.adds = Array.from({ length: 50 }, () => tryAgain);
    world.tell({ type: 'Applied', object: podRecord() });
    await world.pass(300);
    world.tell({ type: 'Snapshot', objects: [] });
    await world.pass(10);
    const count = world.calls.length;
    await world.pass(60_000);
    assert.equal(world.calls.length, count);
    assert.equal(world.kubelet.pods.get(WEB)?.phase, 'Gone');
  });

  test('starts a pod made again under the same name only after the old one is gone', async () => {
    const world = createWorld();
    world.tell({ type: 'Applied', object: podRecord() });
    await world.pass(10);
    world.tell({ type: 'Applied', object: podRecord({ uid: 'uid-2' }) });
    await world.pass(10);
    assert.deepEqual(world.calls, [
      'make 1',
      'ADD 1',
      'DEL 1',
      'remove 1',
      'gone default/web',
      'make 2',
      'ADD 2',
    ]);
    assert.equal(world.kubelet.pods.get(WEB)?.sandbox?.podUid, 'uid-2');
  });

  test('leaves pods on the host network alone', async () => {
    const world = createWorld();
    world.tell({ type: 'Applied', object: podRecord({ hostNetwork: true }) });
    await world.pass(1_000);
    assert.deepEqual(world.calls, []);
  });

  test('stops without undoing anything', async () => {
    const world = createWorld();
    world.tell({ type: 'Applied', object: podRecord() });
    await world.pass(10);
    await world.kubelet.stop();
    assert.deepEqual(world.calls, ['make 1', 'ADD 1']);
  });
});
