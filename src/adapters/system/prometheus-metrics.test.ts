// Prometheus' format keeps the port's contract, and the process itself is measured.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { metricsContract } from '../../ports/metrics.contract.ts';
import { createPrometheusMetrics } from './prometheus-metrics.ts';

/** `name{labels} value` lines; comments left out. */
const parse = (text: string): ReadonlyMap<string, number> =>
  new Map(
    text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line): [string, number] => {
        const space = line.lastIndexOf(' ');
        return [inOrder(line.slice(0, space)), Number(line.slice(space + 1))];
      }),
  );

/** Labels by name: prom-client writes them as the caller gave them. */
function inOrder(series: string): string {
  const [name = '', labels] = series.replace('}', '').split('{');
  return labels === undefined ? name : `${name}{${labels.split(',').sort().join(',')}}`;
}

metricsContract('in the format of Prometheus', () => {
  const metrics = createPrometheusMetrics();
  return { metrics, scrape: async () => parse(await metrics.text()) };
});

test('a scrape tells help and type of each metric, and what the process uses', async () => {
  const metrics = createPrometheusMetrics();
  const text = await metrics.text();
  assert.match(text, /^# TYPE process_cpu_seconds_total counter$/m);
  assert.match(text, /^# HELP process_resident_memory_bytes Resident memory/m);
  assert.ok((parse(text).get('process_resident_memory_bytes') ?? 0) > 1e6);
  assert.match(metrics.contentType, /^text\/plain; version=0\.0\.4/);
});
