// People are told once of what the AWS CNI left, and hear of it again when it changes.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { ip } from '../domain/address/testing.ts';
import type { NodeName } from '../domain/ids.ts';
import { createKernel } from '../lab/kernel/kernel.ts';
import type { AwsCniReport } from '../ports/aws-cni.ts';
import { done, failed } from '../ports/outcome.ts';
import { startAwsCniWatch } from './aws-cni-watch.ts';

const nothing: AwsCniReport = { leftovers: [], livePods: [], notes: [] };

function createWorld(first: AwsCniReport | undefined) {
  const kernel = createKernel({ seed: 1 });
  const events: string[] = [];
  const world = { report: first, lookCount: 0 };
  const quiet = (): void => {};
  const watch = startAwsCniWatch({
    nodeName: 'n0' as NodeName,
    finder: {
      findAwsCniLeftovers: async () => {
        world.lookCount += 1;
        return world.report === undefined
          ? failed({ step: 'list rules', message: 'refused' })
          : done(world.report);
      },
    },
    vethPrefix: 'eni',
    cluster: { emit: ({ reason, message }) => events.push(`${reason}: ${message}`) },
    clock: kernel.clock('agent'),
    log: { debug: quiet, info: quiet, warn: quiet, error: quiet, mark: quiet },
  });
  const wait = async (ms: number): Promise<void> => {
    await kernel.run({ untilMs: kernel.now() + ms, drain: () => setImmediate() });
  };
  return { world, watch, events, wait };
}

const HOUR_MS = 3_600_000;

test('a node without leftovers is looked at once', async () => {
  const { world, watch, events, wait } = createWorld(nothing);
  await wait(HOUR_MS);
  assert.equal(world.lookCount, 1);
  assert.deepEqual(events, []);
  assert.deepEqual(watch.report(), nothing);
});

test('leftovers are told once, with the command that removes them, and followed until they are gone', async () => {
  const { world, watch, events, wait } = createWorld({ ...nothing, leftovers: ['a', 'b'] });
  await wait(HOUR_MS);
  assert.equal(events.length, 1);
  assert.match(events[0] ?? '', /^AwsCniLeftovers: the AWS CNI left 2 .*: eniwhere agent --clean-aws-cni$/);
  world.report = nothing;
  await wait(HOUR_MS);
  assert.deepEqual(watch.report(), nothing);
  const { lookCount } = world;
  await wait(HOUR_MS);
  assert.equal(world.lookCount, lookCount, 'nothing is left to follow');
});

test('living pods of the AWS CNI are told with what to do first', async () => {
  const livePods = [{ address: ip('10.1.0.9'), hostLink: 'eni1' }];
  const { events, wait } = createWorld({ ...nothing, livePods });
  await wait(HOUR_MS);
  assert.equal(events.length, 1);
  assert.match(events[0] ?? '', /1 of its pods still run here: drain the node first/);
});

test('a look that fails is tried again, and nothing is concluded from it', async () => {
  const { world, watch, wait } = createWorld(undefined);
  await wait(60_000);
  assert.equal(watch.report(), undefined);
  world.report = nothing;
  await wait(60_000);
  assert.deepEqual(watch.report(), nothing);
});
