// Contending for the lease: at most one leads, also when clocks jump, processes stop and answers are lost; and one always comes to lead.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setImmediate as macrotask } from 'node:timers/promises';
import * as fc from 'fast-check';
import { EC2_CALL_MAX_MS, LEASE_TIMES } from '../domain/leadership/lease.ts';
import { createKernel } from '../lab/kernel/kernel.ts';
import { createLeaseWorld, type Elector, type LeaseWorld, startElector } from './testing-electors.ts';

const { durationMs, renewDeadlineMs, retryMs } = LEASE_TIMES;
/** A read and a write of three seconds each way, and the pause between two tries. */
const TRY_MS = 4 * 3000 + retryMs;

interface World {
  readonly lease: LeaseWorld;
  readonly electors: readonly Elector[];
  readonly run: (ms: number) => Promise<void>;
  readonly stop: (elector: Elector) => Promise<void>;
  readonly leaders: () => readonly string[];
}

/** Checks after every event that whoever may send a call meets no call of another under way. */
function createWorld(seed: number, names: readonly string[]): World {
  const kernel = createKernel({ seed, randomTies: true });
  const lease = createLeaseWorld();
  const electors = names.map((name) => startElector(kernel, lease, name, LEASE_TIMES));
  const heldAt = new Map<string, number>();
  // Time goes on while every process is stopped.
  const tick = (): void => void kernel.clock('world').timer(1000, 'tick', tick);
  tick();
  const holding = (): readonly Elector[] =>
    electors.filter((elector) => !elector.isPaused() && elector.term()?.isHeld() === true);
  const check = (): string | undefined => {
    for (const { name } of holding()) {
      for (const [other, at] of heldAt) {
        if (other !== name && kernel.now() - at < EC2_CALL_MAX_MS)
          return `${name} leads ${kernel.now() - at} ms after ${other}`;
      }
      heldAt.set(name, kernel.now());
    }
    return undefined;
  };
  const run = async (ms: number): Promise<void> => {
    const end = await kernel.run({ untilMs: kernel.now() + ms, drain: () => macrotask(), check });
    assert.deepEqual(end, { kind: 'TimeUp' });
  };
  const stop = async (elector: Elector): Promise<void> => {
    // As `startLeading` does: the calls under way have ended before.
    heldAt.delete(elector.name);
    await elector.stop();
  };
  return { lease, electors, run, stop, leaders: () => holding().map(({ name }) => name) };
}

const first = ({ electors, leaders }: World): Elector => {
  const leader = electors.find(({ name }) => leaders().includes(name));
  assert.ok(leader, 'somebody leads');
  return leader;
};

suite('[LEAD-1] an election', () => {
  test('has one leader soon, which stays', async () => {
    const world = createWorld(1, ['a', 'b', 'c']);
    await world.run(TRY_MS);
    const [leader] = world.leaders();
    for (let minute = 0; minute < 10; minute++) {
      await world.run(60_000);
      assert.deepEqual(world.leaders(), [leader]);
    }
    assert.equal(world.lease.stored?.lease.transitions, 0);
  });

  test('has another leader within the lease and a try, when the first one is killed', async () => {
    const world = createWorld(2, ['a', 'b']);
    await world.run(TRY_MS);
    const killed = first(world);
    killed.pause();
    await world.run(durationMs + 2 * TRY_MS);
    assert.notEqual(first(world).name, killed.name);
  });

  test('has another leader after one try, when the first one gives up', async () => {
    const world = createWorld(3, ['a', 'b']);
    await world.run(TRY_MS);
    const leader = first(world);
    const stopped = world.stop(leader);
    await world.run(2 * TRY_MS);
    await stopped;
    assert.notEqual(first(world).name, leader.name);
  });

  for (const [title, agoMs, leads] of [
    ['a call that was not answered may still arrive', EC2_CALL_MAX_MS - 1000, false],
    ['no call can be on its way any more', EC2_CALL_MAX_MS, true],
  ] as const)
    test(`a leader that stops ${leads ? 'gives up its lease' : 'lets its lease lapse'} when ${title}`, async () => {
      const world = createWorld(7, ['a', 'b']);
      await world.run(TRY_MS);
      const leader = first(world);
      leader.term()?.leftOpen();
      await world.run(agoMs);
      const stopped = world.stop(leader);
      await world.run(2 * TRY_MS);
      await stopped;
      assert.equal(world.leaders().length, leads ? 1 : 0);
      await world.run(durationMs);
      assert.notEqual(first(world).name, leader.name);
    });

  test('a leader that stops lets its lease lapse when a call of an earlier term of its own may still arrive', async () => {
    const world = createWorld(8, ['a', 'b']);
    await world.run(TRY_MS);
    const leader = first(world);
    const earlier = leader.term();
    world.lease.isDown = true;
    await world.run(renewDeadlineMs);
    world.lease.isDown = false;
    await world.run(2 * TRY_MS);
    assert.equal(first(world).name, leader.name, 'it has its lease again before that lapses');
    assert.equal(earlier?.isHeld(), false);
    earlier?.leftOpen();
    const stopped = world.stop(leader);
    await world.run(2 * TRY_MS);
    await stopped;
    assert.deepEqual(world.leaders(), []);
  });

  const lapses: readonly [string, (elector: Elector, world: World) => void][] = [
    ['the API server cannot be reached', (_elector, { lease }) => (lease.isDown = true)],
    ['every answer is lost', (_elector, { lease }) => (lease.lossPercent = 100)],
    ['its clock jumps forward', (elector) => elector.jump(3_600_000)],
  ];
  for (const [title, lapse] of lapses)
    test(`a leader sends nothing from the deadline on, when ${title}`, async () => {
      const world = createWorld(4, ['a']);
      await world.run(TRY_MS);
      const term = first(world).term();
      lapse(first(world), world);
      await world.run(renewDeadlineMs);
      assert.equal(term?.isHeld(), false);
    });

  const stops: readonly [string, (elector: Elector) => void, (elector: Elector) => void][] = [
    ['its process was stopped', (elector) => elector.pause(), (elector) => elector.resume()],
    ['its virtual machine was halted', (elector) => elector.halt(), (elector) => elector.resume()],
    [
      'its process was stopped, and its clock set back',
      (elector) => (elector.pause(), elector.jump(-3_600_000)),
      (elector) => elector.resume(),
    ],
  ];
  for (const [title, stop, go] of stops)
    test(`a leader finds out by asking, before its first call, that ${title}`, async () => {
      const world = createWorld(5, ['a', 'b']);
      await world.run(TRY_MS);
      const leader = first(world);
      const term = leader.term();
      stop(leader);
      await world.run(durationMs + 2 * TRY_MS);
      go(leader);
      assert.equal(term?.isHeld(), false);
      await world.run(60_000);
      assert.equal(world.leaders().length, 1);
    });

  test('a term that is over never holds again, also when nobody else has led since', async () => {
    const world = createWorld(6, ['a']);
    await world.run(TRY_MS);
    const term = first(world).term();
    world.lease.isDown = true;
    await world.run(60_000);
    world.lease.isDown = false;
    await world.run(2 * TRY_MS);
    assert.equal(term?.isHeld(), false);
    assert.deepEqual(world.leaders(), ['a'], 'by a new term');
  });
});

type Trouble = 'down' | 'up' | 'lossy' | 'sound' | 'pause' | 'resume' | 'ahead' | 'back';

suite('[LEAD-1] whatever happens', () => {
  test('nobody leads while a call of another may be under way, and in the end one leads', async () => {
    const trouble = fc.constantFrom<Trouble>(
      'down',
      'up',
      'lossy',
      'sound',
      'pause',
      'resume',
      'ahead',
      'back',
    );
    const step = fc.record({ who: fc.nat(2), trouble, forMs: fc.nat(60_000) });
    await fc.assert(
      fc.asyncProperty(fc.nat(1_000_000), fc.array(step, { maxLength: 40 }), async (seed, steps) => {
        const world = createWorld(seed, ['a', 'b', 'c']);
        for (const { who, trouble, forMs } of steps) {
          const elector = world.electors[who];
          assert.ok(elector);
          befall(world, elector, trouble);
          await world.run(forMs);
        }
        for (const elector of world.electors) elector.resume();
        befall(world, world.electors[0]!, 'up');
        befall(world, world.electors[0]!, 'sound');
        await world.run(2 * durationMs + 3 * TRY_MS);
        assert.equal(world.leaders().length, 1);
      }),
      { numRuns: 60 },
    );
  });
});

function befall({ lease }: World, elector: Elector, trouble: Trouble): void {
  switch (trouble) {
    case 'down':
    case 'up':
      lease.isDown = trouble === 'down';
      return;
    case 'lossy':
    case 'sound':
      lease.lossPercent = trouble === 'lossy' ? 30 : 0;
      return;
    case 'ahead':
    case 'back':
      elector.jump(trouble === 'ahead' ? 50_000 : -50_000);
      return;
    case 'pause':
    case 'resume':
      elector[trouble]();
  }
}
