// The strategies of a NodeNetworkClass: which ENIConfig, and when a node leaves the one it has.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import {
  chooseByStrategy,
  type EniConfigUse,
  type StrategyCandidate,
  type StrategyInput,
} from './class-strategy.ts';
import type { ClassStrategy } from './node-network-class.ts';

const RUNS = { seed: 20_261, numRuns: 1000 };

const free = (counts: Readonly<Record<string, number | undefined>>): readonly StrategyCandidate[] =>
  Object.entries(counts).map(([name, count]) => ({
    name,
    ...(count === undefined ? {} : { freeAddressCount: count }),
  }));

const uses = (counts: Readonly<Record<string, number>>): ReadonlyMap<string, EniConfigUse> =>
  new Map(Object.entries(counts).map(([name, nodeCount]) => [name, { nodeCount, pendingCount: 0 }]));

const choice = (input: Partial<StrategyInput> & Pick<StrategyInput, 'strategy' | 'candidates'>): string => {
  const made = chooseByStrategy({ key: '10.0.0.10', use: new Map(), ...input });
  return made.kind === 'Chosen' ? made.name : `wait for ${made.name}`;
};

describe('[SEL-11] a strategy chooses among the candidates that the node can use', () => {
  const rows: readonly [
    string,
    Partial<StrategyInput> & Pick<StrategyInput, 'strategy' | 'candidates'>,
    string,
  ][] = [
    ['First: the first', { strategy: 'First', candidates: free({ b: 1, a: 900 }) }, 'b'],
    [
      'First: also when another is in use',
      { strategy: 'First', candidates: free({ b: 1, a: 9 }), current: 'a' },
      'b',
    ],
    [
      'First: waits for the first',
      { strategy: 'First', candidates: free({ b: undefined, a: 9 }) },
      'wait for b',
    ],
    ['First: not for the second', { strategy: 'First', candidates: free({ b: 1, a: undefined }) }, 'b'],
    ['MostFree: the emptiest', { strategy: 'MostFree', candidates: free({ a: 4, b: 900 }) }, 'b'],
    ['MostFree: the first of equals', { strategy: 'MostFree', candidates: free({ b: 9, a: 9 }) }, 'b'],
    [
      'MostFree: stays while the subnet has room',
      { strategy: 'MostFree', candidates: free({ a: 16, b: 900 }), current: 'a' },
      'a',
    ],
    [
      'MostFree: leaves a subnet that runs short',
      { strategy: 'MostFree', candidates: free({ a: 4, b: 900 }), current: 'a' },
      'b',
    ],
    [
      'MostFree: stays where the other is hardly better',
      { strategy: 'MostFree', candidates: free({ a: 4, b: 11 }), current: 'a' },
      'a',
    ],
    [
      'MostFree: waits for an unknown subnet when it has none',
      { strategy: 'MostFree', candidates: free({ a: 4, b: undefined }) },
      'wait for b',
    ],
    [
      'MostFree: stays when it has one',
      { strategy: 'MostFree', candidates: free({ a: 4, b: undefined }), current: 'a' },
      'a',
    ],
    [
      'Spread: the one with the fewest nodes',
      { strategy: 'Spread', candidates: free({ a: 9, b: 9 }), use: uses({ a: 2, b: 1 }) },
      'b',
    ],
    [
      'Spread: stays',
      { strategy: 'Spread', candidates: free({ a: 9, b: 9 }), use: uses({ a: 5 }), current: 'a' },
      'a',
    ],
    [
      'Spread: leaves what is no candidate any more',
      { strategy: 'Spread', candidates: free({ a: 9, b: 9 }), current: 'gone' },
      'a',
    ],
    [
      'Hash: by the address',
      { strategy: 'Hash', candidates: free({ 'pods-1a': 1, 'pods-1b': 1, 'pods-1c': 1 }) },
      'pods-1c',
    ],
  ];
  for (const [title, input, expected] of rows)
    it(title, () => {
      assert.equal(choice(input), expected);
    });
});

describe('[U49] twenty nodes that come up together are split evenly over two subnets', () => {
  for (const strategy of ['MostFree', 'Spread'] as const)
    it(strategy, () => {
      const use = new Map<string, EniConfigUse>();
      for (let node = 0; node < 20; node++) {
        const name = choice({ strategy, candidates: free({ a: 250, b: 249 }), use });
        const before = use.get(name) ?? { nodeCount: 0, pendingCount: 0 };
        use.set(name, { nodeCount: before.nodeCount + 1, pendingCount: before.pendingCount + 11 });
      }
      assert.deepEqual(
        [...use.values()].map(({ nodeCount }) => nodeCount),
        [10, 10],
      );
    });
});

describe('[SEL-11] MostFree never swings', () => {
  const counts = fc.array(fc.nat(200), { minLength: 2, maxLength: 5 });

  it('a node that has just moved would not move back, whatever the subnets hold', () => {
    fc.assert(
      fc.property(counts, fc.nat(4), fc.nat(7), (all, at, taken) => {
        const current = `s${at % all.length}`;
        const candidates = (over: Readonly<Record<string, number>> = {}): readonly StrategyCandidate[] =>
          all.map((count, n) => ({ name: `s${n}`, freeAddressCount: over[`s${n}`] ?? count }));
        const moved = choice({ strategy: 'MostFree', candidates: candidates(), current });
        if (moved === current) return;
        // Its first addresses come out of the new subnet; those in the old one stay with their pods.
        const left = (all[Number(moved.slice(1))] ?? 0) - taken;
        const again = choice({
          strategy: 'MostFree',
          candidates: candidates({ [moved]: Math.max(0, left) }),
          current: moved,
        });
        assert.notEqual(again, current);
      }),
      RUNS,
    );
  });
});

describe('[SEL-11] every strategy', () => {
  const strategies = fc.constantFrom<ClassStrategy>('First', 'Hash', 'MostFree', 'Spread');
  const candidates = fc
    .uniqueArray(fc.constantFrom('a', 'b', 'c', 'd'), { minLength: 1 })
    .chain((names) =>
      fc.tuple(
        ...names.map((name) =>
          fc.option(fc.nat(300), { nil: undefined }).map((count) => free({ [name]: count })[0]),
        ),
      ),
    )
    .map((list) => list.filter((one) => one !== undefined));

  it('chooses a candidate that is known, or waits for one that is not', () => {
    fc.assert(
      fc.property(
        strategies,
        candidates,
        fc.option(fc.constantFrom('a', 'b', 'z'), { nil: undefined }),
        (strategy, list, current) => {
          const made = chooseByStrategy({
            strategy,
            candidates: list,
            key: '10.0.0.10',
            use: new Map(),
            ...(current === undefined ? {} : { current }),
          });
          const found = list.find(({ name }) => name === made.name);
          assert.equal(found?.freeAddressCount !== undefined, made.kind === 'Chosen');
          assert.ok(found !== undefined);
        },
      ),
      RUNS,
    );
  });
});
