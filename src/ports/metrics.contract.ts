// What every implementation of Metrics does: run against each with the same words.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Metrics } from './metrics.ts';

export interface MetricsContractWorld {
  readonly metrics: Metrics;
  /** All series as a scrape shows them: `name{label="value",...}` -> value. Labels by name. */
  readonly scrape: () => Promise<ReadonlyMap<string, number>>;
}

/** Registers the suite. */
export function metricsContract(name: string, createWorld: () => MetricsContractWorld): void {
  describe(`Metrics: ${name}`, () => {
    test('a counter adds up, for each combination of its labels', async () => {
      const { metrics, scrape } = createWorld();
      const calls = metrics.counter({ name: 'calls_total', help: 'Calls.', labels: ['action', 'outcome'] });
      calls.add({ action: 'Attach', outcome: 'ok' });
      calls.add({ action: 'Attach', outcome: 'ok' }, 2);
      calls.add({ outcome: 'failed', action: 'Attach' });
      const seen = await scrape();
      assert.equal(seen.get('calls_total{action="Attach",outcome="ok"}'), 3);
      assert.equal(seen.get('calls_total{action="Attach",outcome="failed"}'), 1);
    });

    test('a counter without labels is there from its definition on, at nought', async () => {
      const { metrics, scrape } = createWorld();
      const calls = metrics.counter({ name: 'calls_total', help: 'Calls.' });
      assert.equal((await scrape()).get('calls_total'), 0);
      calls.add({});
      assert.equal((await scrape()).get('calls_total'), 1);
    });

    test('a gauge is what it was set to last', async () => {
      const { metrics, scrape } = createWorld();
      const depth = metrics.gauge({ name: 'queue_depth', help: 'Keys.', labels: ['queue'] });
      depth.set({ queue: 'nodes' }, 7);
      depth.set({ queue: 'nodes' }, 2);
      assert.equal((await scrape()).get('queue_depth{queue="nodes"}'), 2);
    });

    test('a histogram counts values up to each bound, and adds them up', async () => {
      const { metrics, scrape } = createWorld();
      const took = metrics.histogram({ name: 'took_seconds', help: 'Time.', buckets: [0.1, 1] });
      for (const value of [0.05, 0.1, 0.5, 3]) took.observe({}, value);
      const seen = await scrape();
      assert.equal(seen.get('took_seconds_bucket{le="0.1"}'), 2);
      assert.equal(seen.get('took_seconds_bucket{le="1"}'), 3);
      assert.equal(seen.get('took_seconds_bucket{le="+Inf"}'), 4);
      assert.equal(seen.get('took_seconds_count'), 4);
      assert.equal(seen.get('took_seconds_sum'), 3.65);
    });

    test('what is observed is read at each scrape, and a series that is answered no more is gone', async () => {
      const { metrics, scrape } = createWorld();
      let enis = ['eni-1', 'eni-2'];
      metrics.observe({
        name: 'addresses',
        help: 'Addresses.',
        labels: ['eni'],
        read: () => enis.map((eni, n) => ({ labels: { eni }, value: n + 1 })),
      });
      assert.equal((await scrape()).get('addresses{eni="eni-2"}'), 2);
      enis = ['eni-1'];
      const seen = await scrape();
      assert.deepEqual(
        [seen.get('addresses{eni="eni-1"}'), seen.get('addresses{eni="eni-2"}')],
        [1, undefined],
      );
    });

    test('a counter that is kept elsewhere is observed too', async () => {
      const { metrics, scrape } = createWorld();
      let total = 3;
      metrics.observe({
        name: 'cpu_seconds_total',
        help: 'Processor time.',
        kind: 'counter',
        read: () => [{ labels: {}, value: total }],
      });
      assert.equal((await scrape()).get('cpu_seconds_total'), 3);
      total = 5;
      assert.equal((await scrape()).get('cpu_seconds_total'), 5);
    });

    test('what is observed and not known has no series, with labels or without', async () => {
      const { metrics, scrape } = createWorld();
      const nothing = { help: 'Not known.', read: () => [] };
      metrics.observe({ ...nothing, name: 'gauge_without' });
      metrics.observe({ ...nothing, name: 'gauge_with', labels: ['eni'] });
      metrics.observe({ ...nothing, name: 'counter_without_total', kind: 'counter' });
      const names = [...(await scrape()).keys()].filter((name) => /^(gauge|counter)_/.test(name));
      assert.deepEqual(names, []);
    });

    test('a name is defined once', () => {
      const { metrics } = createWorld();
      metrics.gauge({ name: 'queue_depth', help: 'Keys.' });
      assert.throws(() => metrics.counter({ name: 'queue_depth', help: 'Keys.' }), /queue_depth/);
    });
  });
}
