// What a watch does when the API server, the network or an object misbehaves: it never stops, and never tells of a gap as of nothing.

import assert from 'node:assert/strict';
import { suite, test, type TestContext } from 'node:test';
import type { Kind, KindMap, WatchEvent } from '../../ports/cluster.ts';
import { type Fault, type LiveWatch, NODE_NETWORKS, NODES, type SeenRequest } from './testing-api-server.ts';
import { createWorld, type World, type WorldOptions } from './testing-world.ts';

interface Watched extends World {
  /** `Snapshot a b`, `Applied a`, `Deleted a`. */
  readonly told: string[];
  readonly live: () => LiveWatch;
  readonly until: (what: string, holds: () => boolean) => Promise<void>;
  readonly putNode: (name: string, labels?: Record<string, string>) => void;
  readonly lists: () => number;
}

const POLLS_MAX = 4000;

async function watchNodes(t: TestContext, options: WorldOptions = {}): Promise<Watched> {
  const world = await createWorld((end) => t.after(end), options);
  const { api, cluster } = world;
  const told: string[] = [];
  const until = async (what: string, holds: () => boolean): Promise<void> => {
    for (let poll = 0; poll < POLLS_MAX; poll++) {
      if (holds()) return;
      await world.clock.sleep(100, 'poll');
    }
    assert.fail(`never: ${what}; told ${JSON.stringify(told)}`);
  };
  cluster.watch({ kind: 'Node', onEvent: (event) => told.push(textOf(event)) });
  const live = (): LiveWatch => {
    const [first] = api.watches;
    assert.ok(first, 'a watch is open');
    return first;
  };
  const putNode = (name: string, labels: Record<string, string> = {}): void =>
    void api.store.put(NODES, name, { metadata: { name, labels }, spec: {} });
  const isList = ({ path, query }: SeenRequest): boolean => path === NODES && !query.has('watch');
  return { ...world, told, live, until, putNode, lists: () => api.requests.filter(isList).length };
}

const textOf = (event: WatchEvent<KindMap[Kind]>): string =>
  event.type === 'Snapshot'
    ? ['Snapshot', ...event.objects.map(({ name }) => name)].join(' ')
    : `${event.type} ${event.object.name}`;

const isWatching = ({ api }: World): boolean => api.watches.size === 1;
const isWatch = ({ query }: SeenRequest): boolean => query.has('watch');
/** The fault for the first `count` requests that `matches`. */
function faultFirst(
  { api }: World,
  count: number,
  matches: (request: SeenRequest) => boolean,
  fault: Fault,
): void {
  let left = count;
  api.fault = (request) => (matches(request) && left-- > 0 ? fault : undefined);
}

suite('a watch that breaks goes on from where it was, with nothing lost and no new list', () => {
  const breaks: readonly [string, (live: LiveWatch) => void][] = [
    ['a reset', (live) => live.reset()],
    ['an end in good order', (live) => live.end()],
    ['a torn line', (live) => (live.write('{"type":"MODI'), live.end())],
    ['a line that is no JSON', (live) => live.write('<html>\n')],
    [
      'an event of an unknown type',
      (live) => live.write('{"type":"NEW","object":{"metadata":{"resourceVersion":"9"}}}\n'),
    ],
    [
      'an ERROR of the server',
      (live) => live.write('{"type":"ERROR","object":{"kind":"Status","code":500}}\n'),
    ],
  ];
  for (const [title, breakIt] of breaks)
    test(`after ${title}`, async (t) => {
      const world = await watchNodes(t);
      await world.until('a watch', () => isWatching(world));
      world.putNode('a');
      await world.until('a', () => world.told.includes('Applied a'));
      breakIt(world.live());
      world.putNode('b');
      await world.until('b', () => world.told.includes('Applied b'));
      assert.deepEqual(world.told, ['Snapshot', 'Applied a', 'Applied b']);
      assert.equal(world.lists(), 1);
    });

  test('also when the connection is silently dead: bookmarks stay away', async (t) => {
    const world = await watchNodes(t, { timings: { watchSilenceMs: 2000 } });
    await world.until('a watch', () => isWatching(world));
    world.live().stall();
    world.putNode('a');
    await world.until('a', () => world.told.includes('Applied a'));
    assert.equal(world.lists(), 1);
  });

  test('from the version of the last bookmark', async (t) => {
    const world = await watchNodes(t);
    await world.until('a watch', () => isWatching(world));
    const version = world.api.store.version() + 500;
    world
      .live()
      .write(
        `${JSON.stringify({ type: 'BOOKMARK', object: { metadata: { resourceVersion: String(version) } } })}\n`,
      );
    world.live().end();
    await world.until('a second watch', () => world.api.requests.filter(isWatch).length === 2);
    const [, second] = world.api.requests.filter(isWatch);
    assert.equal(second?.query.get('resourceVersion'), String(version));
    assert.equal(second?.query.get('allowWatchBookmarks'), 'true');
  });

  const refusals: readonly [string, Fault][] = [
    ['429 with Retry-After', { kind: 'Status', code: 429, retryAfter: 1 }],
    ['500', { kind: 'Status', code: 500 }],
    ['403', { kind: 'Status', code: 403, reason: 'Forbidden' }],
    ['a stalled request', { kind: 'Stall' }],
  ];
  for (const [title, fault] of refusals)
    test(`when the watch is answered by ${title}, twice`, async (t) => {
      const world = await watchNodes(t, { timings: { watchSilenceMs: 2000 } });
      faultFirst(world, 2, isWatch, fault);
      world.putNode('a');
      await world.until('a', () => world.told.length > 0 && isWatching(world));
      world.putNode('b');
      await world.until('b', () => world.told.includes('Applied b'));
      assert.equal(world.lists(), 1);
    });
});

suite('a watch with a gap begins again with a snapshot', () => {
  const gaps: readonly [string, (world: Watched) => void][] = [
    [
      '410 as an event',
      ({ live }) => live().write('{"type":"ERROR","object":{"kind":"Status","code":410}}\n'),
    ],
    [
      '410 as an answer',
      (world) => (faultFirst(world, 1, isWatch, { kind: 'Status', code: 410 }), world.live().reset()),
    ],
    [
      'a history that the server has compacted meanwhile',
      (world) => {
        const live = world.live();
        world.api.fault = (request) =>
          isWatch(request) && world.api.store.compactedAt() === 0 ? { kind: 'Reset' } : undefined;
        live.reset();
        world.putNode('lost');
        world.api.store.compact();
      },
    ],
    [
      'more failed resumes than make sense',
      (world) => (faultFirst(world, 6, isWatch, { kind: 'Reset' }), world.live().reset()),
    ],
  ];
  for (const [title, makeGap] of gaps)
    test(`after ${title}`, async (t) => {
      const world = await watchNodes(t);
      await world.until('a watch', () => isWatching(world));
      world.putNode('a');
      await world.until('a', () => world.told.includes('Applied a'));
      makeGap(world);
      await world.until(
        'a second list',
        () => world.told.filter((text) => text.startsWith('Snapshot')).length === 2,
      );
      assert.match(world.told.at(-1) ?? '', /^Snapshot a/);
      await world.until('a watch again', () => isWatching(world));
      world.putNode('b');
      await world.until('b', () => world.told.includes('Applied b'));
    });
});

suite('a list that fails is tried again until it comes', () => {
  const faults: readonly [string, Fault][] = [
    ['500', { kind: 'Status', code: 500 }],
    ['429 with Retry-After', { kind: 'Status', code: 429, retryAfter: 1 }],
    ['404, before the CRD is there', { kind: 'Status', code: 404 }],
    ['401', { kind: 'Status', code: 401 }],
    ['a reset', { kind: 'Reset' }],
    ['a page of a proxy', { kind: 'Body', text: '<html>' }],
    ['a list without a version', { kind: 'Body', text: '{"items":[]}' }],
    ['half an answer', { kind: 'Stall' }],
  ];
  for (const [title, fault] of faults)
    test(`after ${title}`, async (t) => {
      const world = await createWorld((end) => t.after(end), { timings: { listTimeoutMs: 2000 } });
      faultFirst(world, 2, () => true, fault);
      world.api.store.put(NODES, 'a', { metadata: { name: 'a' }, spec: {} });
      const told: string[] = [];
      world.cluster.watch({ kind: 'Node', onEvent: (event) => told.push(textOf(event)) });
      for (let poll = 0; poll < POLLS_MAX && told.length === 0; poll++) await world.clock.sleep(100, 'poll');
      assert.deepEqual(told, ['Snapshot a']);
    });

  test('in pages, from the start again when their version is compacted between two of them', async (t) => {
    const world = await createWorld((end) => t.after(end));
    const { api } = world;
    for (let n = 0; n < 1200; n++) api.store.put(NODES, `n${n}`, { metadata: { name: `n${n}` }, spec: {} });
    let pageCount = 0;
    api.fault = ({ query }) => {
      if (!query.has('limit')) return undefined;
      pageCount += 1;
      if (pageCount !== 2) return undefined;
      api.store.delete(NODES, 'n0');
      api.store.compact();
      return undefined;
    };
    const sizes: number[] = [];
    world.cluster.watch({
      kind: 'Node',
      onEvent: (event) => {
        if (event.type === 'Snapshot') sizes.push(event.objects.length);
      },
    });
    for (let poll = 0; poll < POLLS_MAX && sizes.length === 0; poll++) await world.clock.sleep(100, 'poll');
    assert.deepEqual(sizes, [1199]);
    assert.equal(pageCount, 5, 'two pages of the first try, three of the second');
  });
});

suite('what a watch tells', () => {
  test('an event that comes twice is told once', async (t) => {
    const world = await watchNodes(t);
    await world.until('a watch', () => isWatching(world));
    world.putNode('a');
    await world.until('a', () => world.told.length === 2);
    const object = world.api.store.get(NODES, 'a');
    world.live().write(`${JSON.stringify({ type: 'MODIFIED', object })}\n`);
    world.putNode('b');
    await world.until('b', () => world.told.includes('Applied b'));
    assert.deepEqual(world.told, ['Snapshot', 'Applied a', 'Applied b']);
  });

  test('a character torn between two chunks stays one', async (t) => {
    const world = await createWorld((end) => t.after(end));
    const labels: unknown[] = [];
    world.cluster.watch({
      kind: 'Node',
      onEvent: (event) => {
        if (event.type === 'Applied') labels.push(event.object.annotations['note']);
      },
    });
    for (let poll = 0; poll < POLLS_MAX && !isWatching(world); poll++) await world.clock.sleep(100, 'poll');
    const [live] = world.api.watches;
    const metadata = { name: 'a', uid: 'u', resourceVersion: '5000', annotations: { note: 'Zürich' } };
    const bytes = Buffer.from(`${JSON.stringify({ type: 'ADDED', object: { metadata, spec: {} } })}\n`);
    const middle = bytes.indexOf(0xbc);
    live?.write(bytes.subarray(0, middle));
    await world.clock.sleep(500, 'between the chunks');
    live?.write(bytes.subarray(middle));
    for (let poll = 0; poll < POLLS_MAX && labels.length === 0; poll++) await world.clock.sleep(100, 'poll');
    assert.deepEqual(labels, ['Zürich']);
  });

  test('an object that cannot be read stops none of the others, and is logged with its name and field', async (t) => {
    const world = await createWorld((end) => t.after(end));
    world.api.store.put(NODE_NETWORKS, 'bad', { metadata: { name: 'bad' }, spec: { instance: {} } });
    const told: string[] = [];
    world.cluster.watch({ kind: 'NodeNetwork', onEvent: (event) => told.push(textOf(event)) });
    for (let poll = 0; poll < POLLS_MAX && told.length === 0; poll++) await world.clock.sleep(100, 'poll');
    assert.deepEqual(told, ['Snapshot']);
    const [line] = world.log.filter(({ level }) => level === 'warn');
    assert.equal(line?.fields['object'], 'nodenetworks.eniwhere.io/bad');
    assert.equal(line?.fields['field'], 'spec.instance.instanceId');
  });

  test('a listener that crashes is given the whole state anew', async (t) => {
    const world = await watchNodes(t);
    let crashCount = 0;
    const told: string[] = [];
    world.cluster.watch({
      kind: 'Node',
      onEvent: (event) => {
        told.push(textOf(event));
        if (event.type === 'Applied' && crashCount++ === 0) throw new Error('a mistake');
      },
    });
    await world.until('two watches', () => world.api.watches.size === 2);
    world.putNode('a');
    await world.until('the state', () => told.at(-1) === 'Snapshot a');
    assert.ok(world.log.some(({ level, message }) => level === 'error' && /listener/.test(message)));
  });
});
