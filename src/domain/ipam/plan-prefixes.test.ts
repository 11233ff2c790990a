// Mode Prefix: slots that hold blocks, single addresses where there is no block, and the change from one to the other.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import * as fc from 'fast-check';
import { nthAddress } from '../address/cidr.ts';
import type { Ip } from '../address/ip.ts';
import { plan } from './plan.ts';
import { cidr, nodeView, pod, pods, published, settings } from './testing.ts';
import { createPrefixWorld, type PrefixWorld, type PrefixWorldOptions } from './testing-prefix-world.ts';
import type { WarmTargets } from './warm-targets.ts';

/** One address in use in each of the 16 blocks of 10.1.0.0/24: none is whole, and 237 addresses are free. */
const scattered: readonly Ip[] = Array.from({ length: 16 }, (_, n) =>
  nthAddress(cidr('10.1.0.0/24'), n * 16 + 8),
);

const held = (world: PrefixWorld): { singles: number; prefixes: number } => ({
  singles: world.enis().reduce((sum, eni) => sum + eni.addresses.length, 0),
  prefixes: world.enis().reduce((sum, eni) => sum + eni.prefixes.length, 0),
});
const condition = (world: PrefixWorld) =>
  world.lastPlan().conditions.find(({ type }) => type === 'PrefixesAvailable');

function settledWith(podCount: number, options: PrefixWorldOptions = {}): PrefixWorld {
  const world = createPrefixWorld({ subnet: '10.1.0.0/22', ...options });
  for (const one of pods(podCount)) world.addPod(one);
  world.settle();
  return world;
}

suite('a node in mode Prefix', () => {
  // The tables of the AWS VPC CNI's documents for prefixes, which count the same blocks.
  const rows: readonly [string, WarmTargets, number, number][] = [
    ['WARM_PREFIX=1, no pod', { warmEni: 1, warmPrefix: 1 }, 0, 1],
    ['WARM_PREFIX=1, 5 pods', { warmEni: 1, warmPrefix: 1 }, 5, 2],
    ['WARM_PREFIX=1, 16 pods', { warmEni: 1, warmPrefix: 1 }, 16, 2],
    ['WARM_PREFIX=1, 17 pods', { warmEni: 1, warmPrefix: 1 }, 17, 3],
    ['WARM_PREFIX=1, 58 pods', { warmEni: 1, warmPrefix: 1 }, 58, 5],
    ['WARM_PREFIX not set, 5 pods', { warmEni: 1 }, 5, 2],
    ['WARM_PREFIX=0, 5 pods', { warmEni: 1, warmPrefix: 0 }, 5, 1],
    ['WARM_IP=1 MIN=1, no pod', { warmEni: 1, warmIp: 1, minimumIp: 1 }, 0, 1],
    ['WARM_IP=1 MIN=1, 5 pods', { warmEni: 1, warmIp: 1, minimumIp: 1 }, 5, 1],
    ['WARM_IP=1 MIN=1, 17 pods', { warmEni: 1, warmIp: 1, minimumIp: 1 }, 17, 2],
    ['WARM_IP=1 MIN=1, 58 pods', { warmEni: 1, warmIp: 1, minimumIp: 1 }, 58, 4],
    ['WARM_IP=7 MIN=20, 5 pods', { warmEni: 1, warmIp: 7, minimumIp: 20 }, 5, 2],
    ['WARM_IP=7 MIN=20, 17 pods', { warmEni: 1, warmIp: 7, minimumIp: 20 }, 17, 2],
    ['WARM_IP=7 MIN=20, 58 pods', { warmEni: 1, warmIp: 7, minimumIp: 20 }, 58, 5],
    ['[U88] the pods alone', { warmEni: 0, exact: true }, 17, 2],
  ];
  for (const [title, targets, podCount, prefixCount] of rows)
    test(`holds ${prefixCount} blocks: ${title}`, () => {
      const world = settledWith(podCount, { targets });
      assert.deepEqual([held(world), world.waitingCount()], [{ singles: 0, prefixes: prefixCount }, 0]);
      assert.equal(condition(world)?.status, 'True');
    });

  test('makes an ENI with its blocks in one call, and publishes their addresses one by one', () => {
    const view = nodeView({
      pods: pods(20),
      maxPods: 110,
      settings: { ...settings, mode: 'Prefix', targets: { warmEni: 1 } },
    });
    const planned = plan(view);
    const [intent] = planned?.spec.intents ?? [];
    assert.deepEqual([planned?.spec.mode, intent?.prefixCount, intent?.addressCount], ['Prefix', 3, 0]);
    assert.deepEqual(
      plan(published(view))?.actions.map(({ do: verb }) => verb),
      ['CreateEni'],
    );
    const [, eni] = settledWith(3).spec().enis;
    assert.deepEqual([eni?.prefixes.length, eni?.addresses.length], [2, 32]);
  });

  test('[U53] fills the slots that it has before it makes another ENI, and stops at max pods', () => {
    const world = settledWith(100, { subnet: '10.1.0.0/20' });
    assert.equal(world.enis().length, 1, '7 blocks have room on one ENI of nine slots');
    assert.deepEqual(
      held(world),
      { singles: 0, prefixes: 7 },
      '110 pods at most: an eighth would serve nobody',
    );
  });

  test('[U25] one more pod than the blocks hold gets another block, whatever the warm targets say of each other', () => {
    const targets = { warmEni: 0, warmIp: 0, minimumIp: 22, warmPrefix: 1 };
    const world = settledWith(32, { targets });
    assert.deepEqual(held(world), { singles: 0, prefixes: 2 });
    world.addPod(pod(33));
    world.settle();
    assert.deepEqual([held(world), world.waitingCount()], [{ singles: 0, prefixes: 3 }, 0]);
  });

  test('gives back whole blocks once they are idle for long enough, and an ENI that is left without any', () => {
    const world = settledWith(40);
    assert.deepEqual(held(world), { singles: 0, prefixes: 4 });
    for (const one of pods(40)) world.deletePod(one);
    world.settle();
    assert.deepEqual(held(world), { singles: 0, prefixes: 1 });
  });

  test('[PFX-1] a pod that takes an address of a block that is asked back brings the whole block back into service', () => {
    const world = settledWith(40);
    for (const one of pods(40)) world.deletePod(one);
    world.tick(60_000);
    for (let round = 0; round < 3; round += 1) {
      world.controllerRound();
      world.agentRound();
      world.tick(31_000);
    }
    // The wish is published, and before the agent reads it pods take what they find.
    world.controllerRound();
    for (const one of pods(20)) world.addPod(one);
    world.settle();
    assert.equal(world.waitingCount(), 0);
    const halves = world.spec().enis.filter(({ withdrawing }) => withdrawing.length > 0);
    assert.deepEqual(halves, [], 'nothing stays half withdrawn');
  });

  test('[PFX-4] [U86] types without prefixes get single addresses, and the condition names type, cause and fix', () => {
    const base = nodeView();
    const view = nodeView({
      limits: { ...base.limits, instanceType: 't2.medium', hypervisor: 'xen' },
      settings: { ...settings, mode: 'Prefix' },
      maxPods: 17,
    });
    const planned = plan(view);
    assert.deepEqual([planned?.spec.mode, planned?.spec.intents[0]?.prefixCount], ['SecondaryIP', 0]);
    const said = planned?.conditions.find(({ type }) => type === 'PrefixesAvailable');
    assert.deepEqual([said?.status, said?.reason], ['False', 'NotNitro']);
    assert.match(
      said?.message ?? '',
      /t2\.medium is not built on Nitro.*at most 17 pods.*set mode SecondaryIP/,
    );
  });
});

suite('[PFX-2] [U08] a subnet without a free block', () => {
  const fragmented = { subnet: '10.1.0.0/24', foreign: scattered };

  test('single addresses take the slots, and the condition says why and what to do', () => {
    const world = settledWith(3, fragmented);
    assert.deepEqual([held(world), world.waitingCount()], [{ singles: 18, prefixes: 0 }, 0]);
    const said = condition(world);
    assert.deepEqual([said?.status, said?.reason], ['False', 'NoFreeBlock']);
    assert.match(said?.message ?? '', /has no free block of 16 addresses \(EC2: InsufficientCidrBlocks\)/);
    assert.match(said?.message ?? '', /create-subnet-cidr-reservation .*--reservation-type prefix/);
    assert.equal(world.spec().mode, 'Prefix');
  });

  const tenMinutes = (world: PrefixWorld): number => {
    const before = world.ec2.refusedCount;
    for (let second = 0; second < 600; second += 10) {
      world.tick(10_000);
      for (let round = 0; round < 8; round += 1) {
        world.controllerRound();
        world.agentRound();
      }
    }
    assert.equal(world.waitingCount(), 0);
    return world.ec2.refusedCount - before;
  };

  test('a block is asked for again every two minutes, one at a time', () => {
    assert.equal(tenMinutes(settledWith(1, fragmented)), 5);
  });

  test('no slot is emptied to ask again while no address of the subnet has become free', () => {
    const world = settledWith(3, fragmented);
    const before = world.enis();
    assert.equal(tenMinutes(world), 0);
    assert.deepEqual(world.enis(), before);
  });

  test('[LV-4] a block that becomes free is used by itself, and the single addresses drain as their pods go', () => {
    const world = settledWith(3, fragmented);
    world.ec2.foreign.clear();
    world.tick(120_000);
    world.settle();
    assert.deepEqual(held(world), { singles: 3, prefixes: 1 }, 'what pods hold stays');
    assert.equal(condition(world)?.status, 'True');
    for (const one of pods(3)) world.deletePod(one);
    world.settle();
    assert.deepEqual(held(world), { singles: 0, prefixes: 1 });
  });

  test('with every slot taken by single addresses, one makes room to ask again', () => {
    const world = settledWith(18, fragmented);
    assert.deepEqual(held(world), { singles: 18, prefixes: 0 });
    world.deletePod(pod(1));
    world.settle();
    world.ec2.foreign.clear();
    world.tick(120_000);
    world.settle();
    assert.ok(held(world).prefixes >= 1, JSON.stringify(held(world)));
    assert.equal(world.waitingCount(), 0);
  });

  test('EC2 is asked whatever the count of free addresses says, which leaves reserved blocks out; then single ones', () => {
    const world = settledWith(3, { subnet: '10.1.0.0/28' });
    assert.deepEqual([world.ec2.refusedCount, world.waitingCount()], [1, 0]);
    assert.equal(condition(world)?.reason, 'NoFreeBlock');
  });
});

suite('[PFX-3] a change of the mode while pods run', () => {
  test('to Prefix: blocks come, single addresses drain, and no pod loses its own', () => {
    const world = settledWith(8, { mode: 'SecondaryIP' });
    const before = new Map(world.ledger().holders);
    world.setMode('Prefix');
    world.settle();
    assert.deepEqual(held(world), { singles: 8, prefixes: 1 });
    assert.deepEqual(world.ledger().holders, before);
    for (const one of pods(8)) world.deletePod(one);
    world.settle();
    assert.deepEqual(held(world), { singles: 0, prefixes: 1 });
  });

  test('to Prefix on full ENIs: each pod that goes makes room for a block', () => {
    const world = settledWith(18, { mode: 'SecondaryIP' });
    assert.deepEqual(held(world), { singles: 18, prefixes: 0 });
    world.setMode('Prefix');
    for (let n = 19; n <= 40; n += 1) world.addPod(pod(n));
    world.settle();
    assert.equal(world.waitingCount(), 22, 'no slot is free');
    world.deletePod(pod(1));
    world.settle();
    assert.equal(world.waitingCount(), 6, 'one block of 16');
    world.deletePod(pod(2));
    world.settle();
    assert.equal(world.waitingCount(), 0);
  });

  test('to SecondaryIP on full ENIs: a block goes once all 16 are free, and never before', () => {
    const targets = { warmEni: 0, warmIp: 1, warmPrefix: 1 };
    const world = settledWith(100, { subnet: '10.1.0.0/20', targets });
    world.setMode('SecondaryIP');
    world.settle();
    assert.equal(world.waitingCount(), 0);
    for (let n = 11; n <= 100; n += 1) world.deletePod(pod(n));
    world.settle();
    for (let n = 1; n <= 10; n += 1) world.deletePod(pod(n));
    for (let n = 201; n <= 210; n += 1) world.addPod(pod(n));
    world.settle();
    assert.equal(world.waitingCount(), 0);
    for (let n = 201; n <= 210; n += 1) world.deletePod(pod(n));
    world.settle();
    assert.deepEqual(held(world), { singles: 1, prefixes: 0 });
  });
});

test('[PFX-1] [PFX-3] [WD-4] [IP-5] [ENI-1] [LV-2] whatever pods, time, foreign addresses and the mode do, no live address goes, and all comes to rest', () => {
  const step = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ do: fc.constant('add' as const), n: fc.integer({ min: 1, max: 40 }) }),
    },
    {
      weight: 6,
      arbitrary: fc.record({ do: fc.constant('delete' as const), n: fc.integer({ min: 1, max: 40 }) }),
    },
    {
      weight: 8,
      arbitrary: fc.record({ do: fc.constant('controller' as const), n: fc.integer({ min: 1, max: 6 }) }),
    },
    { weight: 6, arbitrary: fc.record({ do: fc.constant('agent' as const), n: fc.constant(1) }) },
    {
      weight: 4,
      arbitrary: fc.record({ do: fc.constant('tick' as const), n: fc.integer({ min: 1, max: 150 }) }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('mode' as const), n: fc.constant(1) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('scatter' as const), n: fc.constant(1) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('clear' as const), n: fc.constant(1) }) },
  );
  const targets: fc.Arbitrary<WarmTargets> = fc.constantFrom(
    { warmEni: 1 },
    { warmEni: 0, warmPrefix: 0 },
    { warmEni: 1, warmIp: 3 },
    { warmEni: 1, warmIp: 1, minimumIp: 20 },
    { warmEni: 0, exact: true },
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), targets, (steps, chosen) => {
      const world = createPrefixWorld({ subnet: '10.1.0.0/24', targets: chosen });
      for (const { do: verb, n } of steps) {
        if (verb === 'add') world.addPod(pod(n));
        else if (verb === 'delete') world.deletePod(pod(n));
        else if (verb === 'controller') for (let round = 0; round < n; round += 1) world.controllerRound();
        else if (verb === 'agent') world.agentRound();
        else if (verb === 'tick') world.tick(n * 1000);
        else if (verb === 'mode') world.setMode(world.mode() === 'Prefix' ? 'SecondaryIP' : 'Prefix');
        else if (verb === 'clear') world.ec2.foreign.clear();
        else {
          const taken = new Set(world.enis().flatMap((eni) => [eni.primaryAddress, ...eni.addresses]));
          const blocks = world.enis().flatMap((eni) => eni.prefixes);
          for (const ip of scattered) if (!taken.has(ip) && blocks.length === 0) world.ec2.foreign.add(ip);
        }
      }
      world.ec2.foreign.clear();
      world.setMode('Prefix');
      world.tick(200_000);
      world.settle();
      assert.equal(world.waitingCount(), 0, 'LV-1: every pod has an address');
      const live = new Set(world.ledger().holders.keys());
      for (const eni of world.enis())
        for (const ip of eni.addresses) assert.ok(live.has(ip), `${ip} is a single address without a pod`);
    }),
    { seed: 20_261_130, numRuns: 400 },
  );
});
