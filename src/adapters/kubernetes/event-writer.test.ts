// Events: the same one counts up, a flood is cut, and nothing of it reaches the caller.

import assert from 'node:assert/strict';
import { suite, test, type TestContext } from 'node:test';
import { setImmediate as macrotask } from 'node:timers/promises';
import { createKernel } from '../../lab/kernel/kernel.ts';
import type { ClusterEvent } from '../../ports/cluster.ts';
import { done, failed } from '../../ports/outcome.ts';
import type { ApiCall } from './api-client.ts';
import { createEventWriter } from './event-writer.ts';
import { type LogLine, recordingLog } from './testing-world.ts';

const full: ClusterEvent = {
  about: { kind: 'Node', name: 'n1' },
  type: 'Warning',
  reason: 'SubnetFull',
  message: 'subnet-1 is full',
};

interface World {
  readonly calls: ApiCall[];
  readonly log: LogLine[];
  readonly emit: (event: ClusterEvent) => void;
  readonly run: (ms: number) => Promise<void>;
  /** Answers the next calls with a failure. */
  fail: (kind: 'not-found' | 'forbidden' | undefined) => void;
}

function createWorld(t: TestContext): World {
  const kernel = createKernel({ seed: 1 });
  // Time goes on while nothing is to be done.
  const tick = (): void => void kernel.clock('world').timer(1000, 'tick', tick);
  tick();
  const calls: ApiCall[] = [];
  const log: LogLine[] = [];
  let failure: 'not-found' | 'forbidden' | undefined;
  const writer = createEventWriter({
    api: {
      call: async (call) => {
        calls.push(call);
        return failure === undefined ? done({}) : failed({ kind: failure, message: failure });
      },
      find: async () => done(undefined),
    },
    clock: kernel.clock('events'),
    random: kernel.random.fork('events'),
    log: recordingLog(log),
    reportingController: 'eniwhere.io/controller',
    reportingInstance: 'pod-1',
    uidOf: async ({ name }) => (name === 'n1' ? 'uid-1' : undefined),
  });
  t.after(() => writer.close());
  return {
    calls,
    log,
    emit: writer.emit,
    run: async (ms) => void (await kernel.run({ untilMs: kernel.now() + ms, drain: () => macrotask() })),
    fail: (kind) => {
      failure = kind;
    },
  };
}

const bodyOf = (call: ApiCall | undefined): Record<string, unknown> => call?.body as Record<string, unknown>;

suite('an Event', () => {
  test('is written with what events.k8s.io asks for, and found by kubectl describe through the uid', async (t) => {
    const world = createWorld(t);
    world.emit(full);
    await world.run(1000);
    assert.equal(world.calls.length, 1);
    assert.equal(world.calls[0]?.path, '/apis/events.k8s.io/v1/namespaces/default/events');
    const { metadata: _, ...body } = bodyOf(world.calls[0]);
    assert.deepEqual(body, {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      eventTime: '2026-01-01T00:00:00.000000Z',
      reportingController: 'eniwhere.io/controller',
      reportingInstance: 'pod-1',
      action: 'SubnetFull',
      reason: 'SubnetFull',
      type: 'Warning',
      note: 'subnet-1 is full',
      regarding: { apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'uid-1' },
    });
  });

  test('of a pod lies in its namespace', async (t) => {
    const world = createWorld(t);
    world.emit({ ...full, about: { kind: 'Pod', namespace: 'web', name: 'p1' } });
    await world.run(1000);
    assert.equal(world.calls[0]?.path, '/apis/events.k8s.io/v1/namespaces/web/events');
    assert.deepEqual(bodyOf(world.calls[0])['regarding'], {
      apiVersion: 'v1',
      kind: 'Pod',
      name: 'p1',
      namespace: 'web',
    });
  });

  test('that comes again counts up in the one that is there, once a minute', async (t) => {
    const world = createWorld(t);
    for (let n = 0; n < 100; n++) {
      world.emit(full);
      await world.run(1000);
    }
    await world.run(60_000);
    assert.deepEqual(
      world.calls.map(({ method }) => method),
      ['POST', 'PATCH', 'PATCH'],
    );
    const series = world.calls
      .slice(1)
      .map((call) => (bodyOf(call)['series'] as { readonly count: number }).count);
    assert.equal(series.at(-1), 100);
    const { name } = bodyOf(world.calls[0])['metadata'] as { readonly name: string };
    assert.ok(world.calls[1]?.path.endsWith(`/events/${name}`));
  });

  test('that comes again after it was over is a new one', async (t) => {
    const world = createWorld(t);
    world.emit(full);
    await world.run(7 * 60_000);
    world.emit(full);
    await world.run(1000);
    assert.deepEqual(
      world.calls.map(({ method }) => method),
      ['POST', 'POST'],
    );
  });

  test('of another text is another one', async (t) => {
    const world = createWorld(t);
    world.emit(full);
    world.emit({ ...full, message: 'subnet-2 is full' });
    await world.run(1000);
    assert.equal(world.calls.length, 2);
  });

  test('that the API server has dropped meanwhile is made anew', async (t) => {
    const world = createWorld(t);
    world.emit(full);
    await world.run(1000);
    world.fail('not-found');
    world.emit(full);
    await world.run(61_000);
    assert.deepEqual(
      world.calls.map(({ method }) => method),
      ['POST', 'PATCH', 'POST'],
    );
  });

  test('that is refused is logged, and nothing else', async (t) => {
    const world = createWorld(t);
    world.fail('forbidden');
    world.emit(full);
    await world.run(1000);
    assert.deepEqual(
      world.log.map(({ level, fields }) => [level, fields['cause']]),
      [['warn', 'forbidden']],
    );
  });

  test('with a text too long for Kubernetes is cut between two characters', async (t) => {
    const world = createWorld(t);
    world.emit({ ...full, message: 'ü'.repeat(2000) });
    await world.run(1000);
    assert.equal(bodyOf(world.calls[0])['note'], 'ü'.repeat(512));
  });

  test('a flood of them is written at the rate that is kept, and what is too much is dropped with one warning', async (t) => {
    const world = createWorld(t);
    for (let n = 0; n < 2000; n++) world.emit({ ...full, message: `text ${n}` });
    await world.run(1000);
    assert.ok(world.calls.length >= 50 && world.calls.length <= 60, `${world.calls.length} at once`);
    await world.run(300_000);
    assert.ok(world.calls.length <= 560, `${world.calls.length} in all`);
    assert.equal(world.log.filter(({ message }) => message.startsWith('Events are dropped')).length, 1);
  });
});
