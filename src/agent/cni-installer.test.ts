// When the runtime hears of the agent, and what happens when somebody is in the way.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { NodeName } from '../domain/ids.ts';
import { createKernel } from '../lab/kernel/kernel.ts';
import { type CniInstaller, startCniInstaller } from './cni-installer.ts';
import { createMemoryCniHost, type MemoryCniHost } from './testing-cni-host.ts';

interface World {
  readonly host: MemoryCniHost;
  readonly installer: CniInstaller;
  readonly events: string[];
  /** Lets the agent serve. */
  serve(): void;
  wait(ms: number): Promise<void>;
}

function createWorld(): World {
  const kernel = createKernel({ seed: 1 });
  const host = createMemoryCniHost();
  const events: string[] = [];
  const { promise: serving, resolve: serve } = Promise.withResolvers<void>();
  const quiet = (): void => {};
  const installer = startCniInstaller({
    nodeName: 'n0' as NodeName,
    host,
    socketPath: '/run/eniwhere/agent.sock',
    chained: [{ type: 'portmap' }],
    cluster: { emit: ({ reason, message }) => events.push(`${reason}: ${message}`) },
    clock: kernel.clock('agent'),
    log: { debug: quiet, info: quiet, warn: quiet, error: quiet, mark: quiet },
    whenServing: () => serving,
  });
  return {
    host,
    installer,
    events,
    serve,
    wait: async (ms) => {
      await kernel.run({ untilMs: kernel.now() + ms, drain: () => setImmediate() });
    },
  };
}

const CONFLIST = '10-eniwhere.conflist';

describe('the CNI installer', () => {
  test('[CNI-4] puts the plugin there at once, and the configuration only once the agent serves', async () => {
    const world = createWorld();
    await world.wait(60_000);
    assert.ok(world.host.plugins.has('eniwhere-cni'));
    assert.deepEqual([...world.host.configs.keys()], []);
    assert.match(world.installer.failure() ?? '', /does not serve yet/);
    world.serve();
    await world.wait(1000);
    assert.deepEqual([...world.host.configs.keys()], [CONFLIST]);
    assert.match(world.host.configs.get(CONFLIST) ?? '', /"cniVersions": \[\s+"0\.4\.0",\s+"1\.0\.0"\s+\]/);
    assert.equal(world.installer.failure(), undefined);
    assert.deepEqual(world.events, []);
  });

  test('[CNI-4] leaves both where they are when the agent stops', async () => {
    const world = createWorld();
    world.serve();
    await world.wait(1000);
    await world.installer.stop();
    await world.wait(60_000);
    assert.ok(world.host.configs.has(CONFLIST) && world.host.plugins.has('eniwhere-cni'));
  });

  test('puts back what somebody takes or changes', async () => {
    const world = createWorld();
    world.serve();
    await world.wait(1000);
    const text = world.host.configs.get(CONFLIST);
    for (const harm of [
      () => world.host.configs.delete(CONFLIST),
      () => world.host.configs.set(CONFLIST, '{}'),
      () => world.host.plugins.delete('eniwhere-cni'),
    ]) {
      harm();
      await world.wait(31_000);
      assert.equal(world.host.configs.get(CONFLIST), text);
      assert.ok(world.host.plugins.has('eniwhere-cni'));
    }
  });

  test('waits for a chained plugin that is missing, tells so once, and goes on when it comes', async () => {
    const world = createWorld();
    world.host.plugins.delete('portmap');
    world.serve();
    await world.wait(60_000);
    assert.deepEqual([...world.host.configs.keys()], []);
    assert.equal(world.events.length, 1);
    assert.match(
      world.events[0] ?? '',
      /^CniNotInstalled: .*portmap is not there; install it on the node, or take portmap out of ENIWHERE_CHAINED_PLUGINS$/,
    );
    world.host.plugins.set('portmap', ['1.0.0', '1.1.0']);
    await world.wait(10_000);
    assert.match(world.host.configs.get(CONFLIST) ?? '', /"1\.1\.0"/);
    assert.equal(world.installer.failure(), undefined);
  });

  test('heeds within two hours that a chained plugin was updated, and does not ask it at every look', async () => {
    const world = createWorld();
    world.serve();
    await world.wait(1000);
    assert.doesNotMatch(world.host.configs.get(CONFLIST) ?? '', /"1\.1\.0"/);
    world.host.plugins.set('portmap', ['1.0.0', '1.1.0']);
    const asked = world.host.askedCount;
    await world.wait(30 * 60_000);
    assert.equal(world.host.askedCount, asked);
    await world.wait(90 * 60_000);
    assert.match(world.host.configs.get(CONFLIST) ?? '', /"1\.1\.0"/);
  });

  test('refuses a chain without a version in common', async () => {
    const world = createWorld();
    world.host.plugins.set('portmap', ['0.2.0']);
    world.serve();
    await world.wait(1000);
    assert.match(
      world.installer.failure() ?? '',
      /\(portmap\) speak no CNI version from 0\.4\.0 on in common/,
    );
  });

  test('tells that another configuration comes first, until it is gone', async () => {
    const world = createWorld();
    world.host.configs.set('10-aws.conflist', '{}');
    world.serve();
    await world.wait(20_000);
    assert.match(world.installer.failure() ?? '', /10-aws\.conflist comes before 10-eniwhere\.conflist/);
    assert.equal(world.events.length, 1);
    assert.equal(
      world.host.configs.get('10-aws.conflist'),
      '{}',
      "another's configuration is not ours to remove",
    );
    world.host.configs.delete('10-aws.conflist');
    await world.wait(10_000);
    assert.equal(world.installer.failure(), undefined);
  });

  test('tries again when the folder cannot be written', async () => {
    const world = createWorld();
    world.host.refusal = { message: "EROFS: read-only file system, open '/host/opt/cni/bin/x'" };
    world.serve();
    await world.wait(1000);
    assert.match(world.installer.failure() ?? '', /EROFS/);
    world.host.refusal = undefined;
    await world.wait(10_000);
    assert.ok(world.host.configs.has(CONFLIST));
  });
});
