// The simulation kernel: order, time, crashes, and the same run for the same seed.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as macrotask } from 'node:timers/promises';
import * as fc from 'fast-check';
import { chance, drawBetween, shuffled } from './draw.ts';
import { createEventHeap, type SimEvent } from './event-heap.ts';
import { createKernel } from './kernel.ts';
import { seededRandom } from './seeded-random.ts';

const drain = (): Promise<void> => macrotask();
const SEED = 4711;

describe('seeded random', () => {
  const draws = (seed: number, count: number): number[] => {
    const random = seededRandom(seed);
    return Array.from({ length: count }, () => random.uint32());
  };

  test('gives the same numbers for the same seed and others for another', () => {
    assert.deepEqual(draws(1, 50), draws(1, 50));
    assert.notDeepEqual(draws(1, 50), draws(2, 50));
  });

  test('a fork depends on its name and not on what was drawn before', () => {
    const early = seededRandom(7).fork('node-1').uint32();
    const parent = seededRandom(7);
    parent.uint32();
    parent.fork('node-2').uint32();
    assert.equal(parent.fork('node-1').uint32(), early);
    assert.notEqual(parent.fork('node-2').uint32(), early);
  });

  test('fills all 32 bits evenly', () => {
    const random = seededRandom(99);
    const buckets = Array.from({ length: 16 }, () => 0);
    for (let n = 0; n < 16_000; n++) buckets[random.uint32() >>> 28]! += 1;
    for (const count of buckets) assert.ok(count > 850 && count < 1150, `a bucket holds ${count} of 16000`);
  });

  test('chance 0 never, 1 always; ranges include both ends; a shuffle keeps the items', () => {
    const random = seededRandom(3);
    const seen = new Set<number>();
    for (let n = 0; n < 300; n++) {
      assert.equal(chance(random, 0), false);
      assert.equal(chance(random, 1), true);
      seen.add(drawBetween(random, { min: 2, max: 5 }));
    }
    assert.deepEqual(
      [...seen].sort((a, b) => a - b),
      [2, 3, 4, 5],
    );
    assert.deepEqual(
      shuffled(random, [1, 2, 3, 4]).sort((a, b) => a - b),
      [1, 2, 3, 4],
    );
  });
});

test('the event heap gives events by time, then by order of setting, and drops those that are cancelled or of a dead process', () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ at: fc.nat({ max: 20 }), cancelled: fc.boolean(), isAlive: fc.boolean() }), {
        maxLength: 60,
      }),
      (rows) => {
        const heap = createEventHeap();
        const events = rows.map(
          ({ at, cancelled, isAlive }, sequence): SimEvent => ({
            at,
            tie: 0,
            sequence,
            owner: 'o',
            label: 'l',
            run: () => {},
            life: { isAlive },
            cancelled,
          }),
        );
        for (const event of events) heap.push(event);
        const popped: SimEvent[] = [];
        for (let event = heap.pop(); event !== undefined; event = heap.pop()) popped.push(event);
        const expected = events
          .filter((event) => !event.cancelled && event.life.isAlive)
          .sort((a, b) => a.at - b.at || a.sequence - b.sequence);
        assert.deepEqual(popped, expected);
      },
    ),
    { seed: SEED, numRuns: 200 },
  );
});

describe('kernel', () => {
  test('runs sleepers in the order of their time, and the clock stands at the time of each', async () => {
    const kernel = createKernel({ seed: 1, startAt: 0 });
    const clock = kernel.clock('a');
    const seen: string[] = [];
    const sleeper = async (name: string, ms: number): Promise<void> => {
      await clock.sleep(ms, name);
      seen.push(`${name}@${clock.now()}`);
    };
    void sleeper('late', 300);
    void sleeper('early', 100);
    assert.deepEqual(await kernel.run({ untilMs: 200, drain }), { kind: 'TimeUp' });
    assert.deepEqual(seen, ['early@100']);
    assert.equal(kernel.now(), 200);
    assert.deepEqual(await kernel.run({ untilMs: 300, drain }), { kind: 'Deadlock', waiting: [] });
    assert.deepEqual(seen, ['early@100', 'late@300']);
  });

  test('lets long promise chains end before the next event', async () => {
    const kernel = createKernel({ seed: 1, startAt: 0 });
    const clock = kernel.clock('a');
    let steps = 0;
    void (async () => {
      await clock.sleep(10, 'first');
      for (let n = 0; n < 100; n++) await Promise.resolve();
      steps = 100;
    })();
    let seen = -1;
    clock.timer(10, 'second', () => {
      seen = steps;
    });
    await kernel.run({ untilMs: 10, drain });
    assert.equal(seen, 100);
  });

  test('a cancelled timer does not run', async () => {
    const kernel = createKernel({ seed: 1, startAt: 0 });
    let ran = false;
    kernel
      .clock('a')
      .timer(10, 't', () => {
        ran = true;
      })
      .cancel();
    assert.equal((await kernel.run({ untilMs: 100, drain })).kind, 'Deadlock');
    assert.equal(ran, false);
  });

  test('a clock that is set while its owner runs shows the new time at once, and no timer moves', async () => {
    const kernel = createKernel({ seed: 1, startAt: 0 });
    const clock = kernel.clock('agent');
    const heard: number[] = [];
    clock.timer(1_000, 'tick', () => heard.push(clock.now(), clock.bootNow()));
    kernel.skew('agent', -7_200_000);
    assert.equal(clock.now(), -7_200_000);
    await kernel.run({ untilMs: 1_000, drain });
    assert.deepEqual(heard, [-7_199_000, 1_000]);
  });

  test('a machine that boots counts its time anew', async () => {
    const kernel = createKernel({ seed: 1, startAt: 0 });
    await kernel.run({ untilMs: 5_000, drain });
    kernel.boot('agent');
    assert.equal(kernel.clock('agent').bootNow(), 0);
    assert.equal(kernel.clock('world').bootNow(), kernel.now());
  });

  test('a process that is stopped does nothing until it goes on, and then what was due, in order', async () => {
    const kernel = createKernel({ seed: 1, startAt: 0 });
    const heard: string[] = [];
    const clock = kernel.clock('controller');
    for (const ms of [1_000, 2_000, 9_000])
      clock.timer(ms, 'tick', () => heard.push(`${ms} at ${clock.now()}`));
    clock.timer(1_500, 'tick', () => heard.push('cancelled')).cancel();
    kernel.clock('other').timer(1_200, 'tick', () => heard.push('other'));
    kernel.pause('controller');
    kernel.clock('world').timer(5_000, 'goes on', () => kernel.resume('controller'));
    await kernel.run({ untilMs: 10_000, drain });
    assert.deepEqual(heard, ['other', '1000 at 5000', '2000 at 5000', '9000 at 9000']);
  });

  test('a machine that was halted with its clocks goes on where it was, later by as long as it was halted', async () => {
    const kernel = createKernel({ seed: 1 });
    const clock = kernel.clock('guest');
    const [start, bootStart] = [clock.now(), clock.bootNow()];
    const heard: string[] = [];
    const hear = (what: string) => () => {
      heard.push(
        `${what} at ${kernel.now() - start}, by its clocks ${clock.now() - start} and ${clock.bootNow() - bootStart}`,
      );
    };
    clock.timer(1_000, 'a', hear('due while halted'));
    clock.timer(8_000, 'b', hear('due later'));
    const world = kernel.clock('world');
    world.timer(500, 'halted', () => kernel.pause('guest', 'stand still'));
    world.timer(2_000, 'sent', () => clock.timer(100, 'd', hear('sent meanwhile')));
    world.timer(5_500, 'goes on', () => {
      kernel.resume('guest');
      clock.timer(1_000, 'c', hear('set afterwards'));
    });
    await kernel.run({ untilMs: start + 20_000, drain });
    assert.deepEqual(heard, [
      'sent meanwhile at 5500, by its clocks 500 and 500',
      'due while halted at 6000, by its clocks 1000 and 1000',
      'set afterwards at 6500, by its clocks 1500 and 1500',
      'due later at 13000, by its clocks 8000 and 8000',
    ]);
  });

  test('a process that is stopped and dies never goes on', async () => {
    const kernel = createKernel({ seed: 1, startAt: 0 });
    const heard: string[] = [];
    kernel.clock('controller').timer(1_000, 'tick', () => heard.push('old'));
    kernel.pause('controller');
    await kernel.run({ untilMs: 2_000, drain });
    kernel.kill('controller');
    kernel.resume('controller');
    kernel.clock('controller').timer(1_000, 'tick', () => heard.push('new'));
    await kernel.run({ untilMs: 5_000, drain });
    assert.deepEqual(heard, ['new']);
  });

  test('a killed owner hears nothing more: no timer, no sleep, no guarded answer; its next life does', async () => {
    const kernel = createKernel({ seed: 1, startAt: 0 });
    const seen: string[] = [];
    const live = async (life: string): Promise<void> => {
      const clock = kernel.clock('controller');
      clock.timer(50, 'timer', () => seen.push(`${life}: timer`));
      await kernel.guard('controller', kernel.clock('ec2').sleep(30, 'call'), 'describe');
      seen.push(`${life}: answered`);
      await clock.sleep(10, 'sleep');
      seen.push(`${life}: slept`);
    };
    void live('first');
    kernel.clock('world').timer(20, 'crash', () => {
      kernel.kill('controller');
      void live('second');
    });
    await kernel.run({ untilMs: 1000, drain });
    assert.deepEqual(seen, ['second: answered', 'second: slept', 'second: timer']);
  });

  test('timers set on the clock of a dead life never run', async () => {
    const kernel = createKernel({ seed: 1, startAt: 0 });
    const clock = kernel.clock('agent');
    kernel.kill('agent');
    let ran = false;
    clock.timer(1, 'ghost', () => {
      ran = true;
    });
    kernel.clock('agent').timer(5, 'alive', () => {});
    await kernel.run({ untilMs: 10, drain });
    assert.equal(ran, false);
  });

  test('says which guarded promises hang when nothing can ever happen again', async () => {
    const kernel = createKernel({ seed: 1, startAt: 0 });
    void kernel.guard('agent', new Promise<void>(() => {}), 'append');
    assert.deepEqual(await kernel.run({ untilMs: 10, drain }), {
      kind: 'Deadlock',
      waiting: ['agent/append'],
    });
  });

  test('ends at the first broken rule, and when asked to stop', async () => {
    const kernel = createKernel({ seed: 1, startAt: 0 });
    const tick = (): void => {
      kernel.clock('a').timer(10, 'tick', tick);
    };
    tick();
    const check = (): string | undefined => (kernel.now() >= 50 ? 'T-1: fifty' : undefined);
    assert.deepEqual(await kernel.run({ untilMs: 1000, drain, check }), {
      kind: 'Broken',
      rule: 'T-1: fifty',
    });
    assert.equal(kernel.now(), 50);
    assert.deepEqual(await kernel.run({ untilMs: 1000, drain, stopWhen: () => kernel.now() >= 70 }), {
      kind: 'Stopped',
    });
  });

  test('reports a livelock: time that stands still', async () => {
    const kernel = createKernel({ seed: 1, startAt: 0 });
    const spin = (): void => {
      kernel.clock('a').timer(0, 'spin', spin);
    };
    spin();
    const end = await kernel.run({ untilMs: 10, drain: () => Promise.resolve() });
    assert.equal(end.kind, 'Livelock');
  });

  test('keeps the last events of each owner as lines', async () => {
    const kernel = createKernel({ seed: 1, startAt: 0 });
    for (let n = 1; n <= 5; n++) kernel.clock(`node-${n}`).timer(n * 1000, 'tick', () => {});
    await kernel.run({ untilMs: 10_000, drain });
    assert.deepEqual(kernel.recentEvents('node-2'), ['+2.000s node-2/tick']);
    assert.deepEqual(kernel.recentEvents('node', 2), ['+4.000s node-4/tick', '+5.000s node-5/tick']);
  });

  const walk = async (options: { seed: number; randomTies?: boolean }): Promise<string> => {
    const kernel = createKernel(options);
    for (let n = 0; n < 5; n++) {
      const random = kernel.random.fork(`walker-${n}`);
      const clock = kernel.clock(`walker-${n}`);
      void (async () => {
        for (;;) await clock.sleep(drawBetween(random, { min: 0, max: 50 }), `step-${random.uint32() % 3}`);
      })();
    }
    await kernel.run({ untilMs: kernel.now() + 5000, drain });
    return kernel.traceHash();
  };

  test('the same seed gives the same trace hash, another seed another', async () => {
    assert.equal(await walk({ seed: 5 }), await walk({ seed: 5 }));
    assert.notEqual(await walk({ seed: 5 }), await walk({ seed: 6 }));
  });

  test('random ties change the order of events of one time, the same way for the same seed', async () => {
    const order = async (randomTies: boolean): Promise<number[]> => {
      const kernel = createKernel({ seed: 8, randomTies });
      const seen: number[] = [];
      for (let n = 0; n < 8; n++) kernel.clock('a').timer(10, `t${n}`, () => seen.push(n));
      await kernel.run({ untilMs: kernel.now() + 10, drain });
      return seen;
    };
    assert.deepEqual(await order(false), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert.notDeepEqual(await order(true), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert.deepEqual(await order(true), await order(true));
  });
});
